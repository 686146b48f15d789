// VersionWriter: applies batches to an index, and makes versions of it. TreeWriter changes the index's tree. BesideWriter leaves the
// tree of the files unchanged and keeps the changes beside it, which takes little memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "culmen/filter.h"
#include "culmen/search.h"
#include "index/logged_rows.h"
#include "index/ordered_ids.h"
#include "index/snapshot.h"
#include "index/write/change.h"

namespace culmen {

class VersionWriter {
 public:
  VersionWriter() = default;
  VersionWriter(const VersionWriter&) = delete;
  VersionWriter& operator=(const VersionWriter&) = delete;
  virtual ~VersionWriter() = default;

  // The version that is being made: until it is complete, what describes the index, and not its rows.
  virtual const Snapshot& current() const = 0;
  // Returns true if that version is complete and can be searched.
  virtual bool is_version_complete() const = 0;

  // These refer to the version that is being made, and may throw what reading on touch throws.
  virtual bool contains(std::int64_t id) const = 0;
  // For each id. Reads files in parallel.
  virtual std::vector<std::uint8_t> contain(std::span<const std::int64_t> ids) const = 0;
  // For each id its row, or kNowhere.
  virtual std::vector<std::uint64_t> find_rows(std::span<const std::int64_t> ids) const = 0;
  // Of a row that was found.
  virtual RowPlace place(std::uint64_t row) const = 0;
  // The ids of all rows, in order: that of the files, or of a list that the first call makes, by a pass over them. Changes keep
  // it.
  virtual const OrderedIds& ordered_ids() const = 0;
  // Of an index of IdType::text. Concurrent calls are allowed once there is the list.
  virtual TextPlace find_text(std::string_view text) const = 0;
  // Of a complete version: the ids of the rows that pass, ascending.
  virtual std::vector<std::int64_t> passing_ids(const Filter& where) const = 0;

  // The change must fit the index: its removed ids exist, its new ids do not (ChangeFold checks this). Throws
  // InputError (labels of a leaf beyond 4 GiB, texts beyond 2 GiB), std::bad_alloc, and what reading on touch throws. After
  // that this writer may only be destroyed; published versions are unaffected.
  virtual void apply(const Change& change) = 0;

  // Completes the version with all changes since the last one. Returns the last one if there are none.
  virtual std::shared_ptr<const Snapshot> finish_version(std::uint64_t version) = 0;
};

}  // namespace culmen
