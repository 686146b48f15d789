// LogBeside: makes the versions of a reader that keeps the log beside the tree of the files (index/logged_rows.h).
//
// The log is believed: that an id that it adds was not in the files, and that one that it erases was, is not looked up, which
// would read the ids file. fold_log() does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "index/logged_rows.h"
#include "index/snapshot.h"
#include "index/write/change.h"
#include "index/write/change_fold.h"
#include "index/write/rows_beside.h"
#include "index/write/rows_of_log.h"

namespace culmen {

class LogBeside {
 public:
  // Whether a log can be kept beside this version: rows have determined its stand-ins.
  static bool suits(const Snapshot& base);

  // `base` is read on touch, and has no LoggedRows. log_bytes: about the size of the log up to the first version.
  LogBeside(std::shared_ptr<const Snapshot> base, std::uint64_t log_bytes);

  // The batches of the log, in order. Throws FormatError if one contradicts those before it. After that, and after an error of
  // version(), this may only be destroyed.
  void add(Change change);
  // The version after all of them, if there were any since the last call.
  std::shared_ptr<const Snapshot> version(std::uint64_t number);

 private:
  std::shared_ptr<LoggedRows> first_rows();

  const std::shared_ptr<const Snapshot> base_;
  std::optional<RowsOfLog> first_rows_;     // of the batches before the first version
  std::optional<ChangeFold> fold_;          // of those since the last one
  std::shared_ptr<const LoggedRows> last_;  // of the first version
  std::optional<RowsBeside> beside_;        // from the second one on
  std::int64_t next_id_;
  std::uint64_t rounded_values_;
};

// A version with LoggedRows, for so many more searches: itself, or once that saves more than it costs, the same version with
// its logged rows in partitions as of a build.
std::shared_ptr<const Snapshot> for_searches(const std::shared_ptr<const Snapshot>& version,
                                             std::size_t num_searches);

// The same version as one tree, for readers: no writer may go on from it. Throws FormatError if the log contradicts the files,
// and what reading on touch throws. Cost: as of a writer that applies the log.
std::shared_ptr<const Snapshot> fold_log(const Snapshot& version);

// A version, with LoggedRows or without, built anew, with memory of its own, for writers. Throws as fold_log. Cost: as of a
// build. temp_directory: as BuildOptions has it.
std::shared_ptr<Snapshot> load_anew(const Snapshot& version,
                                    const std::filesystem::path& temp_directory = {});

}  // namespace culmen
