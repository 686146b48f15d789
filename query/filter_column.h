// What the conditions of a filter are about: their columns by name, and literals as values of those columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "culmen/filter.h"
#include "index/snapshot.h"
#include "query/intervals.h"

namespace culmen {

struct FilterColumn {
  enum class Kind : std::uint8_t { attribute, field, id };

  Kind kind = Kind::id;
  std::int32_t position = 0;  // among the attributes, or the fields
};

// The column of that name; an attribute or field called like the id is the attribute or field. None: there is none.
std::optional<FilterColumn> find_filter_column(std::string_view name, const Snapshot& snapshot);

// Throws InvalidArgument for a column that the index does not have, or that filters cannot test.
FilterColumn filter_column(const Column& column, const Snapshot& snapshot);

// What to say of a name that filters do not know, and of a column that they cannot test; empty: they can.
std::string unknown_filter_column(std::string_view name, const Snapshot& snapshot);
std::string fault_of_column(const FilterColumn& column, const Snapshot& snapshot);

// What is wrong with comparing the column with the literal; empty: nothing.
std::string fault_of_literal(const FilterColumn& column, const Literal& literal, const Snapshot& snapshot);
// What is wrong with the comparison, whatever the literals; empty: nothing.
std::string fault_of_comparison(const FilterColumn& column, Comparison comparison, const Snapshot& snapshot);

// `"price" holds numbers: compare it with a number`.
std::string type_clash(const FilterColumn& column, const Snapshot& snapshot);
// "a number", "a text in single quotes": what the column is compared with.
std::string_view literal_of(const FilterColumn& column, const Snapshot& snapshot);

// How the column's values are written: of the id, as integers or texts.
const ColumnFormat& format_of(const FilterColumn& column, const Snapshot& snapshot);

// A literal without fault among the numbers of a column: numbers are themselves, texts are dates and timestamps.
template <typename T>
Limits<T> limits_of(const Literal& literal, const ColumnFormat& format);

// A date or a time as a number, with its fraction: in days for a column of dates, else in seconds.
double number_of_instant(const std::string& text, const ColumnFormat& format);

// For error messages: `"price"`, or `id`.
std::string shown_column(const FilterColumn& column, const Snapshot& snapshot);

}  // namespace culmen
