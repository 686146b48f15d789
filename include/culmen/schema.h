// The schema of an index: its columns, what they hold, and what they are for.
//
// Attributes are ranked: a query gives each a weight. Fields are not: filters test them, or answers only show them. Any
// column may miss values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "culmen/id_type.h"

namespace culmen {

inline constexpr int kMaxAttributes = 1024;
inline constexpr int kMaxFields = 256;

// What the values of a column are. Attributes are never texts; whatever else they are, they are ranked as numbers.
enum class ColumnType : std::uint8_t {
  floating,   // float64
  integer,    // int64
  boolean,    // 0 or 1
  date,       // days since 1970-01-01
  timestamp,  // int64, in the format's unit since 1970-01-01T00:00:00
  text,       // UTF-8, compared by its bytes
};

enum class TimeUnit : std::uint8_t { second, millisecond, microsecond, nanosecond };

struct ColumnFormat {
  ColumnType type = ColumnType::floating;
  TimeUnit unit = TimeUnit::nanosecond;  // of timestamps
  // Of timestamps. "UTC", "Europe/Paris", "+02:00": values count in UTC, and the zone is for showing them. Empty: local
  // times of no known zone.
  std::string time_zone = {};

  friend bool operator==(const ColumnFormat&, const ColumnFormat&) = default;
};

// Which end of an attribute is usually good: high for positive weights, low for negative ones. It never changes an
// answer; weights of that sign are faster.
enum class Preference : std::uint8_t { high, low };

// What stands in for a missing value when a query asks to fill gaps (Missing::fill). It is computed once, from the
// values of the first load, and never changes.
enum class StandIn : std::uint8_t {
  worst,   // the minimum, or the maximum of an attribute with Preference::low
  median,  // of an even number of values the mean of the two in the middle
  mean,    // exact, then rounded once
  number,  // Attribute::number
  refuse,  // none: a missing value is an error
};

struct Attribute {
  std::string name;
  Preference preference = Preference::high;
  StandIn stand_in = StandIn::worst;
  double number = 0;  // for StandIn::number
  ColumnFormat format = {};

  friend bool operator==(const Attribute&, const Attribute&) = default;
};

enum class FieldRole : std::uint8_t {
  filter,  // filters may test it
  stored,  // only shown
};

// A column that is not ranked.
struct Field {
  std::string name;
  FieldRole role = FieldRole::filter;
  ColumnFormat format = {};

  bool is_text() const { return format.type == ColumnType::text; }
  friend bool operator==(const Field&, const Field&) = default;
};

// How attribute values are stored. automatic: float32 if that holds every value exactly, else float64. float32: values
// are rounded to nearest; info().rounded_values counts those that changed.
enum class ValueType : std::uint8_t { automatic, float32, float64 };

enum class Partitioning : std::uint8_t {
  // kd for up to 8 attributes, angle for more or if num_splits is set. Of a table that is large enough for it the build
  // compares partitions, Shells and RowOrder on a sample, and takes the best. info() has the choice.
  automatic,
  angle,   // by Shells, then by the row's angles from the best corner (GTA, section 3.3)
  random,  // by position in the table
  kd,      // by Shells, then by repeated halving on the attribute with the widest spread
};

// Slices of the table before it is partitioned further. automatic: sums, unless the build compares partitions.
enum class Shells : std::uint8_t {
  automatic,
  sums,  // by the sum of the scaled attributes, each slice half as large as the one below it, if there are enough rows
  none,
};

// The order of rows within a partition. automatic: largest, unless the build compares partitions.
enum class RowOrder : std::uint8_t {
  automatic,
  largest,  // by the largest scaled attribute
  sum,      // by the sum of the scaled attributes
};

// The columns of an index.
struct Schema {
  std::vector<Attribute> attributes;  // 1 to kMaxAttributes, names unique and not empty
  bool has_labels = false;            // besides ids; never with IdType::text
  std::vector<Field> fields = {};     // up to kMaxFields
  // The columns of the table that hold ids and labels, where they have names.
  std::string id_name = {}, label_name = {};
  IdType id_type = IdType::int64;
};

}  // namespace culmen
