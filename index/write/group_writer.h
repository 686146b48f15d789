// GroupWriter: applies the batches of a group (CommitQueue) to an index, together where it can: a leaf or a node that several
// of them change is then copied once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "index/snapshot.h"
#include "index/write/change.h"
#include "index/write/change_fold.h"
#include "index/write/commit_queue.h"
#include "index/write/version_writer.h"

namespace culmen {

// The one that suits what `newest` has in memory.
std::unique_ptr<VersionWriter> make_writer(const std::shared_ptr<const Snapshot>& newest);

class GroupWriter {
 public:
  // What became of a request that changes something.
  struct Applied {
    CommitRequest* request = nullptr;
    Change change;
    std::uint64_t version = 0;
  };

  // `writer` continues from `newest`. After an error it is made anew, and it may be null. `name`: of the index, in errors.
  // All three outlive this. Allocates nothing, so that the caller may make it where nothing may throw.
  GroupWriter(const std::shared_ptr<const Snapshot>& newest, std::unique_ptr<VersionWriter>& writer,
              std::string_view name)
      : newest_(newest), writer_(writer), name_(name) {}

  // Each request gets its result, or its error. What it throws is of all of them.
  void apply(std::span<CommitRequest* const> group);

  // Those that changed something, in order of their versions. The writer has their changes, and is to finish the last version.
  const std::vector<Applied>& applied() const { return applied_; }

 private:
  VersionWriter& writer();
  bool apply_together(std::span<CommitRequest* const> group);
  void apply(CommitRequest& request, bool is_together);
  bool is_repeated(std::uint64_t version, std::uint64_t expected) const;
  void apply_now_or_later(const Change& change, bool is_together);
  void apply_waiting();
  void apply_again();

  const std::shared_ptr<const Snapshot>& newest_;
  std::unique_ptr<VersionWriter>& writer_;
  std::string_view name_;
  std::vector<Applied> applied_;
  std::optional<ChangeFold> waiting_;  // changes that the writer has not got yet
};

}  // namespace culmen
