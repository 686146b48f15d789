// ChangeFold: changes that follow each other, as one: what a replay of the log puts into the tree at once. A
// leaf that many batches touch is then written but once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "index/write/change.h"

namespace culmen {

class ChangeFold {
 public:
  // `next_id` and `contains` are those of the index before the first change: which ids it has.
  ChangeFold(const LeafShape& shape, std::int64_t next_id, std::function<bool(std::int64_t)> contains)
      : shape_(shape), next_id_(next_id), contains_(std::move(contains)) {}

  // Throws FormatError if the change does not fit what the index holds by then: an id to remove that is not
  // there, one to add that is, or a next id that is not above all others. The fold is of no use afterwards.
  void add(Change change);

  // Rows that came and rows that went: what it holds in memory.
  std::size_t num_steps() const { return num_steps_; }

  // What all of them come to. Cost: a copy of the rows that stay.
  Change fold() const;

 private:
  static constexpr std::uint32_t kNoChange = ~std::uint32_t{0};
  struct IdState {
    bool was_there;
    bool is_there;
    std::uint32_t change = kNoChange;  // whose row it is; none: the index's own
    std::uint32_t row = 0;
  };
  IdState& state_of(std::int64_t id);
  void require_next_id_above(const Change& change);

  LeafShape shape_;
  std::int64_t next_id_;
  std::function<bool(std::int64_t)> contains_;
  std::vector<Change> changes_;
  std::size_t num_steps_ = 0;
  IdTable<IdState> states_;
};

}  // namespace culmen
