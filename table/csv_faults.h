// What is said of rows of CSV that are refused: one error for all of them, or a list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/csv_schema.h"
#include "table/number.h"

namespace culmen::io {

struct CsvFault {
  std::uint64_t line = 0;  // from 0, counted from the chunk's first line
  std::size_t column = 0;  // from 1; 0: the whole row
  std::string expected;    // the kind of fault, by which faults are counted
  std::string found = {};  // the rest of the sentence
  InputError::Remedy remedy = InputError::Remedy::none;
  bool ends_reading = false;  // nothing says where the next row begins
  std::string row = {};       // as it is in the file, if refused rows are listed

  std::string what() const { return expected + found; }
};

// Of a cell that is no value of its column. `kind`: of its number.
std::string expected_text(const CsvColumn& column);
std::string reason_of(const CsvColumn& column, const CellForm& form, NumberKind kind, std::string_view text);

[[noreturn]] void throw_csv_fault(const std::string& name, std::uint64_t line, std::size_t column,
                                  const std::string& what,
                                  InputError::Remedy remedy = InputError::Remedy::none);

// The refused rows of a source, in order.
class RefusedRows {
 public:
  // Without a list, reading ends after so many.
  static constexpr std::size_t kMaxFaults = 1'000;

  RefusedRows(const std::string& name, const ReadOptions& options) : name_(name), options_(options) {}

  bool are_listed() const { return options_.on_rejected_row != nullptr; }
  bool empty() const { return faults_.empty(); }
  // `num_lines_before`: before the chunk.
  void add(CsvFault fault, std::uint64_t num_lines_before);
  // Without a list: after many faults, or one behind which nothing can be read.
  bool ends_reading() const {
    return !are_listed() && !empty() && (faults_.size() >= kMaxFaults || faults_.back().ends_reading);
  }
  // Hands the list out. Without a list, throws if there are faults.
  void finish();

 private:
  [[noreturn]] void refuse() const;

  const std::string& name_;
  const ReadOptions& options_;
  std::vector<CsvFault> faults_;  // their lines are those of the file, from 1
};

}  // namespace culmen::io
