// Batches that follow from their number: kill_writer writes them and kill_test expects them.
//
// Each writer has its own ids. Its batch n inserts rows, and one more without an id, replaces every other row of batch
// n - kReplacedAfter and erases the rest of batch n - kErasedAfter. So the rows tell how many batches were written, and
// whether the last one is complete.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <variant>
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

// `fields`: the attribute "gap", the texts "brand" and "note", the number "count"; any may be missing.
inline constexpr std::size_t kFields = 4;

struct Row {
  std::array<double, 2> values;
  std::string label;
  std::array<FieldValue, kFields> fields = {};

  friend bool operator==(const Row&, const Row&) = default;
};
using Rows = std::map<std::int64_t, Row>;

inline std::uint64_t rows_of_batch(std::uint64_t batch) {
  return 1 + batch * 2654435761u % kMaxRows;
}

inline std::int64_t id_of(std::uint64_t writer, std::uint64_t batch, std::uint64_t row) {
  return static_cast<std::int64_t>(writer) * kIdsOfWriter + static_cast<std::int64_t>(batch * kMaxRows + row);
}

// All writers use the same brands, of which new ones come all the time.
inline Row written_by(std::uint64_t batch, std::int64_t id) {
  Row row = {{static_cast<double>(batch % 4096), static_cast<double>(id % 97)},
             "batch " + std::to_string(batch)};
  if (id % 3 != 0) row.fields[0] = static_cast<double>(id % 11);
  if (id % 5 != 0) row.fields[1] = "brand " + std::to_string(batch / 3 + static_cast<std::uint64_t>(id % 2));
  if (id % 4 != 0) row.fields[2] = "note " + std::to_string(id);
  if (id % 7 != 0) row.fields[3] = id;
  return row;
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
    const std::size_t position = ids_.size();
    ids_.push_back(id);
    for (std::size_t i = 0; i < row.values.size(); ++i) columns_[i].push_back(row.values[i]);
    const auto* gap = std::get_if<double>(&row.fields[0]);
    columns_[2].push_back(gap == nullptr ? std::numeric_limits<double>::quiet_NaN() : *gap);
    append(labels_, row.label);
    for (std::size_t t = 0; t < texts_.size(); ++t) {
      const auto* text = std::get_if<std::string>(&row.fields[1 + t]);
      append(texts_[t].texts, text == nullptr ? "" : *text);
      set_valid(texts_[t].validity, position, text != nullptr);
    }
    const auto* count = std::get_if<std::int64_t>(&row.fields[3]);
    counts_.push_back(count == nullptr ? 0 : *count);
    set_valid(has_count_, position, count != nullptr);
  }
  std::span<const std::int64_t> ids() const { return ids_; }
  TableView view() const {
    TableView view = {ids_.size(),
                      {{"batch"}, {"rest"}, {"gap"}},
                      {columns_[0], columns_[1], columns_[2]},
                      ids_,
                      labels_.view()};
    ColumnView counts(counts_);
    counts.validity = {has_count_.data()};
    view.fields = {{"brand", FieldRole::filter, {ColumnType::text}},
                   {"note", FieldRole::stored, {ColumnType::text}},
                   {"count", FieldRole::filter, {ColumnType::integer}}};
    view.field_views = {texts_[0].view(), texts_[1].view(), counts};
    return view;
  }
  TableView view_without_ids() const {
    TableView view = this->view();
    view.ids = {};
    return view;
  }

 private:
  static void append(Labels& labels, const std::string& text) {
    labels.bytes.insert(labels.bytes.end(), text.begin(), text.end());
    labels.offsets.push_back(labels.bytes.size());
  }
  static void set_valid(Array<std::uint8_t>& bits, std::size_t position, bool valid) {
    bits.resize(position / 8 + 1);
    bits[position / 8] = static_cast<std::uint8_t>(bits[position / 8] | (valid ? 1u << position % 8 : 0));
  }

  std::vector<std::int64_t> ids_;
  std::array<std::vector<double>, 3> columns_;
  Labels labels_ = {{}, {0}};
  std::array<Texts, 2> texts_ = {Texts{{{}, {0}}, {}}, Texts{{{}, {0}}, {}}};
  std::vector<std::int64_t> counts_;
  Array<std::uint8_t> has_count_;
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
  steps.insert(inserted.view()).insert(unnamed.view_without_ids()).upsert(replaced.view());
  if (batch % 3 != 0 || erased.ids().empty()) {
    steps.erase(erased.ids());
  } else {  // the same rows by a filter
    steps.erase_where(id_col().between(erased.ids().front(), erased.ids().back()));
  }
  index.write(steps);
}

}  // namespace culmen::test::kill
