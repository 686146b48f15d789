// ScatteredTable: a copy of a table in temporary files, with its rows in the order of buckets.
//
// A bucket has the rows of some partitions that are neighbours in the index. The rows of a leaf may be anywhere in a
// table, and to gather them from a disk would be a random read for each. In the copy they are in one bucket, which fits
// into memory. It is made by reading the table in its order and appending each row to its bucket.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/pages.h"
#include "culmen/table.h"
#include "index/build/keyed_row.h"
#include "index/build/load_fields.h"

namespace culmen {

// Where the partitions' rows go.
struct Buckets {
  std::vector<std::uint32_t> of_partition;
  std::vector<std::uint64_t> first_rows;  // [num_buckets + 1] in the copy
};

// order: of the partitions in the index. first_rows: [num_partitions + 1] where the rows of each partition begin if they
// are counted by its number.
Buckets make_buckets(std::span<const std::uint32_t> order, std::span<const std::uint64_t> first_rows,
                     std::uint64_t row_bytes);

class ScatteredTable {
 public:
  // Of a table before and after it was filled (index/build/filled_table.h), with codes for its texts, and keys in the order
  // of its rows. All of that is read here, and not later.
  ScatteredTable(const TableView& given, const TableView& filled, std::span<const CodedColumn> coded,
                 std::span<const KeyedRow> keys, Buckets buckets, std::shared_ptr<TemporaryFiles> files);
  ScatteredTable(const ScatteredTable&) = delete;
  ScatteredTable& operator=(const ScatteredTable&) = delete;

  // In the order of buckets. All tables have ids. Texts that have codes are not copied.
  const TableView& given() const { return given_; }
  const TableView& filled() const { return filled_; }
  // A hint: ids and attributes of this partition will be read soon, and others of its bucket. Nothing if that bucket is
  // the `last` one, which it then is.
  void will_read_partition(std::uint32_t partition, std::uint32_t& last) const;
  // A hint: from now on what is read is near what was read before. At first it is what will_read_partition names.
  void expect_usual_access();
  std::vector<CodedColumn> take_coded() { return std::move(coded_); }
  // Each has the number that its row has here.
  PageBuffer<KeyedRow> take_keys() { return std::move(keys_); }

 private:
  // Copies a part of something: the rows from `first` on, to these places.
  using Copy = std::function<void(std::uint64_t first, std::span<const std::uint64_t> places)>;

  template <typename T>
  T* add_array(std::uint64_t size);
  void add_ids(std::span<const std::int64_t> ids);
  ColumnView add_column(const ColumnView& column);
  Validity add_validity(const Validity& validity);
  LabelsView add_texts(const LabelsView& texts);
  void add_codes(const CodedColumn& column);
  FieldView add_field(std::size_t f, const TableView& table, const CodedColumn& coded);
  void copy_all(std::span<const KeyedRow> keys);

  const std::uint64_t num_rows_;
  const Buckets buckets_;
  const std::shared_ptr<TemporaryFiles> files_;
  std::vector<PageBuffer<std::byte>> arrays_;
  // What the rows are copied by; texts, whose lengths must be known before, by others.
  std::vector<Copy> copies_, text_copies_;
  std::vector<std::span<std::uint64_t>> text_offsets_;
  PageBuffer<KeyedRow> keys_;
  std::vector<CodedColumn> coded_;
  TableView given_, filled_;
};

}  // namespace culmen
