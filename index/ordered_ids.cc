#include "index/ordered_ids.h"

#include <limits>

#include "base/assert.h"

namespace culmen {
namespace {

constexpr std::size_t kMaxBlock = 1024;

}  // namespace

// Blocks are half full, so that the first changes split none.
IdBlocks::IdBlocks(std::span<const std::int64_t> ids) {
  for (std::size_t first = 0; first < ids.size(); first += kMaxBlock / 2) {
    const auto block = ids.subspan(first, std::min(kMaxBlock / 2, ids.size() - first));
    blocks_.emplace_back(block.begin(), block.end());
  }
}

std::vector<IdBlocks::Block>::iterator IdBlocks::block_of(std::int64_t id) {
  const auto above = std::partition_point(blocks_.begin(), blocks_.end(),
                                          [id](const Block& block) { return block.front() <= id; });
  return above == blocks_.begin() ? above : std::prev(above);
}

void IdBlocks::insert(std::int64_t id) {
  if (blocks_.empty()) {
    blocks_.push_back({id});
    return;
  }
  const auto block = block_of(id);
  block->insert(std::lower_bound(block->begin(), block->end(), id), id);
  if (block->size() <= kMaxBlock) return;
  Block upper(block->begin() + kMaxBlock / 2, block->end());
  block->resize(kMaxBlock / 2);
  blocks_.insert(std::next(block), std::move(upper));
}

bool IdBlocks::erase(std::int64_t id) {
  if (blocks_.empty()) return false;
  const auto block = block_of(id);
  const auto at = std::lower_bound(block->begin(), block->end(), id);
  if (at == block->end() || *at != id) return false;
  block->erase(at);
  if (block->empty()) blocks_.erase(block);
  return true;
}

std::optional<std::int64_t> IdBlocks::after(std::int64_t id) const {
  auto above = std::partition_point(blocks_.begin(), blocks_.end(),
                                    [id](const Block& block) { return block.back() <= id; });
  if (above == blocks_.end()) return std::nullopt;
  return *std::upper_bound(above->begin(), above->end(), id);
}

std::optional<std::int64_t> IdBlocks::before(std::int64_t id) const {
  return last_that([id](std::int64_t other) { return other < id; });
}

void OrderedIds::insert(std::int64_t id) {
  if (erased_.erase(id) == 0) beside_.insert(id);
}

void OrderedIds::erase(std::int64_t id) {
  if (beside_.erase(id)) return;
  CULMEN_ASSERT(files_ != nullptr);
  erased_.insert(id);
  // Searches pass over erased ids one by one.
  constexpr std::uint64_t kFewErased = 4096, kShareOfErased = 16;
  if (erased_.size() > kFewErased + files_->order()->num_ids() / kShareOfErased) leave_files();
}

void OrderedIds::leave_files() {
  const IdOrder& order = *files_->order();
  std::vector<std::int64_t> ids;
  for (std::uint64_t place = 0; place < order.num_ids(); ++place)
    if (const std::int64_t id = order.at(place).id; !erased_.contains(id)) ids.push_back(id);
  const auto num_of_files = static_cast<std::ptrdiff_t>(ids.size());
  for (auto id = beside_.after(std::numeric_limits<std::int64_t>::min()); id; id = beside_.after(*id))
    ids.push_back(*id);
  std::inplace_merge(ids.begin(), ids.begin() + num_of_files, ids.end());
  beside_ = IdBlocks(ids);
  erased_.clear();
  files_.reset();
}

std::optional<std::int64_t> OrderedIds::after(std::int64_t id) const {
  std::optional<std::int64_t> next = beside_.after(id);
  if (files_ == nullptr) return next;
  const IdOrder& order = *files_->order();
  for (std::uint64_t place = order.place_of(id); place < order.num_ids(); ++place) {
    const std::int64_t of_files = order.at(place).id;
    if (of_files == id || erased_.contains(of_files)) continue;
    return std::min(next.value_or(of_files), of_files);
  }
  return next;
}

std::optional<std::int64_t> OrderedIds::before(std::int64_t id) const {
  std::optional<std::int64_t> next = beside_.before(id);
  if (files_ == nullptr) return next;
  const IdOrder& order = *files_->order();
  const std::uint64_t end = place_after_kept(order, 0, order.place_of(id));
  if (end == 0) return next;
  const std::int64_t of_files = order.at(end - 1).id;
  return std::max(next.value_or(of_files), of_files);
}

}  // namespace culmen
