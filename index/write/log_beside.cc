#include "index/write/log_beside.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "base/floating_point_scope.h"
#include "base/lock_isolated.h"
#include "base/temporary_files.h"
#include "culmen/error.h"
#include "culmen/write.h"
#include "index/build/bulk_load.h"
#include "index/find_rows.h"
#include "index/read_session.h"
#include "index/write/normalize.h"
#include "index/write/reload.h"
#include "index/write/user_rows.h"

namespace culmen {
namespace {

// From here on arranging the rows costs less than the searches that go through all of them.
constexpr std::uint64_t kSearchesOfRowsAsTheyCome = 64;

bool has_id(std::span<const std::int64_t> ascending, std::int64_t id) {
  return std::binary_search(ascending.begin(), ascending.end(), id);
}

std::shared_ptr<const Snapshot> logged_version(const IndexMetadata& metadata,
                                               std::shared_ptr<LoggedRows> logged) {
  auto version = std::make_shared<Snapshot>(metadata);
  version->num_rows = logged->base->num_rows - logged->erased.size() + logged->rows->num_rows;
  version->logged = std::move(logged);
  return version;
}

template <typename T>
void add_all_but(std::span<const std::int64_t> erased, const Snapshot& tree, UserRows<T>& rows) {
  ReadSession session(tree);
  std::vector<std::uint32_t> kept;
  for (const std::uint32_t leaf : tree.order().leaves) {
    kept.clear();
    for (std::uint32_t r = 0; r < tree.leaf(leaf).num_rows; ++r)
      if (!has_id(erased, tree.leaf_ids(leaf)[r])) kept.push_back(r);
    rows.add_rows(tree, leaf, kept);
    session.rest();
  }
}

// Rows of a log after a change, in partitions as of the base.
std::shared_ptr<const Snapshot> arranged_rows(const Snapshot& rows, const Change& change,
                                              const Snapshot& base) {
  return visit_value_type(base, [&]<typename T>(T) -> std::shared_ptr<const Snapshot> {
    UserRows<T> table(base.metadata());
    add_all_but(change.removed, rows, table);
    table.add_rows(change);
    return bulk_load(table.view(), build_options_of(base));
  });
}

std::shared_ptr<const Snapshot> arranged(const Snapshot& version) {
  auto logged = std::make_shared<LoggedRows>();
  logged->base = version.logged->base;
  logged->rows = arranged_rows(*version.logged->rows, {}, *logged->base);
  logged->erased = version.logged->erased;
  logged->is_arranged = true;
  return logged_version(version.metadata(), std::move(logged));
}

// What LogBeside believed is looked up here.
NormalizedBatch normalized_log(const WriteBatch& batch, const LoggedRows& logged, const TreeWriter& tree) {
  try {
    NormalizedBatch normalized = normalize(batch, {}, tree, BatchIds::stored);
    if (normalized.result.erased == logged.erased.size()) return normalized;
  } catch (const InputError& error) {
    throw FormatError(std::string("the log adds a row that does not fit the index: ") + error.what());
  }
  throw FormatError("the log removes an id that is not in the index");
}

}  // namespace

// ---- Versions

bool LogBeside::suits(const Snapshot& base) {
  return base.num_rows > 0 && !base.stand_ins.empty();
}

LogBeside::LogBeside(std::shared_ptr<const Snapshot> base, std::uint64_t log_bytes)
    : base_(std::move(base)), next_id_(base_->next_id), rounded_values_(base_->rounded_values) {
  first_rows_.emplace(*base_, log_bytes);
}

void LogBeside::add(Change change) {
  require_next_id_above_all(change, next_id_);
  const std::int64_t next_id_before = std::exchange(next_id_, change.next_id);
  rounded_values_ += change.rounded_values;
  if (first_rows_) return first_rows_->add(change);
  if (!fold_) fold_.emplace(base_->leaf_shape(), next_id_before, nullptr, base_->fields);
  fold_->add(std::move(change));
}

std::shared_ptr<const Snapshot> LogBeside::version(std::uint64_t number) {
  const FloatingPointScope floating_point;
  if (first_rows_) begin_rows();
  if (fold_) apply(fold_->fold());
  fold_.reset();
  auto logged = std::make_shared<LoggedRows>();
  logged->base = base_;
  logged->rows = rows_;
  logged->erased = erased_;
  logged->is_arranged = is_arranged_;
  IndexMetadata metadata = base_->metadata();
  metadata.version = number;
  metadata.next_id = next_id_;
  metadata.rounded_values = rounded_values_;
  return logged_version(metadata, std::move(logged));
}

void LogBeside::begin_rows() {
  erase_from_base(first_rows_->removed());
  try {
    rows_ = first_rows_->load();
  } catch (const InputError& error) {
    throw FormatError(std::string("a batch adds rows that do not fit: ") + error.what());
  }
  first_rows_.reset();
  is_arranged_ = base_->layout.is_wide() && rows_->num_rows > 0;  // which load_as_they_come arranges
}

void LogBeside::apply(Change change) {
  const Change of_rows = part_of_rows(change);
  change = {};
  if (!is_arranged_) {
    rows_ = arranged_rows(*rows_, of_rows, *base_);
    is_arranged_ = true;
    return;
  }
  if (of_rows.removed.empty() && of_rows.ids.empty()) return;
  if (rows_writer_ == nullptr) rows_writer_ = std::make_unique<TreeWriter>(rows_);
  rows_writer_->apply(of_rows);
  rows_ = rows_writer_->finish_version(rows_->version + 1);
}

// What a change does to the rows of the log. Erases the others from the base.
Change LogBeside::part_of_rows(const Change& change) {
  Change of_rows = change;
  of_rows.removed.clear();
  const std::vector<std::uint64_t> where = find_rows(*rows_, change.removed);
  std::vector<std::int64_t> of_base;
  for (std::size_t i = 0; i < where.size(); ++i)
    (where[i] == kNowhere ? of_base : of_rows.removed).push_back(change.removed[i]);
  const std::vector<std::uint64_t> found = find_rows(*rows_, change.ids);
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i] != kNowhere && !has_id(of_rows.removed, change.ids[i]))
      throw FormatError("a batch adds id " + std::to_string(change.ids[i]) + ", which is there");
  erase_from_base(std::move(of_base));
  return of_rows;
}

