// What the cells of a CSV column can be read as. The type of a column is that of all of its cells.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/calendar.h"
#include "culmen/schema.h"
#include "table/cell_form.h"

namespace culmen::io {

// How the cells of a column are parsed and kept.
enum class CellType : std::uint8_t {
  number,   // float64; missing ones are NaN
  integer,  // int64, also beyond 2^53
  boolean,
  date,
  timestamp,
  text,
};

// Whether an integral float64 is an int64, too.
inline bool is_in_int64(double value) {
  return value >= -0x1p63 && value < 0x1p63;
}

// "true" and "false", in any case. `in_words`: yes and no, y and n, t and f, on and off, 1 and 0, ja and nein, oui and non, too.
std::optional<bool> parse_boolean(std::string_view text, bool in_words = false);

// What the cells of a column were seen to be.
class CellKinds {
 public:
  // `ranked`: the column holds numbers. In others a number with a leading zero is a text, such as a zip code.
  void add(const CellForm& form, std::string_view text, bool quoted, bool ranked = false);
  void add_missing(std::string_view text,
                   bool quoted);  // what is a missing value unless the column holds texts
  void add_number(bool has_fraction, Unit unit = Unit::none) {
    set_first(CellType::number);
    if (!first_unit_) first_unit_ = unit;
    has_numbers_ = true;
    has_fractions_ |= has_fraction;
    mixes_units_ |= unit != *first_unit_;
  }
  void add_refused() { has_refused_ = true; }
  void add_timestamp(const ParsedTimestamp& timestamp);
  void merge(const CellKinds& other);

  bool is_empty() const;                                          // nothing but missing values
  bool is_blank() const { return is_empty() && !has_words_; }     // and these are empty cells
  std::optional<Unit> first_unit() const { return first_unit_; }  // of the first number
  CellType type() const;                                          // text if it is empty
  CellType first_type() const { return first_; }  // of the first cell that is not missing; number
  ColumnFormat format() const;                    // of the type
  // Of a column of timestamps, whatever else is in its cells: the first timestamp says whether they have a zone.
  ColumnFormat timestamp_format() const;
  // True if a cell cannot be kept, unless the column holds texts: an infinity, or an integer that float64 does not hold
  // exactly among numbers that are not integers.
  bool has_refused() const { return has_refused_ || (has_wide_integers_ && has_fractions_); }

 private:
  void set_first(CellType type) {
    if (is_empty()) first_ = type;
  }
  bool has_times() const { return has_local_times_ || has_zoned_times_; }

  CellType first_ = CellType::number;
  bool has_numbers_ = false;
  bool has_fractions_ = false;      // numbers that are not written as integers
  bool has_wide_integers_ = false;  // that float64 does not hold exactly, but int64 does
  bool has_refused_ = false;
  bool has_words_ = false;  // NA, "" and the like
  bool has_booleans_ = false;
  bool has_dates_ = false;
  bool has_local_times_ = false;  // timestamps without a zone
  bool has_zoned_times_ = false;
  bool is_first_time_zoned_ = false;
  bool is_beyond_nanoseconds_ = false;  // a timestamp outside of the years 1677 to 2262
  bool has_texts_ = false;
  std::optional<Unit> first_unit_;
  bool mixes_units_ = false;
  int num_fraction_digits_ = 0;
  int min_offset_ = 0, max_offset_ = 0;  // of zones, in minutes
};

}  // namespace culmen::io
