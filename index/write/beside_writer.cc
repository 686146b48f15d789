#include "index/write/beside_writer.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.h"
#include "base/floating_point_scope.h"
#include "cpu/passing_ids.h"
#include "index/find_rows.h"
#include "index/read_session.h"
#include "index/text_rows.h"
#include "query/predicate.h"

namespace culmen {

BesideWriter::BesideWriter(std::shared_ptr<const Snapshot> version)
    : version_(std::move(version)),
      beside_(version_->logged != nullptr ? *version_->logged : *nothing_beside(version_)) {}

std::uint64_t BesideWriter::first_row_beside() const {
  return beside_.base().leaf_slots * static_cast<std::uint64_t>(beside_.base().leaf_rows);
}

// ---- Rows by their ids

std::uint64_t BesideWriter::find_row(std::int64_t id) const {
  const std::uint64_t row = beside_.rows().find_rows(std::span(&id, 1)).front();
  if (row != kNowhere) return first_row_beside() + row;
  return beside_.has_erased(id) ? kNowhere : look_up_rows(beside_.base(), std::span(&id, 1))->front();
}

bool BesideWriter::contains(std::int64_t id) const {
  return find_row(id) != kNowhere;
}

std::vector<std::uint8_t> BesideWriter::contain(std::span<const std::int64_t> ids) const {
  std::vector<std::uint8_t> there(ids.size());
  tbb::parallel_for(std::size_t{0}, ids.size(), [&](std::size_t i) { there[i] = contains(ids[i]); });
  return there;
}

std::vector<std::uint64_t> BesideWriter::find_rows(std::span<const std::int64_t> ids) const {
  std::vector<std::uint64_t> rows(ids.size());
  std::ranges::transform(ids, rows.begin(), [this](std::int64_t id) { return find_row(id); });
  return rows;
}

RowPlace BesideWriter::place(std::uint64_t row) const {
  if (row < first_row_beside()) return {beside_.base(), row};
  return beside_.rows().place(row - first_row_beside());
}

const OrderedIds& BesideWriter::ordered_ids() const {
  if (ordered_ids_) return *ordered_ids_;
  OrderedIds& all = ordered_ids_.emplace(beside_.base().id_lookup);
  for (const std::int64_t id : beside_.erased()) all.erase(id);
  beside_.rows().ordered_ids();  // for find_text
  for (const std::int64_t id : beside_.rows().all_ids()) all.insert(id);
  return all;
}

TextPlace BesideWriter::find_text(std::string_view text) const {
  const TextPlace of_base = RowsInOrder(beside_.base(), beside_.erased()).find(text);
  const TextPlace of_rows = beside_.rows().find_text(text);
  return of_rows.id > of_base.id ? of_rows : of_base;
}

std::vector<std::int64_t> BesideWriter::passing_ids(const Filter& where) const {
  CULMEN_ASSERT(is_version_complete());
  const std::vector<std::int64_t> of_base =
      cpu::passing_ids(beside_.base(), compile_filter(where, beside_.base()));
  std::vector<std::int64_t> kept, all;
  std::ranges::set_difference(of_base, beside_.erased(), std::back_inserter(kept));
  std::ranges::merge(kept, beside_.rows().passing_ids(where), std::back_inserter(all));
  return all;
}

// ---- Changes

void BesideWriter::apply(const Change& change) {
  const FloatingPointScope floating_point;
  if (next_ == nullptr) {
    next_ = std::make_shared<Snapshot>(version_->metadata());
    ++next_->version;
  }
  beside_.apply(change);
  next_->next_id = std::max(next_->next_id, change.next_id);
  next_->rounded_values += change.rounded_values;
  if (!ordered_ids_) return;
  for (const std::int64_t id : change.removed) ordered_ids_->erase(id);
  for (const std::int64_t id : change.ids) ordered_ids_->insert(id);
}

std::shared_ptr<const Snapshot> BesideWriter::finish_version(std::uint64_t version) {
  if (next_ == nullptr) return version_;
  const FloatingPointScope floating_point;
  next_->version = version;
  version_ = logged_version(next_->metadata(), beside_.finish());
  next_.reset();
  return version_;
}

}  // namespace culmen
