#include "index/write/rows_beside.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "culmen/error.h"
#include "index/build/bulk_load.h"
#include "index/write/reload.h"
#include "index/write/user_rows.h"

namespace culmen {

std::shared_ptr<Snapshot> logged_version(const IndexMetadata& metadata, std::shared_ptr<LoggedRows> logged) {
  auto version = std::make_shared<Snapshot>(metadata);
  version->num_rows = logged->base->num_rows - logged->erased.size() + logged->rows->num_rows;
  version->logged = std::move(logged);
  return version;
}

std::shared_ptr<LoggedRows> nothing_beside(std::shared_ptr<const Snapshot> base) {
  auto nothing = std::make_shared<LoggedRows>();
  nothing->rows = load_rows_of({}, *base);
  nothing->base = std::move(base);
  return nothing;
}

std::shared_ptr<LoggedRows> arranged(const LoggedRows& logged) {
  auto result = std::make_shared<LoggedRows>();
  result->base = logged.base;
  result->rows = visit_value_type(*logged.base, [&]<typename T>(T) -> std::shared_ptr<const Snapshot> {
    UserRows<T> rows(logged.base->metadata());
    add_all_but({}, *logged.rows, rows);
    return bulk_load(rows.view(), build_options_of(*logged.base));
  });
  result->erased = logged.erased;
  result->is_arranged = true;
  return result;
}

RowsBeside::RowsBeside(const LoggedRows& logged)
    : base_(logged.base),
      rows_(std::make_unique<TreeWriter>(logged.is_arranged ? logged.rows : arranged(logged)->rows)),
      erased_(logged.erased) {}

bool RowsBeside::has_erased(std::int64_t id) const {
  return std::binary_search(erased_.begin(), erased_.end(), id);
}

void RowsBeside::apply(const Change& change) {
  const Change of_rows = part_of_rows(change);
  if (of_rows.removed.empty() && of_rows.ids.empty()) return;
  rows_->apply(of_rows);
}

// What it does to the rows beside the tree. Erases the others from the tree.
Change RowsBeside::part_of_rows(const Change& change) {
  Change of_rows = change;
  of_rows.removed.clear();
  std::vector<std::int64_t> of_base;
  for (const std::int64_t id : change.removed)
    (rows_->contains(id) ? of_rows.removed : of_base).push_back(id);
  for (const std::int64_t id : change.ids)
    if (rows_->contains(id) && !std::binary_search(of_rows.removed.begin(), of_rows.removed.end(), id))
      throw FormatError("a batch adds id " + std::to_string(id) + ", which is there");
  erase_from_base(of_base);
  return of_rows;
}

void RowsBeside::erase_from_base(const std::vector<std::int64_t>& ids) {
  for (const std::int64_t id : ids)
    if (has_erased(id) || erased_.size() + ids.size() > base_->num_rows)
      throw FormatError("a batch removes id " + std::to_string(id) + ", which is not there");
  std::vector<std::int64_t> all;
  all.reserve(erased_.size() + ids.size());
  std::merge(erased_.begin(), erased_.end(), ids.begin(), ids.end(), std::back_inserter(all));
  erased_ = std::move(all);
}

std::shared_ptr<LoggedRows> RowsBeside::finish() {
  auto logged = std::make_shared<LoggedRows>();
  logged->base = base_;
  logged->rows = rows_->finish_version(rows_->current().version + 1);
  logged->erased = erased_;
  logged->is_arranged = true;
  return logged;
}

}  // namespace culmen
