// ChangeFold: folds consecutive changes into one. Replaying the log this way writes a leaf that many batches touch only
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "index/write/change.h"

namespace culmen {

class ChangeFold {
 public:
  // `next_id`, and whether the index contains an id, before the first change. Without a function for this, the changes are
  // believed: an id that they remove was there, and one that they add was not.
  ChangeFold(const LeafShape& shape, std::int64_t next_id, std::function<bool(std::int64_t)> contains,
             std::span<const Field> fields = {})
      : shape_(shape),
        fields_(fields.begin(), fields.end()),
        next_id_(next_id),
        contains_(std::move(contains)) {}

  // Throws FormatError if the change does not fit the index after the changes before it: it removes an id that is not
  // there, adds one that is, or its next id is not above all others. After that the fold may only be destroyed.
  void add(Change added);

  // Whether an id is in the index after the changes. nullopt: no change names it.
  std::optional<bool> is_there(std::int64_t id) const;
  std::int64_t next_id() const { return next_id_; }
  // Returns true if it takes so much memory that the sum is to be applied.
  bool is_full() const { return num_steps_ >= kMostSteps; }

  // The sum of all changes. Cost: a copy of the rows that remain.
  Change fold() const;

 private:
  static constexpr std::size_t kMostSteps = 1 << 20;
  static constexpr std::uint32_t kNoChange = ~std::uint32_t{0};
  struct IdState {
    bool was_there;
    bool is_there;
    std::uint32_t change = kNoChange;  // that has the row; none: the index has it
    std::uint32_t row = 0;
  };
  IdState& state_of(std::int64_t id, bool is_believed_there);
  std::vector<IdState> rows_that_remain(Change& folded) const;
  void add_columns(std::span<const IdState> rows, Change& folded) const;
  void add_texts(std::span<const IdState> rows, Change& folded) const;

  LeafShape shape_;
  std::vector<Field> fields_;
  std::int64_t next_id_;
  std::function<bool(std::int64_t)> contains_;
  std::vector<Change> changes_;
  std::size_t num_steps_ = 0;  // inserted and removed rows
  IdTable<IdState> states_;
};

}  // namespace culmen
