// ShardedIndex::Core: the shards as they were opened, and the versions of them that searches see together.
//
// A search takes a reference to one State and so sees one version of each shard, with the statistics of exactly these.
// Writers and refreshes publish the next State once all shards are there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/logged_view.h"
#include "culmen/sharded_index.h"
#include "index/snapshot.h"
#include "index/storage/file_system.h"
#include "shard/routed_batch.h"
#include "shard/shard_manifest.h"

namespace culmen {

// The versions of all shards that are searched together.
struct ShardState {
  Uuid uuid = {};
  std::vector<std::string> directories;                    // their names
  std::vector<Index> shards;                               // which never change
  std::vector<std::shared_ptr<const Snapshot>> snapshots;  // of the same versions
  std::vector<std::shared_ptr<const LoggedView>> logged;   // of those with LoggedRows; others null
  TableStatistics statistics;
  std::int64_t next_id = 0;

  std::uint64_t version() const;
  // With what queries of this scale need: for Scale::zscore the first call computes it. Throws InvalidArgument for Scale::rank
  // if the shards have no quantiles in common.
  const TableStatistics& statistics_for(Scale scale) const;

 private:
  mutable std::mutex mutex_;
  mutable std::optional<TableStatistics> with_spreads_, with_quantiles_;
};

// Of shards as they are now. manifest: the names of their directories.
std::shared_ptr<const ShardState> state_of(std::span<const Index> live, const ShardManifest& manifest);

class ShardedIndex::Core {
 public:
  Core(const std::filesystem::path& directory, const OpenOptions& options);
  // Of versions that never change.
  explicit Core(std::shared_ptr<const ShardState> state) : state_(std::move(state)) {}
  ~Core();

  std::shared_ptr<const ShardState> state() const {
    const std::lock_guard lock(state_mutex_);
    return state_;
  }
  std::vector<ShardInfo> shards() const;
  RecoveryInfo recovery() const;

  // As in culmen/sharded_index.h.
  // expected_versions: of write_once; empty: none is expected.
  WriteResult write(const WriteBatch& batch, const WriteOptions& options,
                    std::span<const std::uint64_t> expected_versions);
  std::int64_t reserve_ids(std::uint64_t count);
  void flush();
  void checkpoint();
  void compact(const CompactOptions& options);
  void close();
  Refreshed refresh();

 private:
  struct Opened {
    ShardManifest manifest;
    std::vector<Index> live;
  };

  Opened open_shards() const;
  void adopt(Opened opened);
  void require_writable() const;
  std::int64_t next_id() const;
  void reserve_below(std::int64_t next_id);
  void write_manifest();
  void publish();
  bool has_part_already(std::size_t shard, std::span<const std::uint64_t> expected_versions) const;
  void check_parts(const RoutedBatch& routed, const WriteOptions& options,
                   std::span<const std::uint64_t> expected_versions) const;
  void determine_stand_ins(const WriteBatch& batch, const WriteOptions& options);
  WriteResult write_parts(const RoutedBatch& routed, const WriteOptions& options,
                          std::span<const std::uint64_t> expected_versions);
  [[noreturn]] void stop(std::uint32_t shard, const std::string& why, const std::string& written);

  std::string directory_;
  OpenOptions options_;

  mutable std::mutex state_mutex_;
  std::shared_ptr<const ShardState> state_;

  // Guards what follows. Held over parallel loops, so it is taken by lock_isolated().
  mutable std::mutex writer_mutex_;
  std::unique_ptr<storage::Directory> files_;
  std::unique_ptr<storage::DirectoryLock> lock_;  // of a writer
  ShardManifest manifest_;
  std::vector<Index> live_;  // the shards as opened
  bool is_closed_ = false;
  std::string failure_;  // why no more changes are accepted
};

}  // namespace culmen
