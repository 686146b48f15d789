// How the numbers and the missing values of a text file are written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/csv_dialect.h"
#include "table/number.h"

namespace culmen::io {

// What stands beside a number. 12 % is the number 12.
enum class Unit : std::uint8_t { none, percent, dollar, euro, pound, yen };
inline constexpr Unit kAllUnits[] = {Unit::none, Unit::percent, Unit::dollar,
                                     Unit::euro, Unit::pound,   Unit::yen};
// "$"; empty for none.
std::string_view unit_sign(Unit unit);

// How the numbers of a column are written.
struct ColumnForm {
  std::optional<Unit> unit = {};  // of its first number
  bool has_groups = false;
};

struct CellNumber {
  ParsedNumber number;
  bool is_integer = false;    // written as an integer
  bool has_zero = false;      // before another digit, as in 00501
  bool is_ambiguous = false;  // 15.990, and nothing says whether the point is a decimal one
  Unit unit = Unit::none;
};

struct CellForm {
  char decimal = '.';
  char thousands = '\0';          // none
  bool quoted_are_texts = false;  // a cell in quotes is no number and no missing value
  bool is_settled = true;  // false: nothing said which mark is the decimal one; it is taken to be the point
  std::optional<DateOrder> dates = {};                      // nullopt: 01/02/2024 is none
  std::optional<std::vector<std::string>> null_words = {};  // nullopt: the usual ones

  // Whether all numbers are written as in C, possibly with a unit.
  bool is_plain() const { return decimal == '.' && thousands == '\0'; }
  bool is_null_word(std::string_view text) const;
  CellNumber read_number(std::string_view cell, std::string& scratch) const;
  // The fast path of read_number, for most numbers of up to 15 digits with marks between thousands and a unit. Returns false
  // if it cannot tell.
  bool read_short_number(std::string_view cell, CellNumber& read) const;
  // The number as C writes it; the cell itself if it is none in this form.
  std::string_view plain_number(std::string_view cell, std::string& scratch) const;
  // The date, and the time behind it, as ISO writes it: 2024-12-31 for 31.12.2024. The cell itself if it is none in this
  // form, or is written so already.
  std::string_view iso_time(std::string_view cell, std::string& scratch) const;
};

// Whether a cell is a date, possibly with a time, of which the form must say what it begins with.
struct DateShape {
  bool is_date = false;
  bool may_be_day_first = false, may_be_month_first = false;  // such a day exists
};
DateShape date_shape_of(std::string_view cell);

// Whether a cell is written as a date, though there may be no such day: 2024-02-30.
bool looks_like_date(std::string_view cell);

// How the number of a cell uses its marks.
struct NumberShape {
  bool is_number = false;        // with some marks
  bool has_point = false;        // a decimal one, for certain
  bool has_comma = false;        // so
  bool groups_by_point = false;  // for certain
  bool groups_by_comma = false;
  bool groups_by_apostrophe = false;
  bool groups_by_blank = false;
  bool may_have_point = false;  // 1.234: a decimal point, or one between groups
  bool may_have_comma = false;
  bool may_group_by_blank = false;  // 12 000, if another number of the column shows it
  bool ends_with_zero = false;
  Unit unit = Unit::none;

  bool has_groups() const {
    return groups_by_point || groups_by_comma || groups_by_apostrophe || groups_by_blank;
  }
};
NumberShape shape_of(std::string_view cell);

}  // namespace culmen::io
