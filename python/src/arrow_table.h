// Tables that come through Arrow's C stream: numbers as NumPy arrays, without a copy if a column is in one
// piece; texts as TextColumn.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "arrow_abi.h"
#include "text_column.h"

namespace culmen::python {

namespace nb = nanobind;

class ArrowTable {
 public:
  // Reads a capsule "arrow_array_stream" to its end: a table, or a single column, whose name is empty. Throws
  // InputError for what the stream reports.
  explicit ArrowTable(const nb::capsule& stream);

  std::size_t num_rows() const;
  std::vector<std::string> names() const;
  // Arrow's name for the type of a column, or of the values of its dictionary: "l" is int64, "u" text, ...
  std::string format(std::size_t column) const;
  // The values of a column of numbers, booleans, dates or timestamps, unspecified where there is none. Throws
  // InputError for others, RowError for a decimal that float64 does not hold. Messages call the column `name`.
  nb::object numbers(std::size_t column, std::string_view name) const;
  std::unique_ptr<TextColumn> texts(std::size_t column) const;  // of a column of texts
  // NumPy's bool, true where there is no value; None if there is one everywhere.
  nb::object gaps(std::size_t column) const;

 private:
  struct Schema : ArrowSchema {
    Schema() : ArrowSchema{} {}
    Schema(const Schema&) = delete;
    ~Schema() {
      if (release != nullptr) release(this);
    }
  };
  struct Batch : ArrowArray {
    Batch() : ArrowArray{} {}
    Batch(const Batch&) = delete;
    ~Batch() {
      if (release != nullptr) release(this);
    }
  };

  bool is_one_column() const { return std::string_view(schema_->format) != "+s"; }
  const ArrowSchema& schema(std::size_t column) const {
    return is_one_column() ? *schema_ : *schema_->children[column];
  }
  const ArrowArray& array(const Batch& batch, std::size_t column) const {
    if (is_one_column()) return batch;
    return *batch.children[column];
  }
  // The position of a batch's first row in the array of a column.
  std::int64_t first_of(const Batch& batch, std::size_t column) const {
    return is_one_column() ? batch.offset : batch.offset + batch.children[column]->offset;
  }
  template <typename T>
  nb::object numbers_of(std::size_t column) const;
  nb::object booleans(std::size_t column) const;
  nb::object decimals(std::size_t column, std::string_view name) const;
  // Calls use(values, position) for each row: the array that holds the value, a dictionary say, and where; null if the
  // value is missing.
  template <typename Use>
  void for_each_value(std::size_t column, Use use) const;

  std::unique_ptr<Schema> schema_ = std::make_unique<Schema>();
  std::vector<std::shared_ptr<Batch>> batches_;
};

void bind_arrow(nb::module_& module);

}  // namespace culmen::python
