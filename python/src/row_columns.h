// Rows of an index turned into columns, for NumPy.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arrays.h"
#include "culmen/index.h"
#include "culmen/search.h"
#include "gil.h"
#include "tables.h"

namespace culmen::python {

namespace nb = nanobind;

class RowColumns {
 public:
  // One letter per field: 't' a text, 'f' floating, 'i' anything else.
  explicit RowColumns(std::string_view field_kinds);

  // None needs the GIL.
  void add(const Row& row);
  void add_hits(const SearchResult& result, std::span<const std::size_t> ranks);
  void add_hits(const SearchResult& result);
  // A tuple, for the extension's Python files: values [rows][num_attributes] with NaN where they are missing; labels;
  // and for each field a list of texts and None, or a pair of its values and of NumPy's bool, true where they are
  // missing, or None if none is. Numbers are unspecified where they are missing.
  nb::tuple taken();

 private:
  struct FieldColumn {
    char kind;
    std::vector<std::int64_t> integers;
    std::vector<double> numbers;
    std::vector<std::string> texts;
    std::vector<std::uint8_t> gaps;
    bool has_gaps = false;
  };
  void add(FieldColumn& column, const FieldValue& value);
  static nb::object taken(FieldColumn& column);

  std::size_t num_rows_ = 0;
  std::vector<double> values_;
  std::vector<std::string> labels_;
  std::vector<FieldColumn> fields_;
};

// Of those rows that are in the index, and NumPy's bool for each id, true where there is one.
template <typename AnyIndex>
nb::tuple looked_up(const AnyIndex& index, auto ids, std::string_view field_kinds) {
  RowColumns columns(field_kinds);
  std::vector<std::uint8_t> is_there;
  {
    const GilReleased released;
    for (const std::optional<Row>& row : index.get(ids)) {
      is_there.push_back(row ? 1 : 0);
      if (row) columns.add(*row);
    }
  }
  return nb::make_tuple(columns.taken(), nb::cast(to_numpy(std::move(is_there))).attr("view")("?"));
}

template <typename AnyIndex>
nb::tuple look_up_texts(const AnyIndex& index, const std::vector<std::string>& texts,
                        std::string_view field_kinds) {
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  return looked_up(index, std::span(views), field_kinds);
}

template <typename AnyIndex>
nb::tuple look_up_ids(const AnyIndex& index, const Ids& ids, std::string_view field_kinds) {
  return looked_up(index, ids_view(ids), field_kinds);
}

// Of those rows that are in the index.
template <typename AnyIndex>
nb::tuple rows_of_texts(const AnyIndex& index, const std::vector<std::string>& texts,
                        std::string_view field_kinds) {
  return nb::borrow<nb::tuple>(look_up_texts(index, texts, field_kinds)[0]);
}

template <typename AnyIndex>
nb::tuple rows_of_ids(const AnyIndex& index, const Ids& ids, std::string_view field_kinds) {
  return nb::borrow<nb::tuple>(look_up_ids(index, ids, field_kinds)[0]);
}

}  // namespace culmen::python
