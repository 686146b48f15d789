#include "row_columns.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <variant>

#include "arrays.h"
#include "culmen/error.h"

namespace culmen::python {
namespace {

// A thread may have refreshed the handle since another read the kinds of its fields.
[[noreturn]] void refuse_other_columns() {
  throw InvalidArgument("the index was replaced by one with other columns meanwhile: ask again");
}

template <typename T>
T value_or_nothing(const FieldValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return {};
  const T* const held = std::get_if<T>(&value);
  if (held == nullptr) refuse_other_columns();
  return *held;
}

nb::str to_str(const std::string& text) {
  return nb::str(text.data(), text.size());
}

}  // namespace

RowColumns::RowColumns(std::string_view field_kinds) {
  for (const char kind : field_kinds) fields_.push_back({kind, {}, {}, {}, {}});
}

void RowColumns::add(const Row& row) {
  if (row.fields.size() != fields_.size()) refuse_other_columns();
  ++num_rows_;
  values_.insert(values_.end(), row.values.begin(), row.values.end());
  labels_.push_back(row.label);
  for (std::size_t f = 0; f < fields_.size(); ++f) add(fields_[f], row.fields[f]);
}

void RowColumns::add_hits(const SearchResult& result, std::span<const std::size_t> ranks) {
  constexpr std::size_t kAtOnce = 4096;
  while (!ranks.empty()) {
    const std::size_t count = std::min(kAtOnce, ranks.size());
    for (const Row& row : result.rows(ranks.first(count))) add(row);
    ranks = ranks.subspan(count);
  }
}

void RowColumns::add_hits(const SearchResult& result) {
  std::vector<std::size_t> ranks(result.hits.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  add_hits(result, ranks);
}

void RowColumns::add(FieldColumn& column, const FieldValue& value) {
  const bool is_missing = std::holds_alternative<std::monostate>(value);
  column.gaps.push_back(is_missing ? 1 : 0);
  column.has_gaps |= is_missing;
  switch (column.kind) {
    case 't':
      column.texts.push_back(value_or_nothing<std::string>(value));
      break;
    case 'f':
      column.numbers.push_back(value_or_nothing<double>(value));
      break;
    default:
      column.integers.push_back(value_or_nothing<std::int64_t>(value));
  }
}

nb::object RowColumns::taken(FieldColumn& column) {
  if (column.kind == 't') {
    nb::list texts;
    for (std::size_t i = 0; i < column.texts.size(); ++i) {
      if (column.gaps[i] != 0) {
        texts.append(nb::none());
      } else {
        texts.append(to_str(column.texts[i]));
      }
    }
    return texts;
  }
  const nb::object gaps =
      column.has_gaps ? nb::cast(to_numpy(std::move(column.gaps))).attr("view")("?") : nb::none();
  const nb::object values = column.kind == 'f' ? nb::cast(to_numpy(std::move(column.numbers)))
                                               : nb::cast(to_numpy(std::move(column.integers)));
  return nb::make_tuple(values, gaps);
}

nb::tuple RowColumns::taken() {
  const std::size_t width = num_rows_ == 0 ? 0 : values_.size() / num_rows_;
  nb::list labels, fields;
  for (const std::string& label : labels_) labels.append(to_str(label));
  for (FieldColumn& column : fields_) fields.append(taken(column));
  return nb::make_tuple(to_numpy(std::move(values_), {num_rows_, width}), labels, fields);
}

}  // namespace culmen::python
