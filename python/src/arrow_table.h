// Tables that come through Arrow's C stream: numbers as NumPy arrays, without a copy if a column is in one
// piece; texts as lists.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "arrow_abi.h"

namespace culmen::python {

namespace nb = nanobind;

class ArrowTable {
 public:
  // Reads a capsule "arrow_array_stream" to its end. Throws InvalidArgument for what is no table of columns,
  // InputError for what the stream reports.
  explicit ArrowTable(const nb::capsule& stream);

  std::size_t num_rows() const;
  std::vector<std::string> names() const;
  // Arrow's name for the type of a column: "l" is int64, "u" text, ...
  std::string format(std::size_t column) const;
  // The values of a numeric column, unspecified where there is none. Throws InputError for others.
  nb::object numbers(std::size_t column) const;
  // Of a column of texts, or of a dictionary of texts; None where there is none. Throws InputError for others.
  nb::list texts(std::size_t column) const;
  // True where there is no value; None if there is one everywhere.
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

  const ArrowSchema& schema(std::size_t column) const { return *schema_->children[column]; }
  template <typename T>
  nb::object numbers_of(std::size_t column) const;

  std::unique_ptr<Schema> schema_ = std::make_unique<Schema>();
  std::vector<std::shared_ptr<Batch>> batches_;
};

void bind_arrow(nb::module_& module);

}  // namespace culmen::python
