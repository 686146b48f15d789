// LiveIndex: an index that changes: the published version, the tree that makes the next one, and the
// directory that keeps both.
//
// Changes queue up. The first thread in the queue leads: it takes all batches that wait, applies them to the
// tree one by one, writes them to the log in one write, syncs once, and publishes one version for all of
// them. So nothing is seen before it is durable, and the more threads write the fewer syncs each of them pays
// for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "culmen/open.h"
#include "culmen/write.h"
#include "index/published.h"
#include "index/storage/store.h"
#include "index/write/change_fold.h"
#include "index/write/tree_writer.h"

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
  void flush();
  void checkpoint();
  void compact();
  void close();
  Refreshed refresh();
  RecoveryInfo recovery() const;

 private:
  struct Request;
  struct Applied;

  bool is_in_memory() const { return file_system_ == nullptr; }
  void require_writable() const;
  void load();
  storage::Store::UseBatch replayer();
  void apply_logged();
  TreeWriter& tree();

  Refreshed follow_directory();
  void require_same_attributes(const Snapshot& before) const;
  void commit(std::span<Request* const> group);
  // Under writer_mutex_.
  void commit_locked(std::span<Request* const> group);
  void flush_locked();
  void checkpoint_locked();
  void compact_locked();
  void close_locked();
  void apply(Request& request, std::vector<Applied>& applied);
  void apply_again(std::vector<Applied>& applied);
  void keep(const std::vector<Applied>& applied);
  void log(const std::vector<Applied>& applied);
  std::vector<storage::LogRecord> pending_records(std::uint64_t last_version) const;
  void write_pending();
  void sync();
  void replace(std::shared_ptr<const Snapshot> next);
  [[noreturn]] void stop(const std::string& why);

  void consider_checkpoint();
  void begin_checkpoint();
  void finish_checkpoint() noexcept;
  void wait_for_checkpoint();

  storage::FileSystem* file_system_ = nullptr;
  std::string directory_;
  OpenOptions options_;
  std::shared_ptr<Published> published_;

  std::mutex queue_mutex_;
  std::condition_variable queue_moved_;
  std::deque<Request*> queue_;
  bool has_leader_ = false;

  mutable std::mutex writer_mutex_;  // of what follows; held while there is work (base/lock_isolated.h)
  RecoveryInfo recovery_;
  std::shared_ptr<const Snapshot> newest_;  // the published version
  std::unique_ptr<TreeWriter> tree_;        // goes on from newest_; made when it is first needed
  std::optional<ChangeFold> logged_;        // batches of the log that the tree does not have yet
  std::unique_ptr<storage::Store> store_;
  bool is_closed_ = false;
  bool is_moved_ = false;       // a reader's directory was replaced by another, which is not loaded yet
  bool has_unflushed_ = false;  // changes that were acknowledged since the last sync
  std::string failure_;         // why no more changes are taken
  std::vector<std::vector<std::byte>> pending_;  // Durability::batch: bodies that the log does not have yet
  std::uint64_t pending_bytes_ = 0;

  // One thread at most, beside the writer.
  std::thread checkpointer_;
  std::atomic<bool> checkpoint_runs_ = false;
  std::shared_ptr<const Snapshot> checkpointed_;
  std::exception_ptr checkpoint_error_;      // of the last one
  std::uint64_t next_checkpoint_bytes_ = 0;  // of the log
};

}  // namespace culmen
