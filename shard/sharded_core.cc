#include "shard/sharded_core.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "base/floating_point_scope.h"
#include "base/lock_isolated.h"
#include "base/with_threads.h"
#include "culmen/error.h"
#include "index/storage/format.h"
#include "index/write/normalize.h"
#include "index/write/tree_writer.h"
#include "shard/generation.h"
#include "shard/open_shard.h"
#include "shard/shard_errors.h"

namespace culmen {

std::shared_ptr<const ShardState> state_of(std::span<const Index> live, const ShardManifest& manifest) {
  auto state = std::make_shared<ShardState>();
  std::vector<TableStatistics> parts;
  state->uuid = manifest.uuid;
  state->next_id = manifest.next_id;
  for (const Index& shard : live) {
    state->directories.push_back(manifest.directory_of(state->shards.size()));
    state->shards.push_back(shard.snapshot());
    state->snapshots.push_back(version_of(state->shards.back()));
    state->logged.push_back(logged_view_of(state->shards.back()));
    parts.push_back(state->shards.back().statistics());
  }
  state->statistics = merge(parts);
  return state;
}

ShardedIndex ShardedIndex::of(std::span<const Index> shards) {
  if (shards.empty()) throw InvalidArgument("a sharded index has at least one shard");
  for (std::size_t s = 0; s < shards.size(); ++s)
    check_same_columns(*version_of(shards[s]), *version_of(shards.front()), "shard " + std::to_string(s));
  return ShardedIndex(std::make_shared<Core>(state_of(shards, {})));
}

std::uint64_t ShardState::version() const {
  std::uint64_t sum = 0;
  for (const std::shared_ptr<const Snapshot>& snapshot : snapshots) sum += snapshot->version;
  return sum;
}

const TableStatistics& ShardState::statistics_for(Scale scale) const {
  if (scale != Scale::zscore && scale != Scale::rank) return statistics;
  std::optional<TableStatistics>& wanted = scale == Scale::zscore ? with_spreads_ : with_quantiles_;
  lock_isolated(mutex_, [&] {
    if (wanted) return;
    std::vector<TableStatistics> parts;
    for (const Index& shard : shards) parts.push_back(shard.statistics(scale));
    wanted = merge(parts);
  });
  return *wanted;
}

ShardedIndex::Core::Core(const std::filesystem::path& directory, const OpenOptions& options)
    : options_(options) {
  const FloatingPointScope floating_point;
  check_num_threads(options.num_threads);
  std::error_code no_matter;
  const std::filesystem::path path = std::filesystem::absolute(directory, no_matter);
  directory_ = no_matter ? directory.string() : path.string();
  if (!ShardedIndex::is_at(directory_)) throw NoIndex(directory_ + " holds no sharded index");
  files_ = storage::posix().open_directory(directory_);
  if (options.writable) lock_ = files_->lock(storage::kLockName);
  adopt(open_shards());
}

ShardedIndex::Core::~Core() {
  try {
    close();
  } catch (...) {
    // Acknowledged changes are in the logs. Callers who want the error call close().
  }
}

// Again while another process replaces the shards.
ShardedIndex::Core::Opened ShardedIndex::Core::open_shards() const {
  while (true) {
    const ShardManifest manifest = read_shard_manifest(*files_);
    OpenOptions of_shard = options_;
    if (options_.max_memory != kUnlimitedMemory)
      of_shard.max_memory = std::max<std::uint64_t>(1, options_.max_memory / manifest.shards.size());
    try {
      std::vector<Index> live;
      for (std::size_t s = 0; s < manifest.shards.size(); ++s) {
        live.push_back(open_shard(*files_, manifest, s, of_shard));
        check_same_columns(*version_of(live.back()), *version_of(live.front()), shard_name(s, directory_));
      }
      return {manifest, std::move(live)};
    } catch (const Error&) {
      if (read_shard_manifest(*files_).generation == manifest.generation) throw;
    }
  }
}

void ShardedIndex::Core::adopt(Opened opened) {
  manifest_ = std::move(opened.manifest);
  live_ = std::move(opened.live);
  publish();
}

std::vector<ShardInfo> ShardedIndex::Core::shards() const {
  const std::shared_ptr<const ShardState> now = state();
  std::vector<ShardInfo> infos;
  for (std::size_t s = 0; s < now->shards.size(); ++s)
    infos.push_back({now->directories[s], hex_of(now->snapshots[s]->index_uuid), now->snapshots[s]->version,
                     now->shards[s].statistics()});
  return infos;
}

RecoveryInfo ShardedIndex::Core::recovery() const {
  return lock_isolated(writer_mutex_, [&] {
    RecoveryInfo sum;
    for (const Index& shard : live_) {
      const RecoveryInfo one = shard.recovery();
      sum.num_batches += one.num_batches;
      sum.dropped_bytes += one.dropped_bytes;
      if (sum.dropped_from.empty()) sum.dropped_from = one.dropped_from;
    }
    return sum;
  });
}

Refreshed ShardedIndex::Core::refresh() {
  return lock_isolated(writer_mutex_, [&] {
    const FloatingPointScope floating_point;
    if (is_closed_) throw InvalidArgument(directory_ + " was closed: open it again to follow it");
    if (live_.empty() || options_.writable) return Refreshed::unchanged;
    if (!files_->is_at_its_path()) files_ = storage::posix().open_directory(directory_);
    const ShardManifest manifest = read_shard_manifest(*files_);
    if (manifest.uuid != manifest_.uuid || manifest.generation != manifest_.generation) {
      // Callers hold weights in the order of the attributes.
      const auto same_name = [](const Attribute& a, const Attribute& b) { return a.name == b.name; };
      Opened opened = open_shards();
      if (!std::ranges::equal(version_of(live_.front())->attributes,
                              version_of(opened.live.front())->attributes, same_name))
        throw InvalidArgument(directory_ +
                              " was replaced by an index with other attributes: open it again to search it");
      adopt(std::move(opened));
      return Refreshed::replaced;
    }
    Refreshed found = Refreshed::unchanged;
    for (std::size_t s = 0; s < live_.size(); ++s)
      found = std::max(found, naming(shard_name(s, directory_), [&] { return live_[s].refresh(); }));
    if (found != Refreshed::unchanged) publish();
    return found;
  });
}

// ---- Changes

void ShardedIndex::Core::require_writable() const {
  if (!failure_.empty()) throw IoError(failure_);
  if (live_.empty()) throw InvalidArgument("this is a snapshot, which does not change");
  if (!options_.writable)
    throw InvalidArgument(directory_ + " was opened to read: open it as writable to change it");
  if (is_closed_) throw InvalidArgument(directory_ + " was closed: open it again to change it");
}

void ShardedIndex::Core::publish() {
  const std::shared_ptr<const ShardState> next = state_of(live_, manifest_);
  const std::lock_guard lock(state_mutex_);
  state_ = next;
}

std::int64_t ShardedIndex::Core::next_id() const {
  std::int64_t next = manifest_.next_id;
  if (version_of(live_.front())->id_type != IdType::int64) return next;  // none is assigned
  for (const Index& shard : live_) next = std::max(next, version_of(shard)->next_id);
  return next;
}

void ShardedIndex::Core::write_manifest() {
  const std::shared_ptr<const ShardState> now = state();
  ShardManifest next = manifest_;
  next.next_id = next_id();
  for (std::size_t s = 0; s < next.shards.size(); ++s) {
    next.shards[s].version = now->snapshots[s]->version;
    next.shards[s].statistics = now->shards[s].statistics();
  }
  bool switched = false;
  write_shard_manifest(*files_, next, switched);
  manifest_ = std::move(next);
}

// Durably, so that no crash makes an id be assigned twice.
void ShardedIndex::Core::reserve_below(std::int64_t next_id) {
  ShardManifest next = manifest_;
  next.next_id = next_id;
  bool switched = false;
  write_shard_manifest(*files_, next, switched);
  manifest_ = std::move(next);
}

std::int64_t ShardedIndex::Core::reserve_ids(std::uint64_t count) {
  return lock_isolated(writer_mutex_, [&] {
    require_writable();
    require_assigned_ids(version_of(live_.front())->id_type);
    TableView rows;
    rows.num_rows = count;
    std::int64_t after = next_id();
    const std::int64_t first = assign_ids(rows, after);
    reserve_below(after);
    return first;
  });
}

WriteResult ShardedIndex::Core::write(const WriteBatch& batch, const WriteOptions& options,
                                      std::span<const std::uint64_t> expected_versions) {
  return lock_isolated(writer_mutex_, [&] {
    const FloatingPointScope floating_point;
    require_writable();
    const RoutedBatch routed = with_threads(options_.num_threads, [&] {
      return RoutedBatch(batch, options, *version_of(live_.front()), static_cast<std::uint32_t>(live_.size()),
                         next_id());
    });
    if (routed.assigns_ids() && !expected_versions.empty())
      throw InvalidArgument("a batch that may be repeated brings its own ids: reserve_ids has some");
    check_parts(routed, options, expected_versions);
    determine_stand_ins(batch, options);
    if (routed.assigns_ids()) reserve_below(routed.next_id());
    WriteResult result = write_parts(routed, options, expected_versions);
    publish();
    result.version = state()->version();
    return result;
  });
}

// Names the row that one index would name: the first, though another shard may have met another one before.
void ShardedIndex::Core::check_parts(const RoutedBatch& routed, const WriteOptions& options,
                                     std::span<const std::uint64_t> expected_versions) const {
  std::optional<RoutedBatch::Refusal> first;
  for (std::uint32_t s = 0; s < live_.size(); ++s) {
    if (!routed.has_part(s) || has_part_already(s, expected_versions)) continue;
    std::optional<RoutedBatch::Refusal> refusal = routed.check(s, live_[s], options);
    if (refusal && (!first || std::tie(refusal->step, refusal->row) < std::tie(first->step, first->row)))
      first = std::move(refusal);
  }
  if (first) throw RowError(first->row, first->problem);
}

// The first rows determine the stand-ins, as in one index of all rows. The shards are written again with them, at the
// same versions, before they get their parts, which alone would determine others.
void ShardedIndex::Core::determine_stand_ins(const WriteBatch& batch, const WriteOptions& options) {
  const auto has_none = [](const Index& shard) { return version_of(shard)->stand_ins.empty(); };
  if (!std::ranges::all_of(live_, has_none)) return;
  const std::vector<double> stand_ins = with_threads(options_.num_threads, [&] {
    TreeWriter one(snapshot_of(live_.front()));
    one.apply(normalize(batch, options, one).change);
    return one.current().stand_ins;
  });
  if (stand_ins.empty()) return;  // no row is left of the batch
  failure_ = directory_ + ": its shards were being replaced; open it again to change it";
  ShardManifest next = manifest_;
  ++next.generation;
  write_generation(*files_, next, static_cast<std::uint32_t>(live_.size()),
                   [&](std::uint32_t s, const std::string& path) {
                     const std::shared_ptr<const Snapshot> before = snapshot_of(live_[s]);
                     Snapshot fresh(before->metadata(), before->tree());
                     fresh.stand_ins = stand_ins;
                     return save_shard(fresh, live_[s].statistics(), path);
                   });
  adopt(open_shards());
  failure_.clear();
}

// Throws if the shard is at neither of the two versions.
bool ShardedIndex::Core::has_part_already(std::size_t shard,
                                          std::span<const std::uint64_t> expected_versions) const {
  if (expected_versions.empty()) return false;
  const std::uint64_t version = live_[shard].version(), expected = expected_versions[shard];
  if (version != expected && version != expected + 1)
    throw InvalidArgument(shard_name(shard, directory_) + " is at version " + std::to_string(version) +
                          ", and the batch expects version " + std::to_string(expected));
  return version != expected;
}

WriteResult ShardedIndex::Core::write_parts(const RoutedBatch& routed, const WriteOptions& options,
                                            std::span<const std::uint64_t> expected_versions) {
  WriteResult result;
  result.first_id = routed.first_id();
  std::string written;
  for (std::uint32_t s = 0; s < live_.size(); ++s) {
    if (!routed.has_part(s)) continue;
    WriteOptions of_shard = options;
    if (!expected_versions.empty()) of_shard.expected_version = expected_versions[s];
    try {
      const WriteResult part = live_[s].write(routed.part(s), of_shard);
      result.inserted += part.inserted;
      result.replaced += part.replaced;
      result.erased += part.erased;
      result.repeated = result.repeated || part.repeated;
      written.append(" ").append(std::to_string(s));
    } catch (const IoError& error) {
      stop(s, error.what(), written);
    } catch (const std::exception& error) {
      if (written.empty()) throw;
      stop(s, error.what(), written);
    }
  }
  // A shard whose part changes nothing stays at its version, and is asked again.
  result.repeated = result.repeated && result.inserted + result.replaced + result.erased == 0;
  return result;
}

// written: the shards that have the batch. Whether the one that failed has it is unknown until it is opened again.
void ShardedIndex::Core::stop(std::uint32_t shard, const std::string& why, const std::string& written) {
  failure_ = shard_name(shard, directory_) + ": " + why + "; the batch is in " +
             (written.empty() ? "no other shard" : "the shards" + written) +
             ". No more changes are accepted until the index is opened again";
  throw IoError(failure_);
}

void ShardedIndex::Core::flush() {
  lock_isolated(writer_mutex_, [&] {
    require_writable();
    for (Index& shard : live_) shard.flush();
  });
}

void ShardedIndex::Core::checkpoint() {
  lock_isolated(writer_mutex_, [&] {
    require_writable();
    for (Index& shard : live_) shard.checkpoint();
    write_manifest();
  });
}

void ShardedIndex::Core::compact(const CompactOptions& options) {
  lock_isolated(writer_mutex_, [&] {
    require_writable();
    for (Index& shard : live_) shard.compact(options);
    publish();
    write_manifest();
  });
}

void ShardedIndex::Core::close() {
  lock_isolated(writer_mutex_, [&] {
    if (live_.empty() || is_closed_) return;
    is_closed_ = true;
    for (Index& shard : live_) shard.close();
    if (options_.writable && failure_.empty()) write_manifest();
    lock_.reset();
  });
}

}  // namespace culmen
