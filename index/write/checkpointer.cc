#include "index/write/checkpointer.h"

#include <algorithm>
#include <utility>

namespace culmen {
namespace {

constexpr std::uint64_t kMinInterval = std::uint64_t{64} << 20, kMaxInterval = std::uint64_t{1} << 30;

// Applying a byte of the log takes as long as writing so many of a snapshot, or a little longer. A shorter log than this is
// applied in a fraction of a second.
constexpr std::uint64_t kSnapshotBytesPerLogByte = 64, kMinLogAtClose = std::uint64_t{1} << 20;

// Bytes by which the log may grow between checkpoints.
std::uint64_t interval_of(const storage::Store& store) {
  return std::clamp(store.snapshot_bytes() / 4, kMinInterval, kMaxInterval);
}

}  // namespace

bool Checkpointer::is_due_at_close() const {
  return store_.log_bytes() >= std::max(store_.snapshot_bytes() / kSnapshotBytesPerLogByte, kMinLogAtClose);
}

void Checkpointer::reschedule() {
  due_log_bytes_ = interval_of(store_);
}

void Checkpointer::begin() {
  wait();
  due_log_bytes_ = store_.log_bytes() + interval_of(store_);  // if this one fails
  store_.begin_checkpoint();
}

void Checkpointer::run(const Snapshot& snapshot) {
  begin();
  store_.finish_checkpoint(snapshot);
  reschedule();
}

void Checkpointer::start(std::shared_ptr<const Snapshot> snapshot) {
  begin();
  is_running_ = true;
  try {
    thread_ = std::thread([this, snapshot = std::move(snapshot)] {
      try {
        store_.finish_checkpoint(*snapshot);
        has_failed_ = false;
      } catch (...) {
        has_failed_ = true;
      }
      is_running_ = false;
    });
  } catch (...) {
    is_running_ = false;
    throw;
  }
}

void Checkpointer::wait() {
  if (!thread_.joinable()) return;
  thread_.join();
  if (!has_failed_) reschedule();
}

}  // namespace culmen
