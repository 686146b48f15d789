// The errors that culmen throws. Each derives from culmen::Error, and its text says what is wrong. After an error the
// index, the directory and the outputs are as they were before the call.
//
// Two kinds of exceptions propagate unchanged: std::bad_alloc, when host memory runs out, and those of the caller's own
// callbacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace culmen {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An argument makes no sense: unknown attribute, k = 0, weights that are not finite, ...
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

// A table cannot be indexed: NaN, an id twice, text in place of a number, ... The text names file, line and
// column.
class InputError : public Error {
 public:
  // An option of the readers of files that would help. The text does not name it: programs call it by their own names.
  enum class Remedy : std::uint8_t {
    none,
    drop_nulls,         // NullPolicy::drop leaves such rows out
    choose_attributes,  // ReadOptions::attributes chooses what is ranked
    choose_columns,     // the column was read only because ReadOptions::columns did not leave it out
    give_decimal,       // CsvDialect::decimal says what the cells do not tell
    give_header,        // CsvDialect::has_header says what the first line does not tell
    give_dates,         // CsvDialect::dates says what the cells do not tell
    give_id_type,  // ReadOptions::id_type says whether ids are texts, or numbers that lose their leading zeros
    list_rejected,  // ReadOptions::on_rejected_row takes such rows, and the others are read
  };

  using Error::Error;
  InputError(const std::string& text, Remedy remedy) : Error(text), remedy_(remedy) {}

  Remedy remedy() const { return remedy_; }

 private:
  Remedy remedy_ = Remedy::none;
};

// A row of a table in memory. The text counts rows from 1, as files do; row() from 0, as memory does.
class RowError : public InputError {
 public:
  RowError(std::uint64_t row, const std::string& problem) : RowError(row, prefix(row), problem) {}

  std::uint64_t row() const { return row_; }
  // The text without the number of the row.
  std::string_view problem() const { return std::string_view(what()).substr(prefix_bytes_); }

 private:
  static std::string prefix(std::uint64_t row) { return "row " + std::to_string(row + 1) + ": "; }
  RowError(std::uint64_t row, const std::string& prefix, const std::string& problem)
      : InputError(prefix + problem), row_(row), prefix_bytes_(prefix.size()) {}

  std::uint64_t row_;
  std::size_t prefix_bytes_;
};

// An index file is damaged, foreign or of another format version. The text names the file, and the byte where
// it can. Or bytes are no set of ids.
class FormatError : public Error {
 public:
  using Error::Error;
};

// The operating system refused: no such file, no space, no permission. The text names the path.
class IoError : public Error {
 public:
  using Error::Error;
};

// What is at the path is not an index: a directory that holds none, or no directory at all.
class NoIndex : public IoError {
 public:
  using IoError::IoError;
};

// SearchOptions::stop ended the search.
class Stopped : public Error {
 public:
  Stopped() : Error("the search was stopped by its caller") {}
};

// A CUDA call failed, or there is no device to call. The text names the line that called.
class CudaError : public Error {
 public:
  using Error::Error;
  CudaError(const std::string& text, int device) : Error(text), device_(device) {}

  // The CUDA number of the device of a DeviceGroup, or of several that build together, that failed, which the text names too;
  // -1: not of several.
  int device() const { return device_; }

 private:
  int device_ = -1;
};

// Device memory, or pinned host memory, ran out. What the failed call had allocated is free again.
class OutOfDeviceMemory : public CudaError {
 public:
  using CudaError::CudaError;
};

}  // namespace culmen
