// OrderedIds: the ids of an index in ascending order, as blocks of a sorted list. A change moves at most one block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace culmen {

class OrderedIds {
 public:
  // Ascending, each once.
  explicit OrderedIds(std::span<const std::int64_t> ids = {});

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

}  // namespace culmen
