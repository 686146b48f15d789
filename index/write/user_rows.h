// UserRows: rows of snapshots and changes, gathered into a table as users give it, for building an index again.
//
// Only what has been added is in memory: a caller who adds a part of the rows at a time needs memory for that part. Or it is
// in memory of another kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "culmen/build.h"
#include "culmen/search.h"
#include "culmen/table.h"
#include "index/dictionary.h"
#include "index/snapshot.h"
#include "index/write/change.h"

namespace culmen {

// The column of a field, row by row.
class UserField {
 public:
  // memory: of the values; null: the heap.
  explicit UserField(Field field, const std::shared_ptr<ArrayMemory>& memory = nullptr)
      : field_(std::move(field)),
        doubles_(memory),
        integers_(memory),
        text_(memory),
        offsets_(1, memory),
        validity_(memory) {}

  // dictionary: null if the field has none.
  void add(const LeafFields& fields, const LeafTexts& texts, std::size_t f, std::size_t row,
           const Dictionary* dictionary);
  void add(const FieldChange& change, std::size_t row);
  void add(const FieldValue& value);                  // of a row as users get it
  void add(const UserField& other, std::size_t row);  // of the same field

  FieldView view() const;

 private:
  void add_key(std::int64_t key);
  void add_text(std::string_view text);
  void add_missing();
  void end_row(bool is_present);

  Field field_;
  std::size_t num_rows_ = 0;
  Array<double> doubles_;
  Array<std::int64_t> integers_;
  Array<char> text_;
  Array<std::uint64_t> offsets_;
  Array<std::uint8_t> validity_;
};

// T: the stored type of values, float or double.
template <typename T>
class UserRows {
 public:
  // All snapshots and changes have these columns.
  // memory: of the rows; null: the heap.
  explicit UserRows(IndexMetadata columns, const std::shared_ptr<ArrayMemory>& memory = nullptr);

  void reserve(std::size_t num_rows);

  // Rows of a leaf, by their positions in it.
  void add_rows(const Snapshot& snapshot, std::uint32_t leaf, std::span<const std::uint32_t> positions);
  void add_rows(const Change& change);
  void add_rows(const UserRows& other, std::span<const std::uint32_t> rows);

  std::size_t num_rows() const { return ids_.size(); }
  std::span<const std::int64_t> ids() const { return ids_; }

  // Missing values are NaN.
  TableView view() const;

 private:
  void add_label(std::string_view label);
  void add_column(const T* values, std::span<const std::uint32_t> positions, std::size_t attribute);

  IndexMetadata like_;
  std::vector<Array<T>> columns_;
  Array<std::int64_t> ids_;
  Labels labels_;
  std::vector<UserField> fields_;
};

// Adds all rows of a tree but those with these ids, which ascend.
template <typename T>
void add_all_but(std::span<const std::int64_t> ids, const Snapshot& tree, UserRows<T>& rows);

extern template class UserRows<float>;
extern template class UserRows<double>;
extern template void add_all_but(std::span<const std::int64_t>, const Snapshot&, UserRows<float>&);
extern template void add_all_but(std::span<const std::int64_t>, const Snapshot&, UserRows<double>&);

// How the index was built, as the user chose it; stand-ins stay as they are. The number of partitions is chosen again.
BuildOptions build_options_of(const IndexMetadata& index);

}  // namespace culmen
