// OrderedIds: the ids of an index in ascending order: those of its files, as these have the order (index/id_lookup.h), and beside
// them what has changed since; or all of them, as blocks of a sorted list, of which a change moves at most one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "index/id_lookup.h"

namespace culmen {

class IdBlocks {
 public:
  // Ascending, each once.
  explicit IdBlocks(std::span<const std::int64_t> ids = {});

  // Not there before.
  void insert(std::int64_t id);
  // Returns whether it was there.
  bool erase(std::int64_t id);

  // The next id above and the next one below.
  std::optional<std::int64_t> after(std::int64_t id) const;
  std::optional<std::int64_t> before(std::int64_t id) const;

  // The last id for which passes(id) is true, as it is for all ids before it and for none after it.
  template <typename Passes>
  std::optional<std::int64_t> last_that(const Passes& passes) const {
    const auto above = std::partition_point(blocks_.begin(), blocks_.end(),
                                            [&](const Block& block) { return passes(block.front()); });
    if (above == blocks_.begin()) return std::nullopt;
    const Block& block = *std::prev(above);
    return *std::prev(std::partition_point(block.begin() + 1, block.end(), passes));
  }

 private:
  using Block = std::vector<std::int64_t>;  // never empty

  // The block in which an id is or would be; there is a block.
  std::vector<Block>::iterator block_of(std::int64_t id);

  std::vector<Block> blocks_;
};

class OrderedIds {
 public:
  // Ascending, each once.
  explicit OrderedIds(std::span<const std::int64_t> ids = {}) : beside_(ids) {}
  // Those of files, which have their order.
  explicit OrderedIds(std::shared_ptr<const IdLookup> files) : files_(std::move(files)) {}

  // Not there before.
  void insert(std::int64_t id);
  // There before.
  void erase(std::int64_t id);

  // The next id above and the next one below.
  std::optional<std::int64_t> after(std::int64_t id) const;
  std::optional<std::int64_t> before(std::int64_t id) const;

  // The last id for which passes(id) is true, as it is for all ids before it and for none after it.
  template <typename Passes>
  std::optional<std::int64_t> last_that(const Passes& passes) const {
    std::optional<std::int64_t> last = beside_.last_that(passes);
    if (files_ == nullptr) return last;
    const IdOrder& order = *files_->order();
    std::uint64_t first = 0, end = order.num_ids();
    while (first < end) {
      const std::uint64_t middle = first + (end - first) / 2;
      const std::uint64_t below = place_after_kept(order, first, middle + 1);
      if (below == first) {
        first = middle + 1;
        continue;
      }
      const std::int64_t id = order.at(below - 1).id;
      if (passes(id)) {
        last = std::max(last.value_or(id), id);
        first = middle + 1;
      } else {
        end = below - 1;
      }
    }
    return last;
  }

 private:
  // Of the places from `first` to `end` of the files: behind the last one whose id was not erased; `first` if all were.
  std::uint64_t place_after_kept(const IdOrder& order, std::uint64_t first, std::uint64_t end) const {
    while (end > first && erased_.contains(order.at(end - 1).id)) --end;
    return end;
  }
  // Puts the ids of the files into the list.
  void leave_files();

  std::shared_ptr<const IdLookup> files_;  // null: the list has all ids
  std::set<std::int64_t> erased_;          // of the ids of the files
  IdBlocks beside_;
};

}  // namespace culmen
