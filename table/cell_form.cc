#include "table/cell_form.h"

#include <algorithm>
#include <array>
#include <utility>

#include "table/text.h"

namespace culmen::io {
namespace {

constexpr std::array<std::pair<std::string_view, Unit>, 5> kUnits = {{{"%", Unit::percent},
                                                                      {"$", Unit::dollar},
                                                                      {"\xE2\x82\xAC", Unit::euro},
                                                                      {"\xC2\xA3", Unit::pound},
                                                                      {"\xC2\xA5", Unit::yen}}};
// No-break space, narrow no-break space and thin space.
constexpr std::array<std::string_view, 3> kWideBlanks = {"\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x89"};
constexpr std::array<std::string_view, 12> kNullWords = {"NA", "N/A",  "NULL", "null", "n/a", "#N/A",
                                                         "-",  "None", "none", "?",    "--",  "\\N"};
constexpr std::size_t kGroupDigits = 3;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_nan_word(std::string_view text) {
  return text.size() == 3 && (text[0] | 0x20) == 'n' && (text[1] | 0x20) == 'a' && (text[2] | 0x20) == 'n';
}

// The length of the blank that begins the text; 0: there is none.
std::size_t blank_bytes(std::string_view text) {
  if (text.starts_with(' ')) return 1;
  for (const std::string_view blank : kWideBlanks)
    if (text.starts_with(blank)) return blank.size();
  return 0;
}

std::string_view trim_all_blanks(std::string_view text) {
  text = trim_blanks(text);
  while (const std::size_t length = blank_bytes(text)) text.remove_prefix(length);
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view blank : kWideBlanks) {
      if (!text.ends_with(blank)) continue;
      text.remove_suffix(blank.size());
      again = true;
    }
    text = trim_blanks(text);
  }
  return text;
}

// A cell without its sign and unit.
struct BareNumber {
  std::string_view digits;  // and the marks among them
  bool is_negative = false;
  Unit unit = Unit::none;
};

bool take_sign(std::string_view& text, bool& is_negative) {
  constexpr std::string_view kMinus = "\xE2\x88\x92";
  if (text.starts_with(kMinus)) {
    text.remove_prefix(kMinus.size());
    return is_negative = true;
  }
  if (!text.starts_with('-') && !text.starts_with('+')) return false;
  is_negative = text[0] == '-';
  text.remove_prefix(1);
  return true;
}

// The unit may be on either side, and the sign on either side of a unit before the number.
BareNumber bare_number(std::string_view cell) {
  BareNumber bare;
  std::string_view text = trim_all_blanks(cell);
  const bool has_sign = take_sign(text, bare.is_negative);
  for (const auto& [sign, unit] : kUnits) {
    if (bare.unit != Unit::none) break;
    if (unit != Unit::percent && text.starts_with(sign)) {
      text.remove_prefix(sign.size());
      bare.unit = unit;
    } else if (text.ends_with(sign)) {
      text.remove_suffix(sign.size());
      bare.unit = unit;
    }
  }
  if (bare.unit != Unit::none) text = trim_all_blanks(text);
  if (!has_sign) take_sign(text, bare.is_negative);
  bare.digits = text;
  return bare;
}

// The length of the mark that begins the text; 0: another character.
std::size_t mark_bytes(std::string_view text, char mark) {
  if (mark == ' ') return blank_bytes(text);
  return mark != '\0' && text.starts_with(mark) ? 1 : 0;
}

std::size_t count_digits(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
}

// Appends the digits of 1.234.567 and removes them from the text. Returns the number of marks; nullopt for groups that
// are none.
std::optional<std::size_t> take_groups(std::string_view& text, char mark, std::string& out) {
  std::size_t num_digits = count_digits(text);
  const bool can_be_first = num_digits >= 1 && num_digits <= kGroupDigits && text[0] != '0';
  out.append(text.substr(0, num_digits));
  text.remove_prefix(num_digits);
  std::size_t num_marks = 0;
  while (const std::size_t length = mark_bytes(text, mark)) {
    num_digits = count_digits(text.substr(length));
    if (!can_be_first || num_digits != kGroupDigits) return std::nullopt;
    out.append(text.substr(length, num_digits));
    text.remove_prefix(length + num_digits);
    ++num_marks;
  }
  return num_marks;
}

