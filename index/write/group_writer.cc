#include "index/write/group_writer.h"

#include <exception>
#include <string>
#include <utility>

#include "culmen/error.h"
#include "index/write/beside_writer.h"
#include "index/write/normalize.h"
#include "index/write/tree_writer.h"

namespace culmen {

std::unique_ptr<VersionWriter> make_writer(const std::shared_ptr<const Snapshot>& newest) {
  if (newest->logged != nullptr || newest->has_memory_limit()) return std::make_unique<BesideWriter>(newest);
  return std::make_unique<TreeWriter>(newest);
}

void GroupWriter::apply(std::span<CommitRequest* const> group) {
  if (apply_together(group)) return;
  for (CommitRequest* request : group) apply(*request, false);
}

VersionWriter& GroupWriter::writer() {
  if (writer_ == nullptr) writer_ = make_writer(newest_);
  return *writer_;
}

// Returns false if there is one batch alone, or if the tree refused them: applied one by one, those that can be are.
bool GroupWriter::apply_together(std::span<CommitRequest* const> group) {
  if (group.size() == 1) return false;
  try {
    for (CommitRequest* request : group) apply(*request, true);
    apply_waiting();
    return true;
  } catch (...) {
    applied_.clear();
    apply_again();
    for (CommitRequest* request : group) {
      request->result = {};
      request->error = nullptr;
    }
    return false;
  }
}

void GroupWriter::apply(CommitRequest& request, bool is_together) {
  // A filter has to see what the batches before it have changed.
  if (!applied_.empty() && has_filter(request.batch)) {
    apply_waiting();
    static_cast<void>(writer_->finish_version(applied_.back().version));
  }
  try {
    const std::uint64_t before = newest_->version + applied_.size();
    const std::optional<std::uint64_t>& expected = request.options.expected_version;
    if (expected && is_repeated(before, *expected)) {
      request.result = {.version = before, .repeated = true};
      return;
    }
    const ChangeFold* const waiting = waiting_ ? &*waiting_ : nullptr;
    NormalizedBatch batch = normalize(request.batch, request.options, writer(), BatchIds::given, waiting);
    request.result = batch.result;
    if (batch.change.changes_nothing(waiting != nullptr ? waiting->next_id() : writer().current().next_id))
      return;
    const std::uint64_t version = before + 1;
    applied_.push_back({&request, std::move(batch.change), version});
    apply_now_or_later(applied_.back().change, is_together);
    request.result.version = version;
  } catch (...) {
    request.error = std::current_exception();
    if (applied_.empty() || applied_.back().request != &request) return;
    applied_.pop_back();
    apply_again();
  }
}

// Returns true if a request for `expected` was committed before. Throws if the index is at another version.
bool GroupWriter::is_repeated(std::uint64_t version, std::uint64_t expected) const {
  if (version == expected) return false;
  if (version == expected + 1) return true;
  throw InvalidArgument(std::string(name_) + " is at version " + std::to_string(version) +
                        ", and the batch expects version " + std::to_string(expected));
}

// At once, or with others of the group. Not the first rows, which alone determine the stand-ins, and not where texts are ids: to
// give them numbers takes the tree.
void GroupWriter::apply_now_or_later(const Change& change, bool is_together) {
  const Snapshot& current = writer().current();
  const bool waits = is_together && !current.stand_ins.empty() && current.id_type != IdType::text;
  if (!waits) return writer().apply(change);
  if (!waiting_) waiting_.emplace(current.leaf_shape(), current.next_id, nullptr, current.fields);
  waiting_->add(change);
  if (waiting_->is_full()) apply_waiting();
}

void GroupWriter::apply_waiting() {
  if (!waiting_) return;
  writer().apply(waiting_->fold());
  waiting_.reset();
}

// Replaces a tree that failed in the middle of a batch, and repeats the batches before it.
void GroupWriter::apply_again() {
  writer_.reset();
  waiting_.reset();
  for (const Applied& before : applied_) writer().apply(before.change);
}

}  // namespace culmen
