// Batches that follow from their number: kill_writer writes them and kill_test expects them.
//
// Each writer has its own ids. Its batch n inserts rows, and one more without an id, replaces every other row of batch
// n - kReplacedAfter and erases the rest of batch n - kErasedAfter. So the rows tell how many batches were written, and
// whether the last one is complete.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "culmen/index.h"

namespace culmen::test::kill {

inline constexpr std::uint64_t kWriters = 4;
inline constexpr std::uint64_t kReplacedAfter = 5, kErasedAfter = 60;
inline constexpr std::uint64_t kMaxRows = 16;  // that a batch inserts
inline constexpr std::int64_t kIdsOfWriter = std::int64_t{1} << 40;
inline constexpr std::int64_t kFirstAssigned =
    kIdsOfWriter * kWriters + 1;  // the first row has the id before it

// What a writer prints for an acknowledged batch: one write to a pipe, so never torn.
struct Acknowledged {
  std::uint64_t writer;
  std::uint64_t num_batches;  // of this writer, including all earlier ones
};

struct Row {
  std::array<double, 2> values;
  std::string label;

  friend bool operator==(const Row&, const Row&) = default;
};
using Rows = std::map<std::int64_t, Row>;

inline std::uint64_t rows_of_batch(std::uint64_t batch) {
  return 1 + batch * 2654435761u % kMaxRows;
}

inline std::int64_t id_of(std::uint64_t writer, std::uint64_t batch, std::uint64_t row) {
  return static_cast<std::int64_t>(writer) * kIdsOfWriter + static_cast<std::int64_t>(batch * kMaxRows + row);
}

inline Row written_by(std::uint64_t batch, std::int64_t id) {
  return {{static_cast<double>(batch % 4096), static_cast<double>(id % 97)},
          "batch " + std::to_string(batch)};
}

// The row of a batch without an id.
inline Row unnamed_row(std::uint64_t writer, std::uint64_t batch) {
  return {{0, 0}, std::to_string(writer) + " " + std::to_string(batch)};
}

// The rows of one writer with ids, after its batches 0 .. num_batches - 1.
inline Rows rows_after(std::uint64_t writer, std::uint64_t num_batches) {
  Rows rows;
  const std::uint64_t first = num_batches > kErasedAfter ? num_batches - kErasedAfter : 0;
  for (std::uint64_t batch = first; batch < num_batches; ++batch) {
    for (std::uint64_t row = 0; row < rows_of_batch(batch); ++row) {
      const bool is_replaced = row % 2 == 1 && batch + kReplacedAfter < num_batches;
      const std::int64_t id = id_of(writer, batch, row);
      rows[id] = written_by(is_replaced ? batch + kReplacedAfter : batch, id);
    }
  }
  return rows;
}

// The table of one step.
class Step {
 public:
  void add(std::int64_t id, const Row& row) {
    ids_.push_back(id);
    for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].push_back(row.values[i]);
    labels_.bytes.insert(labels_.bytes.end(), row.label.begin(), row.label.end());
    labels_.offsets.push_back(labels_.bytes.size());
  }
  std::span<const std::int64_t> ids() const { return ids_; }
  TableView view() const {
    return {ids_.size(), {{"batch"}, {"rest"}}, {columns_[0], columns_[1]}, ids_, labels_.view()};
  }
  TableView view_without_ids() const {
    TableView view = this->view();
    view.ids = {};
    return view;
  }

 private:
  std::vector<std::int64_t> ids_;
  std::array<std::vector<double>, 2> columns_;
  Labels labels_ = {{}, {0}};
};

inline void write_batch(Index& index, std::uint64_t writer, std::uint64_t batch) {
  Step inserted, unnamed, replaced, erased;
  const auto add = [&](Step& step, std::uint64_t of_batch, bool every_row) {
    for (std::uint64_t row = 0; row < rows_of_batch(of_batch); ++row) {
      const std::int64_t id = id_of(writer, of_batch, row);
      if (every_row || row % 2 == 1) step.add(id, written_by(batch, id));
    }
  };
  add(inserted, batch, true);
  if (batch >= kReplacedAfter) add(replaced, batch - kReplacedAfter, false);
  if (batch >= kErasedAfter) add(erased, batch - kErasedAfter, true);
  unnamed.add(0, unnamed_row(writer, batch));
  WriteBatch steps;
  steps.insert(inserted.view())
      .insert(unnamed.view_without_ids())
      .upsert(replaced.view())
      .erase(erased.ids());
  index.write(steps);
}

}  // namespace culmen::test::kill
