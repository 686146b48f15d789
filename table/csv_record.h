// Splits one CSV record (RFC 4180) into fields.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace culmen::io {

inline constexpr std::size_t kMaxFieldBytes = std::size_t{64} << 10;  // quotes included
inline constexpr std::size_t kMaxLineBytes = std::size_t{16}
                                             << 20;  // of a record: the lines it spans, line ends too

struct CsvField {
  std::string_view text;  // in the input; of a quoted field, the text between the quotes
  bool quoted = false;
  bool has_escapes = false;  // contains "", an escaped quote
};

// The value of the field. Only fields with escapes use `scratch`.
std::string_view field_value(const CsvField& field, std::string& scratch);

enum class RecordState : std::uint8_t {
  complete,
  incomplete,  // the input ends within the record, and it is not the end of the file
  refused,     // not RFC 4180, or over a limit: see fault()
};

// What is wrong with a record, and in which field (from 0).
struct RecordFault {
  const char* position = nullptr;  // where the field begins
  std::size_t field = 0;
  std::string what;
};

class RecordSplitter {
 public:
  // Stores at most max_fields (num_fields() counts all), so a line of commas takes no memory.
  // `one_line`: each record is one line of the file, whatever is in its fields.
  RecordSplitter(char delimiter, std::size_t max_fields, bool one_line = false);

  // Splits the record at `begin`, which must not be `end`. Fields point into the input. The result depends on the
  // record alone, not on the input after it.
  RecordState split(const char* begin, const char* end, bool at_end_of_file);

  // The first byte that is not plain text: delimiter, quote, line end or NUL.
  const char* find_special(const char* begin, const char* end) const;

  const std::vector<CsvField>& fields() const { return fields_; }
  std::size_t num_fields() const { return num_fields_; }
  bool is_blank() const;                                  // a line of nothing, or of blanks
  const char* next() const { return cursor_; }            // after the record's line end
  std::uint64_t num_lines() const { return num_lines_; }  // physical lines that the record spans
  const RecordFault& fault() const { return fault_; }
  // Of a refused record: the line after the one in which the faulty field begins, where reading may go on. nullptr if the
  // line does not end in the input.
  const char* line_after_fault() const;
  bool is_line_too_long() const { return line_too_long_; }     // of a refused record: no line end is near
  bool is_field_too_long() const { return field_too_long(); }  // of a refused record

 private:
  enum class Step : std::uint8_t { next_field, end_of_record, incomplete, refused };

  Step split_plain_field();
  Step split_quoted_field();
  Step end_of_field(const CsvField& field);
  Step end_of_line();
  Step out_of_input();
  Step refuse(std::string what);
  bool field_too_long() const;
  bool end_is_end_of_file() const;

  char delimiter_;
  std::size_t max_fields_;
  bool one_line_;
  std::array<bool, 256> special_{};  // bytes that end a run of plain text

  std::vector<CsvField> fields_;
  std::size_t num_fields_ = 0;
  std::uint64_t num_lines_ = 0;
  RecordFault fault_;

  const char* cursor_ = nullptr;
  const char* field_begin_ = nullptr;
  std::size_t field_idx_ = 0;
  const char* end_ = nullptr;
  bool at_end_of_file_ = false;
  bool line_too_long_ = false;  // there is input after end_, but records must not be that long
};

}  // namespace culmen::io
