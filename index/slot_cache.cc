#include "index/slot_cache.h"

#include <stdexcept>
#include <thread>
#include <utility>

namespace culmen {
namespace {

// Large enough that the leaves of a group begin at a page in most shapes, and that the groups of a large index are few.
constexpr std::size_t kLeavesOfGroup = 64, kNodesOfGroup = 16;
// So much of the limit is given back at once: not every reading looks for room.
constexpr std::uint64_t kShareGivenBack = 16;

thread_local SlotCache::Session* innermost_session = nullptr;

}  // namespace

SlotCache::Session::Session(SlotCache& cache) : cache_(cache), outer_(innermost_session) {
  innermost_session = this;
}

SlotCache::Session::~Session() {
  Session** link = &innermost_session;
  while (*link != this) link = &(*link)->outer_;
  *link = outer_;
  rest();
}

void SlotCache::Session::rest() {
  for (Group* group : pinned_) group->unpin();
  pinned_.clear();
  if (cache_.bytes_ > cache_.most_bytes_) cache_.make_room();
}

void SlotCache::Group::pin() {
  int before = pins.load(std::memory_order_relaxed);
  while (before < 0 || !pins.compare_exchange_weak(before, before + 1, std::memory_order_acquire)) {
    if (before < 0) {
      std::this_thread::yield();
      before = pins.load(std::memory_order_relaxed);
    }
  }
  touched.store(true, std::memory_order_relaxed);
}

SlotCache::SlotCache(std::uint64_t most_bytes, std::size_t num_leaves, std::size_t num_nodes, Discard discard)
    : most_bytes_(most_bytes), discard_(std::move(discard)) {
  add_groups(SlotKind::leaf, num_leaves, kLeavesOfGroup);
  num_leaf_groups_ = groups_.size();
  add_groups(SlotKind::node, num_nodes, kNodesOfGroup);
}

void SlotCache::add_groups(SlotKind kind, std::size_t num_slots, std::size_t of_group) {
  for (std::size_t first = 0; first < num_slots; first += of_group) {
    Group& group = groups_.emplace_back();
    group.kind = kind;
    group.first = first;
    group.end = std::min(first + of_group, num_slots);
  }
}

SlotCache::Group& SlotCache::group_of(SlotKind kind, std::size_t slot) {
  return kind == SlotKind::leaf ? groups_[slot / kLeavesOfGroup]
                                : groups_[num_leaf_groups_ + slot / kNodesOfGroup];
}

// Without one, what is read could be given back before it is used: rather an error in every test than a wrong answer in
// one of many.
SlotCache::Session& SlotCache::session() {
  for (Session* session = innermost_session; session != nullptr; session = session->outer_)
    if (&session->cache_ == this) return *session;
  throw std::logic_error("a slot is read outside of a ReadSession");
}

// A clock: what was touched since the hand last passed stays for another round.
void SlotCache::make_room() {
  const std::uint64_t part = most_bytes_ / kShareGivenBack;
  std::unique_lock lock(room_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {  // another thread does it, if it has a core
    if (bytes_ < most_bytes_ + part) return;
    lock.lock();
  }
  const std::uint64_t wanted = most_bytes_ - part;
  for (std::size_t steps = 2 * groups_.size(); steps > 0 && bytes_ > wanted; --steps) {
    Group& group = groups_[hand_];
    hand_ = (hand_ + 1) % groups_.size();
    if (group.touched.exchange(false, std::memory_order_relaxed)) continue;
    give_back(group);
  }
}

void SlotCache::give_back(Group& group) {
  int nobody = 0;
  if (!group.pins.compare_exchange_strong(nobody, -1, std::memory_order_acquire)) return;
  if (group.bytes > 0) discard_(group.kind, group.first, group.end);
  bytes_ -= std::exchange(group.bytes, 0);
  group.pins.store(0, std::memory_order_release);
}

}  // namespace culmen
