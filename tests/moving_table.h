// Tables whose values move: rows of other magnitudes are inserted and erased.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/generators.h"
#include "tests/row_columns.h"

namespace culmen::test {

using Rows = std::map<std::int64_t, std::vector<double>>;

class TableOf : public RowColumns {
 public:
  TableOf(const Rows& rows, const std::vector<Attribute>& attributes) : RowColumns(attributes) {
    for (const auto& [id, values] : rows) add(id, values);
  }
};

// Random rows. `random` alone determines their history.
class MovingTable {
 public:
  MovingTable(Random& random, int num_attributes, bool float32) : random_(random) {
    for (int i = 0; i < num_attributes; ++i) {
      attributes_.push_back({std::string("a").append(std::to_string(i)),
                             random_.chance(0.3) ? Preference::low : Preference::high});
      columns_.emplace_back(random_, float32);
    }
  }

  const std::vector<Attribute>& attributes() const { return attributes_; }
  const Rows& rows() const { return rows_; }

  // From now on some attributes draw values of another magnitude.
  void move() {
    for (MovingColumn& column : columns_)
      if (random_.chance(0.4)) column.move();
  }

  // Returns the inserted rows, with ascending ids.
  Rows insert(std::uint64_t count) {
    Rows added;
    for (std::uint64_t r = 0; r < count; ++r) {
      std::vector<double>& values = added[next_id_++];
      for (MovingColumn& column : columns_) values.push_back(column.value());
    }
    rows_.insert(added.begin(), added.end());
    return added;
  }

  // Returns the erased ids: those of the latest rows, whose magnitude differs from the others, of the oldest, or of
  // any.
  std::vector<std::int64_t> erase(bool latest) {
    std::vector<std::int64_t> gone;
    const double share = random_.pick({0.0, 0.1, 0.5, 0.9});
    const std::uint64_t kind = latest ? 0 : random_.below(4);
    const auto all = static_cast<double>(rows_.size());
    const std::int64_t first = rows_.empty() ? 0 : rows_.begin()->first;
    for (const auto& [id, values] : rows_) {
      const bool goes = kind == 0   ? id >= next_id_ - 2
                        : kind == 1 ? static_cast<double>(id - first) < share * all
                                    : random_.chance(share);
      if (goes) gone.push_back(id);
    }
    for (const std::int64_t id : gone) rows_.erase(id);
    return gone;
  }

 private:
  Random& random_;
  std::vector<Attribute> attributes_;
  std::vector<MovingColumn> columns_;
  Rows rows_;
  std::int64_t next_id_ = 0;
};

}  // namespace culmen::test
