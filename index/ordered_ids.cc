#include "index/ordered_ids.h"

#include "base/assert.h"

namespace culmen {
namespace {

constexpr std::size_t kMaxBlock = 1024;

}  // namespace

// Blocks are half full, so that the first changes split none.
OrderedIds::OrderedIds(std::span<const std::int64_t> ids) {
  for (std::size_t first = 0; first < ids.size(); first += kMaxBlock / 2) {
    const auto block = ids.subspan(first, std::min(kMaxBlock / 2, ids.size() - first));
    blocks_.emplace_back(block.begin(), block.end());
  }
}

std::vector<OrderedIds::Block>::iterator OrderedIds::block_of(std::int64_t id) {
  const auto above = std::partition_point(blocks_.begin(), blocks_.end(),
                                          [id](const Block& block) { return block.front() <= id; });
  return above == blocks_.begin() ? above : std::prev(above);
}

void OrderedIds::insert(std::int64_t id) {
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

void OrderedIds::erase(std::int64_t id) {
  CULMEN_ASSERT(!blocks_.empty());
  const auto block = block_of(id);
  const auto at = std::lower_bound(block->begin(), block->end(), id);
  CULMEN_ASSERT(at != block->end() && *at == id);
  block->erase(at);
  if (block->empty()) blocks_.erase(block);
}

std::optional<std::int64_t> OrderedIds::after(std::int64_t id) const {
  auto above = std::partition_point(blocks_.begin(), blocks_.end(),
                                    [id](const Block& block) { return block.back() <= id; });
  if (above == blocks_.end()) return std::nullopt;
  return *std::upper_bound(above->begin(), above->end(), id);
}

std::optional<std::int64_t> OrderedIds::before(std::int64_t id) const {
  return last_that([id](std::int64_t other) { return other < id; });
}

}  // namespace culmen
