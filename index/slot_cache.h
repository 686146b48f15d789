// SlotCache: which slots stay in memory, of files that are read on touch within a limit.
//
// Slots come and go in groups of neighbours. A thread pins the groups that it reads, through its session, until it rests.
// Over the limit, groups that nobody has pinned are given back, those first that were not touched for a while. So
// engines use plain addresses, nobody waits, and the limit is exceeded only by what is pinned.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "index/slots_read.h"

namespace culmen {

enum class SlotKind : std::uint8_t { leaf, node };

class SlotCache {
  struct Group;

 public:
  // Forgets slots [first, end) and gives back their memory.
  using Discard = std::function<void(SlotKind kind, std::size_t first, std::size_t end)>;

  // What a thread reads between its beginning and its end stays where it is (index/read_session.h).
  class Session {
   public:
    explicit Session(SlotCache& cache);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // The thread holds no address now.
    void rest();

   private:
    friend SlotCache;

    void pin(Group& group) {
      if (std::find(pinned_.rbegin(), pinned_.rend(), &group) != pinned_.rend()) return;
      pinned_.push_back(&group);
      group.pin();
    }

    SlotCache& cache_;
    Session* outer_;  // of the same thread
    std::vector<Group*> pinned_;
  };

  SlotCache(std::uint64_t most_bytes, std::size_t num_leaves, std::size_t num_nodes, Discard discard);

  // Slots that the calling thread has read since it began, of all caches.
  static std::uint64_t num_reads_of_thread() { return num_reads_; }

  // Calls read(), which returns the bytes that it has taken, unless `slots` has the slot. The thread has a session.
  template <typename Read>
  void require(SlotKind kind, std::size_t slot, SlotsRead& slots, const Read& read) {
    if (slot >= slots.size()) return;
    Group& group = group_of(kind, slot);
    session().pin(group);
    if (slots.has(slot)) return;
    {
      const std::lock_guard lock(group.mutex);
      if (slots.has(slot)) return;
      const std::uint64_t bytes = read();
      slots.add(slot);
      group.bytes += bytes;
      bytes_ += bytes;
      ++num_reads_;
    }
    if (bytes_ > most_bytes_) make_room();
  }

  // Of memory, about: of what was read and is not given back.
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t most_bytes() const { return most_bytes_; }

 private:
  struct Group {
    void pin();
    void unpin() { pins.fetch_sub(1, std::memory_order_release); }

    SlotKind kind = SlotKind::leaf;
    std::size_t first = 0, end = 0;
    std::atomic<int> pins = 0;  // negative while it is given back
    std::atomic<bool> touched = false;
    std::mutex mutex;         // of who reads
    std::uint64_t bytes = 0;  // by who reads, or gives back
  };

  void add_groups(SlotKind kind, std::size_t num_slots, std::size_t of_group);
  Group& group_of(SlotKind kind, std::size_t slot);
  Session& session();
  void make_room();
  void give_back(Group& group);

  const std::uint64_t most_bytes_;
  const Discard discard_;
  std::size_t num_leaf_groups_ = 0;
  std::deque<Group> groups_;  // of leaves, then of nodes
  std::atomic<std::uint64_t> bytes_ = 0;
  std::mutex room_mutex_;
  static inline thread_local std::uint64_t num_reads_ = 0;
  std::size_t hand_ = 0;  // the next group to look at
};

}  // namespace culmen
