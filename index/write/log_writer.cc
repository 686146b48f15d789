#include "index/write/log_writer.h"

#include <new>
#include <utility>

#include "culmen/error.h"

namespace culmen {
namespace {

constexpr std::uint64_t kMostWaitingBytes = 1 << 20;

}  // namespace

void LogWriter::add(std::vector<std::vector<std::byte>> bodies) {
  const std::size_t num_before = waiting_.size(), bytes_before = waiting_bytes_;
  try {
    for (std::vector<std::byte>& body : bodies) {
      waiting_bytes_ += body.size();
      waiting_.push_back(std::move(body));
    }
    const bool waits = durability_ == Durability::batch && waiting_bytes_ < kMostWaitingBytes;
    if (!waits) write_waiting();
  } catch (const std::bad_alloc&) {
    // Drops these batches, which fail, and keeps those before, which were acknowledged.
    waiting_.resize(num_before);
    waiting_bytes_ = bytes_before;
    throw;
  }
  if (durability_ == Durability::sync) return sync();
  has_unsynced_ = true;
}

void LogWriter::flush() {
  write_waiting();
  sync();
}

void LogWriter::replace(const Snapshot& snapshot) {
  write_waiting();  // if the rest fails, only the new version is missing
  try {
    store_.replace(snapshot);
  } catch (const IoError& error) {
    fail(error.what());
  }
  has_unsynced_ = false;
}

void LogWriter::close() {
  if (has_failed()) {
    if (!has_unsynced_) return;
    throw IoError(failure_ + ". Changes that had not been flushed may be lost");
  }
  if (!waiting_.empty()) store_.append(waiting_records());
  store_.close();
}

void LogWriter::require_no_failure() const {
  if (has_failed()) throw IoError(failure_);
}

// After an I/O error the contents of the disk are unknown until the next open reads them.
void LogWriter::fail(const std::string& why) {
  failure_ = why + "; the index accepts no more changes until it is opened again";
  throw IoError(failure_);
}

std::vector<storage::LogRecord> LogWriter::waiting_records() const {
  std::vector<storage::LogRecord> records;
  for (const std::vector<std::byte>& body : waiting_)
    records.push_back({store_.last_version() + records.size() + 1, body});
  return records;
}

void LogWriter::write_waiting() {
  if (waiting_.empty()) return;
  try {
    store_.append(waiting_records());
  } catch (const IoError& error) {
    fail(error.what());
  }
  waiting_.clear();
  waiting_bytes_ = 0;
}

void LogWriter::sync() {
  try {
    store_.sync();
  } catch (const IoError& error) {
    fail(error.what());
  }
  has_unsynced_ = false;
}

}  // namespace culmen