void LogBeside::erase_from_base(std::vector<std::int64_t> ids) {
  for (const std::int64_t id : ids)
    if (has_id(erased_, id) || erased_.size() + ids.size() > base_->num_rows)
      throw FormatError("a batch removes id " + std::to_string(id) + ", which is not there");
  std::vector<std::int64_t> all;
  all.reserve(erased_.size() + ids.size());
  std::merge(erased_.begin(), erased_.end(), ids.begin(), ids.end(), std::back_inserter(all));
  erased_ = std::move(all);
}

// ---- For those who use them

std::shared_ptr<const Snapshot> for_searches(const std::shared_ptr<const Snapshot>& version,
                                             std::size_t num_searches) {
  const LoggedRows& logged = *version->logged;
  if (logged.is_arranged || logged.rows->num_rows == 0) return version;
  if (logged.num_searches.fetch_add(num_searches) + num_searches < kSearchesOfRowsAsTheyCome) return version;
  return lock_isolated(logged.arranged_mutex, [&] {
    if (logged.arranged == nullptr) logged.arranged = arranged(*version);
    return logged.arranged;
  });
}

std::shared_ptr<const Snapshot> fold_log(const Snapshot& version) {
  // Versions may share a base, and an arena has one writer at a time.
  static std::mutex one_at_a_time;
  const FloatingPointScope floating_point;
  const LoggedRows& logged = *version.logged;
  logged.base->require_no_memory_limit();
  return lock_isolated(one_at_a_time, [&] {
    TreeWriter tree(logged.base);
    visit_value_type(version, [&]<typename T>(T) {
      UserRows<T> rows(version.metadata());
      add_all_but({}, *logged.rows, rows);
      WriteBatch batch;
      batch.erase(logged.erased).insert(rows.view());
      NormalizedBatch normalized = normalized_log(batch, logged, tree);
      normalized.change.next_id = version.next_id;
      normalized.change.rounded_values = version.rounded_values - logged.base->rounded_values;
      tree.apply(normalized.change);
    });
    return tree.finish_version(version.version);
  });
}

std::shared_ptr<Snapshot> load_anew(const Snapshot& version, const std::filesystem::path& temp_directory) {
  const FloatingPointScope floating_point;
  const LoggedRows* const logged = version.logged.get();
  const Snapshot& base = logged == nullptr ? version : *logged->base;
  if (!base.has_memory_limit()) base.require_all();
  std::shared_ptr<Snapshot> loaded = visit_value_type(version, [&]<typename T>(T) {
    UserRows<T> rows(version.metadata(), temporary_files(temp_directory));
    rows.reserve(version.num_rows);
    add_all_but(logged == nullptr ? std::span<const std::int64_t>() : logged->erased, base, rows);
    if (logged != nullptr) add_all_but({}, *logged->rows, rows);
    BuildOptions options = build_options_of(version);
    options.temp_directory = temp_directory;
    return bulk_load(rows.view(), options);
  });
  IndexMetadata metadata = version.metadata();
  metadata.row_metadata() = loaded->row_metadata();
  loaded->metadata() = std::move(metadata);
  return loaded;
}

}  // namespace culmen
