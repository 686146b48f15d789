// LiveIndex: an index that changes: its published version, the writer that makes the next one, and the directory that
// stores it.
//
// The leader of a group of batches (CommitQueue) applies them together, appends them to the log in one
// write, syncs once, and publishes one version for all of them. So with Durability::sync no search sees a change before
// it is durable.
//
// A writer within a limit of memory keeps the tree of the files as it is, and what batches change beside it (BesideWriter). Once
// that is half of the limit, or the log is due for a checkpoint, the next batch makes one tree of both in temporary files,
// writes it as a checkpoint, and goes on from the new files.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "culmen/open.h"
#include "culmen/write.h"
#include "index/published.h"
#include "index/storage/store.h"
#include "index/write/change_fold.h"
#include "index/write/checkpointer.h"
#include "index/write/commit_queue.h"
#include "index/write/group_writer.h"
#include "index/write/log_beside.h"
#include "index/write/log_writer.h"
#include "index/write/version_writer.h"

namespace culmen {

class LiveIndex {
 public:
  // For an index in memory.
  explicit LiveIndex(std::shared_ptr<const Snapshot> first);
  // For an index in a directory. `file_system` outlives the index.
  LiveIndex(storage::FileSystem& file_system, const std::string& directory, const OpenOptions& options);
  ~LiveIndex();
  LiveIndex(const LiveIndex&) = delete;
  LiveIndex& operator=(const LiveIndex&) = delete;

  const std::shared_ptr<Published>& published() const { return published_; }

  // All as in culmen/index.h.
  WriteResult write(const WriteBatch& batch, const WriteOptions& options);
  void check(const WriteBatch& batch, const WriteOptions& options);
  void flush();
  void checkpoint();
  // temp_directory: as CompactOptions has it.
  void compact(const std::filesystem::path& temp_directory = {});
  void close();
  // prepare: called with the version that is found, before it is published; if it throws, the one before stays.
  using Prepare = std::function<void(const Snapshot&)>;
  Refreshed refresh(const Prepare& prepare = {});
  RecoveryInfo recovery() const;

  // For a reader that keeps the log beside the tree (index/write/log_beside.h): makes the newest version one tree, publishes
  // it, and keeps no log beside a tree from now on; not within a limit of memory. Returns the newest version. Throws as load_anew.
  std::shared_ptr<const Snapshot> fold();

  // For each of a few ids its row in `snapshot`, or kNowhere, by the writer's map of ids. None: a pass over all ids has to
  // find them (index/find_rows.h), as the snapshot is not the newest one, a writer is at work, or there is no map yet.
  // Once so many passes were made that a map would have cost less, it makes one.
  std::optional<std::vector<std::uint64_t>> find_rows(const Snapshot& snapshot,
                                                      std::span<const std::int64_t> ids);
  // The same for texts, of an index of IdType::text. None: a list of all rows has to be made (index/text_rows.h).
  std::optional<std::vector<TextPlace>> find_texts(const Snapshot& snapshot,
                                                   std::span<const std::string_view> texts);
  // Whether find_rows would now find rows of this snapshot.
  bool has_id_map(const Snapshot& snapshot);

 private:
  bool is_in_memory() const { return file_system_ == nullptr; }
  void require_writable() const;
  void load();
  storage::Store::UseBatch replayer();
  void apply_logged();
  void begin_beside();
  void add_logged(std::span<const std::byte> body);
  std::shared_ptr<const Snapshot> version_after_log(std::uint64_t version);
  VersionWriter& writer();
  template <typename Use>
  auto with_id_map(const Snapshot& snapshot, const Use& use)
      -> std::optional<decltype(use(std::declval<VersionWriter&>()))>;
  void make_id_map(const Snapshot& snapshot);

  Refreshed follow_directory(const Prepare& prepare);
  void require_same_attributes(const Snapshot& before) const;
  // Under writer_mutex_.
  void commit_locked(std::span<CommitRequest* const> group);
  void flush_locked();
  std::shared_ptr<Snapshot> rebuilt(const std::filesystem::path& temp_directory);
  bool is_limited() const { return options_.writable && options_.max_memory != kUnlimitedMemory; }
  std::uint64_t part_of_limit() const;
  std::filesystem::path directory_of_merges() const;
  std::uint64_t bytes_beside() const;
  bool is_merge_due() const;
  void merge();
  void go_on_from_files();
  void write_snapshot();
  void commit_applied(const std::vector<GroupWriter::Applied>& applied);
  void publish(std::shared_ptr<const Snapshot> next);
  void replace(std::shared_ptr<const Snapshot> next);
  void consider_checkpoint();
  void shorten_log();
  void close_locked();

  storage::FileSystem* file_system_ = nullptr;
  std::string directory_;
  OpenOptions options_;
  std::shared_ptr<Published> published_;

  CommitQueue queue_;

  std::mutex find_mutex_;  // taken before writer_mutex_, for which those who find rows do not wait
  std::atomic<std::uint64_t> num_passes_ = 0;

  // Guards what follows. Held over parallel loops, so it is taken by lock_isolated().
  mutable std::mutex writer_mutex_;
  RecoveryInfo recovery_;
  std::shared_ptr<const Snapshot> newest_;  // the published version
  std::unique_ptr<VersionWriter> writer_;   // continues from newest_; made on first use
  std::optional<ChangeFold> logged_;        // batches of the log that the writer has not applied yet
  std::optional<LogBeside> beside_;         // instead of the writer, where the log is read beside the tree
  bool keeps_beside_;                       // whether there may be such
  std::unique_ptr<storage::Store> store_;
  std::optional<LogWriter> log_;  // of a writable store, as the next
  std::optional<Checkpointer> checkpointer_;
  bool is_closed_ = false;
  bool is_moved_ = false;  // a reader's directory was replaced by another, which is not loaded yet
};

}  // namespace culmen
