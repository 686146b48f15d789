// The columns of a table while they are collected from rows of CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "culmen/table.h"
#include "table/csv_chunk.h"
#include "table/csv_schema.h"

namespace culmen::io {

// Numbers: double, missing ones are NaN. Texts, or the int64 of all other types.
struct CollectedColumn {
  std::variant<Array<double>, Array<std::int64_t>, Labels> values;
  Array<std::uint8_t> validity;  // of texts and int64, as in Validity; empty: none is missing

  Validity validity_view() const { return {validity.empty() ? nullptr : validity.data()}; }
};

class CsvColumns {
 public:
  // memory: for the columns; null: the heap.
  explicit CsvColumns(std::shared_ptr<ArrayMemory> memory = nullptr) : memory_(std::move(memory)) {}

  void begin(const CsvSchema& schema);

  // Appends the rows of chunks in parallel, in order.
  void append(std::span<const CsvRows> chunks);
  // Appends one row. next_missing: position among the chunk's missing cells; rows are taken in order.
  void append_row(const CsvRows& rows, std::size_t row, std::size_t& next_missing);

  void reserve(std::size_t num_rows);
  void clear();  // keeps the columns

  std::size_t num_rows() const { return num_rows_; }
  CollectedColumn& operator[](std::size_t column) { return columns_[column]; }
  const CollectedColumn& operator[](std::size_t column) const { return columns_[column]; }

 private:
  void make_room(std::size_t column, std::span<const CsvRows> chunks, std::size_t num_rows);
  void copy_values(const CsvRows& chunk, std::size_t first_row);
  void grow_validity();
  void set_missing(const MissingCell& cell, std::size_t row);

  std::shared_ptr<ArrayMemory> memory_;
  const CsvSchema* schema_ = nullptr;
  std::size_t num_rows_ = 0;
  std::vector<CollectedColumn> columns_;  // [CsvSchema::columns]
};

// Turns a column of numbers into one of int64, if all of them are integers; NaN become missing.
void make_integers(CollectedColumn& column);

// Turns a column without any value into one of missing texts.
void make_missing_texts(CollectedColumn& column);

}  // namespace culmen::io
