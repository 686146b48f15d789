#include "table/csv_record.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "table/text.h"

namespace culmen::io {
namespace {

const char* find_byte(const char* begin, const char* end, char wanted) {
  if (begin == end) return end;
  const void* found = std::memchr(begin, wanted, static_cast<std::size_t>(end - begin));
  return found ? static_cast<const char*>(found) : end;
}

std::size_t distance(const char* begin, const char* end) {
  return static_cast<std::size_t>(end - begin);
}

}  // namespace

std::string_view field_value(const CsvField& field, std::string& scratch) {
  if (!field.has_escapes) return field.text;
  scratch.clear();
  for (std::size_t pos = 0; pos < field.text.size(); ++pos) {
    scratch += field.text[pos];
    if (field.text[pos] == '"') ++pos;  // quotes are in pairs here
  }
  return scratch;
}

RecordSplitter::RecordSplitter(char delimiter, std::size_t max_fields, bool one_line)
    : delimiter_(delimiter), max_fields_(max_fields), one_line_(one_line) {
  for (const char c : {delimiter, '\n', '\r', '"', '\0'}) special_[static_cast<unsigned char>(c)] = true;
}

bool RecordSplitter::is_blank() const {
  return num_fields_ == 1 && !fields_[0].quoted && trim_blanks(fields_[0].text).empty();
}

const char* RecordSplitter::find_special(const char* begin, const char* end) const {
  while (begin < end && !special_[static_cast<unsigned char>(*begin)]) ++begin;
  return begin;
}

RecordState RecordSplitter::split(const char* begin, const char* end, bool at_end_of_file) {
  fields_.clear();
  num_fields_ = 0;
  num_lines_ = 1;
  cursor_ = begin;
  line_too_long_ = distance(begin, end) > kMaxLineBytes;
  end_ = line_too_long_ ? begin + kMaxLineBytes : end;
  at_end_of_file_ = at_end_of_file;
  Step step = Step::next_field;
  while (step == Step::next_field) {
    field_begin_ = cursor_;
    field_idx_ = num_fields_;
    step = cursor_ < end_ && *cursor_ == '"' ? split_quoted_field() : split_plain_field();
  }
  if (step == Step::end_of_record) return RecordState::complete;
  return step == Step::incomplete ? RecordState::incomplete : RecordState::refused;
}

RecordSplitter::Step RecordSplitter::split_plain_field() {
  cursor_ = find_special(cursor_, end_);
  if (cursor_ < end_ && *cursor_ == '"' && !field_too_long()) {
    return refuse("a quote within an unquoted field (quote the whole field and double the quote)");
  }
  return end_of_field({{field_begin_, distance(field_begin_, cursor_)}});
}

RecordSplitter::Step RecordSplitter::split_quoted_field() {
  const char* const text = ++cursor_;
  bool has_escapes = false;
  for (;;) {
    cursor_ = find_byte(cursor_, end_, '"');
    if (cursor_ == end_) return out_of_input();
    const bool is_escape = cursor_ + 1 < end_ && cursor_[1] == '"';
    if (!is_escape) break;
    has_escapes = true;
    cursor_ += 2;
  }
  const std::string_view content(text, distance(text, cursor_++));
  if (cursor_ == end_ && !end_is_end_of_file()) return out_of_input();  // may be the first half of a pair
  if (field_too_long()) return out_of_input();
  if (content.find('\0') != std::string_view::npos) return refuse("a NUL byte");
  if (!one_line_) num_lines_ += static_cast<std::uint64_t>(std::count(content.begin(), content.end(), '\n'));
  const bool ends_here = cursor_ == end_ || *cursor_ == delimiter_ || *cursor_ == '\n' || *cursor_ == '\r';
  if (!ends_here) return refuse("text after the closing quote of a field");
  return end_of_field({content, true, has_escapes});
}

// The cursor is after the field's last byte.
RecordSplitter::Step RecordSplitter::end_of_field(const CsvField& field) {
  const bool at_end_of_text = cursor_ == end_ && end_is_end_of_file();
  if (field_too_long() || (cursor_ == end_ && !at_end_of_text)) return out_of_input();
  if (!at_end_of_text && *cursor_ == '\0')
    return refuse("a NUL byte (is the file UTF-16, or not text at all?)");
  if (num_fields_++ < max_fields_) fields_.push_back(field);
  if (at_end_of_text) return Step::end_of_record;
  if (*cursor_ == delimiter_) {
    ++cursor_;
    return Step::next_field;
  }
  return end_of_line();
}

// The cursor is at LF or CR.
RecordSplitter::Step RecordSplitter::end_of_line() {
  const bool is_crlf = *cursor_ == '\r' && cursor_ + 1 < end_ && cursor_[1] == '\n';
  if (*cursor_ == '\n' || is_crlf) {
    cursor_ += is_crlf ? 2 : 1;
    return Step::end_of_record;
  }
  if (cursor_ + 1 == end_ && !end_is_end_of_file()) return out_of_input();  // LF may follow
  return refuse("a carriage return without a line feed after it (expected LF or CRLF line ends)");
}

// The input ends within the field, or the field is already too long.
RecordSplitter::Step RecordSplitter::out_of_input() {
  const bool quoted = field_begin_ < end_ && *field_begin_ == '"';
  if (field_too_long()) {
    return refuse(std::string("a field longer than 64 KiB") + (quoted ? " (is its quote not closed?)" : ""));
  }
  if (line_too_long_) return refuse("a line longer than 16 MiB");
  if (quoted && at_end_of_file_) return refuse("a quote that is never closed");
  return Step::incomplete;
}

const char* RecordSplitter::line_after_fault() const {
  const char* const line_end = find_byte(fault_.position, end_, '\n');
  if (line_end != end_) return line_end + 1;
  return at_end_of_file_ || line_too_long_ ? end_ : nullptr;
}

// Checked before anything else about a field, so the result does not depend on where the input ends.
bool RecordSplitter::field_too_long() const {
  return distance(field_begin_, cursor_) > kMaxFieldBytes;
}

bool RecordSplitter::end_is_end_of_file() const {
  return at_end_of_file_ && !line_too_long_;
}

RecordSplitter::Step RecordSplitter::refuse(std::string what) {
  fault_ = {field_begin_, field_idx_, std::move(what)};
  return Step::refused;
}

}  // namespace culmen::io