// The rest of a number behind its whole part. Returns false if it is none.
bool take_fraction(std::string_view text, char decimal, std::string& out) {
  if (text.starts_with(decimal)) {
    const std::size_t num_digits = count_digits(text.substr(1));
    out.append(".").append(text.substr(1, num_digits));
    text.remove_prefix(1 + num_digits);
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    const std::size_t sign = text.size() > 1 && (text[1] == '-' || text[1] == '+') ? 1 : 0;
    const std::size_t num_digits = count_digits(text.substr(1 + sign));
    if (num_digits == 0) return false;
    out.append(text.substr(0, 1 + sign + num_digits));
    text.remove_prefix(1 + sign + num_digits);
  }
  return text.empty();
}

// Writes the number as C does. Returns false if it is none in this form.
bool write_plain(const CellForm& form, const BareNumber& bare, std::string& out) {
  std::string_view text = bare.digits;
  out.assign(bare.is_negative ? "-" : "");
  return take_groups(text, form.thousands, out) && take_fraction(text, form.decimal, out) &&
         out.find_first_of("0123456789") != std::string::npos;
}

// Whether the digits are those of 1.234: up to three, no zero before them, a mark and three.
bool is_one_group(std::string_view digits, char mark) {
  std::string ignored;
  const std::optional<std::size_t> num_marks = take_groups(digits, mark, ignored);
  return num_marks == std::size_t{1} && digits.empty();
}

}  // namespace

std::string_view unit_sign(Unit unit) {
  for (const auto& [sign, known] : kUnits)
    if (known == unit) return sign;
  return "";
}

bool CellForm::is_null_word(std::string_view text) const {
  if (null_words) return std::ranges::find(*null_words, text) != null_words->end();
  // None of the usual ones begins as most cells do.
  if (!text.empty() && is_digit(text.front())) return false;
  return std::ranges::find(kNullWords, text) != kNullWords.end() || is_nan_word(text);
}

std::string_view CellForm::plain_number(std::string_view cell, std::string& scratch) const {
  return write_plain(*this, bare_number(cell), scratch) ? std::string_view(scratch) : cell;
}

CellNumber CellForm::read_number(std::string_view cell, std::string& scratch) const {
  CellNumber read;
  if (is_plain() && is_settled) {
    const std::string_view trimmed = trim_blanks(cell);
    read = {parse_number(cell), is_integer_literal(trimmed), has_leading_zero(trimmed)};
    if (read.number.kind != NumberKind::not_a_number) return read;
  }
  const BareNumber bare = bare_number(cell);
  if (write_plain(*this, bare, scratch)) {
    read = {parse_number(scratch), is_integer_literal(scratch), has_leading_zero(scratch)};
    read.unit = bare.unit;
    read.is_ambiguous = !is_settled && (is_one_group(bare.digits, '.') || is_one_group(bare.digits, ','));
    return read;
  }
  // A word such as inf. A number of C that is none in this form has a mark of another meaning.
  if (cell.find_first_of("0123456789") == std::string_view::npos) read.number = parse_number(cell);
  return read;
}

