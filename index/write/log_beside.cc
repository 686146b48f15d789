#include "index/write/log_beside.h"

#include <algorithm>
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
#include "index/write/normalize.h"
#include "index/write/reload.h"
#include "index/write/user_rows.h"

namespace culmen {
namespace {

// From here on arranging the rows costs less than the searches that go through all of them.
constexpr std::uint64_t kSearchesOfRowsAsTheyCome = 64;

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
  std::shared_ptr<LoggedRows> logged;
  if (first_rows_) {
    last_ = logged = first_rows();
  } else {
    if (last_ != nullptr) beside_.emplace(*std::exchange(last_, nullptr));
    if (fold_) beside_->apply(fold_->fold());
    logged = beside_->finish();
  }
  fold_.reset();
  IndexMetadata metadata = base_->metadata();
  metadata.version = number;
  metadata.next_id = next_id_;
  metadata.rounded_values = rounded_values_;
  return logged_version(metadata, std::move(logged));
}

std::shared_ptr<LoggedRows> LogBeside::first_rows() {
  auto first = std::make_shared<LoggedRows>();
  first->base = base_;
  first->erased = first_rows_->removed();
  if (first->erased.size() > base_->num_rows) throw FormatError("the log removes more rows than there are");
  try {
    first->rows = first_rows_->load();
  } catch (const InputError& error) {
    throw FormatError(std::string("a batch adds rows that do not fit: ") + error.what());
  }
  first_rows_.reset();
  first->is_arranged =
      base_->layout.is_wide() && first->rows->num_rows > 0;  // which load_as_they_come arranges
  return first;
}

// ---- For those who use them

std::shared_ptr<const Snapshot> for_searches(const std::shared_ptr<const Snapshot>& version,
                                             std::size_t num_searches) {
  const LoggedRows& logged = *version->logged;
  if (logged.is_arranged || logged.rows->num_rows == 0) return version;
  if (logged.num_searches.fetch_add(num_searches) + num_searches < kSearchesOfRowsAsTheyCome) return version;
  return lock_isolated(logged.arranged_mutex, [&] {
    if (logged.arranged == nullptr) logged.arranged = logged_version(version->metadata(), arranged(logged));
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
    if (rows.num_rows() != version.num_rows)
      throw FormatError("the log removes an id that is not in the index");
    BuildOptions options = build_options_of(version);
    options.temp_directory = temp_directory;
    try {
      return bulk_load(rows.view(), options);
    } catch (const InputError& error) {
      throw FormatError(std::string("the log adds a row that does not fit the index: ") + error.what());
    }
  });
  IndexMetadata metadata = version.metadata();
  metadata.row_metadata() = loaded->row_metadata();
  loaded->metadata() = std::move(metadata);
  return loaded;
}

}  // namespace culmen
