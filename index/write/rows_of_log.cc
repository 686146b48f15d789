#include "index/write/rows_of_log.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/huge_block.h"
#include "culmen/error.h"
#include "index/write/reload.h"

namespace culmen {

namespace {

// Of a log of many rows. Below, huge pages would be filled in vain.
std::shared_ptr<ArrayMemory> memory_of_rows(std::uint64_t log_bytes) {
  constexpr std::uint64_t kManyBytes = 4 << 20;
  return log_bytes < kManyBytes ? nullptr : std::make_shared<HugeBlock>(log_bytes);
}

}  // namespace

RowsOfLog::RowsOfLog(const Snapshot& base, std::uint64_t log_bytes)
    : base_(base), rows_(no_rows(base, memory_of_rows(log_bytes))) {
  const LeafShape shape = base.leaf_shape();
  const std::uint64_t row_bytes = sizeof(std::int64_t) + shape.num_attributes * shape.value_bytes;
  std::visit([&](auto& rows) { rows.reserve(log_bytes / row_bytes); }, rows_);
}

RowsOfLog::Rows RowsOfLog::no_rows(const Snapshot& base, const std::shared_ptr<ArrayMemory>& memory) {
  return visit_value_type(base, [&]<typename T>(T) { return Rows(UserRows<T>(base.metadata(), memory)); });
}

std::size_t RowsOfLog::num_rows() const {
  return std::visit([](const auto& rows) { return rows.num_rows(); }, rows_);
}

void RowsOfLog::add(const Change& change) {
  if (!change.removed.empty() && !knows_ids_) know_all_rows();
  for (const std::int64_t id : change.removed) remove(id);
  if (knows_ids_) note_added(change.ids, num_rows());
  std::visit([&](auto& rows) { rows.add_rows(change); }, rows_);
}

// ---- Ids

void RowsOfLog::know_all_rows() {
  knows_ids_ = true;
  std::visit([this](const auto& rows) { note_added(rows.ids(), 0); }, rows_);
}

RowsOfLog::Known* RowsOfLog::find(std::int64_t id) {
  const PageNumber place = places_.find(id, [&](PageNumber at) { return known_[at].id == id; });
  return place == kNoPage ? nullptr : &known_[place];
}

void RowsOfLog::know(std::int64_t id, std::uint32_t row) {
  places_.insert(id, static_cast<PageNumber>(known_.size()));
  known_.push_back({id, row});
}

void RowsOfLog::remove(std::int64_t id) {
  Known* const known = find(id);
  if (known == nullptr) {
    removed_.push_back(id);
    return know(id, kNoRow);
  }
  if (known->row == kNoRow)
    throw FormatError("a batch removes id " + std::to_string(id) + ", which is not there");
  removed_rows_.push_back(std::exchange(known->row, kNoRow));
}

void RowsOfLog::note_added(std::span<const std::int64_t> ids, std::size_t first_row) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto row = static_cast<std::uint32_t>(first_row + i);
    Known* const known = find(ids[i]);
    if (known == nullptr) {
      know(ids[i], row);
    } else if (known->row == kNoRow) {
      known->row = row;
    } else {
      throw FormatError("a batch adds id " + std::to_string(ids[i]) + ", which is there");
    }
  }
}

std::vector<std::int64_t> RowsOfLog::removed() const {
  std::vector<std::int64_t> ascending = removed_;
  std::sort(ascending.begin(), ascending.end());
  return ascending;
}

// ---- Rows

std::vector<std::uint32_t> RowsOfLog::rows_that_remain() const {
  std::vector<bool> is_removed(num_rows());
  for (const std::uint32_t row : removed_rows_) is_removed[row] = true;
  std::vector<std::uint32_t> remain;
  for (std::uint32_t row = 0; row < is_removed.size(); ++row)
    if (!is_removed[row]) remain.push_back(row);
  return remain;
}

std::shared_ptr<Snapshot> RowsOfLog::load() {
  if (!removed_rows_.empty()) {
    Rows remaining = no_rows(base_);
    std::visit([&]<typename T>(
                   UserRows<T>& rows) { rows.add_rows(std::get<UserRows<T>>(rows_), rows_that_remain()); },
               remaining);
    rows_ = std::move(remaining);
  }
  return std::visit([this](const auto& rows) { return load_as_they_come(rows, base_); }, rows_);
}

}  // namespace culmen