bool CellForm::read_short_number(std::string_view cell, CellNumber& read) const {
  constexpr double kPowersOfTen[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  constexpr std::size_t kMaxDigits = 15;  // mantissa and power of ten are exact
  if (!is_settled || thousands == ' ') return false;
  std::string_view text = cell;
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  read = {};
  if (text.starts_with('$')) {
    read.unit = Unit::dollar;
    text.remove_prefix(1);
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  std::uint64_t mantissa = 0;
  const auto take_digits = [&] {
    std::size_t count = 0;
    for (; count < text.size() && is_digit(text[count]); ++count)
      mantissa = 10 * mantissa + static_cast<std::uint64_t>(text[count] - '0');
    text.remove_prefix(count);
    return count;
  };
  const bool begins_with_zero = text.starts_with('0');
  std::size_t num_digits = take_digits(), num_fraction = 0;
  if (num_digits == 0 || (begins_with_zero && num_digits > 1)) return false;
  const bool has_groups = thousands != '\0' && text.starts_with(thousands);
  if (has_groups && (num_digits > kGroupDigits || begins_with_zero)) return false;
  while (has_groups && text.starts_with(thousands)) {
    text.remove_prefix(1);
    if (take_digits() != kGroupDigits) return false;
    num_digits += kGroupDigits;
  }
  read.is_integer = !text.starts_with(decimal);
  if (!read.is_integer) {
    text.remove_prefix(1);
    num_fraction = take_digits();
  }
  if (num_digits + num_fraction > kMaxDigits) return false;
  if (!text.empty() && read.unit == Unit::none) {
    if (text.starts_with(' ')) text.remove_prefix(1);
    if (text == "%") read.unit = Unit::percent;
    if (text == "\xE2\x82\xAC") read.unit = Unit::euro;
    if (read.unit == Unit::none) return false;
    text = {};
  }
  if (!text.empty()) return false;
  const double magnitude = static_cast<double>(mantissa) / kPowersOfTen[num_fraction];
  read.number = {NumberKind::finite, is_negative ? 0.0 - magnitude : magnitude};  // 0 - 0 is +0
  return true;
}

namespace {

// Of digits with at most one mark among them, as most numbers are. Returns false for another cell.
bool shape_of_simple(std::string_view cell, NumberShape& shape) {
  if (cell.starts_with('-')) cell.remove_prefix(1);
  const std::size_t num_whole = count_digits(cell);
  const std::string_view rest = cell.substr(num_whole);
  const std::size_t num_fraction = rest.empty() ? 0 : count_digits(rest.substr(1));
  const bool has_mark =
      !rest.empty() && (rest[0] == '.' || rest[0] == ',') && rest.size() == 1 + num_fraction;
  if (num_whole == 0 || (!rest.empty() && !has_mark)) return false;
  const bool is_open =
      has_mark && num_whole <= kGroupDigits && cell[0] != '0' && num_fraction == kGroupDigits;
  shape.is_number = true;
  shape.ends_with_zero = cell.ends_with('0');
  shape.may_have_point = is_open && rest[0] == '.';
  shape.may_have_comma = is_open && rest[0] == ',';
  shape.has_point = has_mark && !is_open && rest[0] == '.';
  shape.has_comma = has_mark && !is_open && rest[0] == ',';
  return true;
}

}  // namespace

NumberShape shape_of(std::string_view cell) {
  NumberShape shape;
  if (shape_of_simple(cell, shape)) return shape;
  const BareNumber bare = bare_number(cell);
  const auto is_written_with = [&](char decimal, char thousands) {
    std::string out;
    std::string_view text = bare.digits;
    const bool is_begun = !text.empty() && (is_digit(text[0]) || text[0] == decimal);
    return is_begun && take_groups(text, thousands, out) && take_fraction(text, decimal, out) &&
           out.find_first_of("0123456789") != std::string::npos;
  };
  const bool by_point = is_written_with('.', '\0'), by_comma = is_written_with(',', '\0');
  const auto has = [&](char mark) { return bare.digits.find(mark) != std::string_view::npos; };
  shape.may_have_point = is_one_group(bare.digits, '.');
  shape.may_have_comma = is_one_group(bare.digits, ',');
  const bool is_open = shape.may_have_point || shape.may_have_comma;
  shape.has_point = by_point && has('.') && !is_open;
  shape.has_comma = by_comma && has(',') && !is_open;
  for (const char decimal : {'.', ','}) {
    for (const char thousands : {',', '.', '\'', ' '}) {
      const bool is_there = thousands == ' ' || has(thousands);
      if (by_point || by_comma || is_open || decimal == thousands || !is_there ||
          !is_written_with(decimal, thousands))
        continue;
      // "555 123" may be anything, unless other numbers have a decimal mark beside such groups.
      if (thousands == ' ' && has(' ') && !has(decimal)) {
        shape.may_group_by_blank = true;
        continue;
      }
      shape.has_point |= decimal == '.' && has('.');
      shape.has_comma |= decimal == ',' && has(',');
      shape.groups_by_point |= thousands == '.';
      shape.groups_by_comma |= thousands == ',';
      shape.groups_by_apostrophe |= thousands == '\'';
      shape.groups_by_blank |= thousands == ' ';
    }
  }
  shape.is_number = by_point || by_comma || is_open || shape.may_group_by_blank || shape.has_groups();
  shape.ends_with_zero = bare.digits.ends_with('0');
  shape.unit = bare.unit;
  return shape;
}

}  // namespace culmen::io
