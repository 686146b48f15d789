// BesideWriter: the VersionWriter of an index that is larger than memory. The tree of the files stays as it is, and is read on
// touch within its limit; what batches change is beside it, until somebody makes one tree of both (load_anew).
//
// Ids are looked up in the ids file, in frames that are read each time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "index/write/rows_beside.h"
#include "index/write/version_writer.h"

namespace culmen {

class BesideWriter final : public VersionWriter {
 public:
  // Of a version that was read from files, or that has LoggedRows beside one. Cost: as of RowsBeside.
  explicit BesideWriter(std::shared_ptr<const Snapshot> version);

  const Snapshot& current() const override { return next_ != nullptr ? *next_ : *version_; }
  bool is_version_complete() const override { return next_ == nullptr; }
  bool contains(std::int64_t id) const override;
  std::vector<std::uint8_t> contain(std::span<const std::int64_t> ids) const override;
  std::vector<std::uint64_t> find_rows(std::span<const std::int64_t> ids) const override;
  RowPlace place(std::uint64_t row) const override;
  const OrderedIds& ordered_ids() const override;
  TextPlace find_text(std::string_view text) const override;
  std::vector<std::int64_t> passing_ids(const Filter& where) const override;
  void apply(const Change& change) override;
  std::shared_ptr<const Snapshot> finish_version(std::uint64_t version) override;

 private:
  std::uint64_t find_row(std::int64_t id) const;
  std::uint64_t first_row_beside() const;

  std::shared_ptr<const Snapshot> version_;  // the last completed one
  std::shared_ptr<Snapshot> next_;           // without rows; null: no change since version_
  RowsBeside beside_;
  mutable std::optional<OrderedIds> ordered_ids_;
};

}  // namespace culmen
