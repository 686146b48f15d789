#include "filters.h"

#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bindings.h"
#include "culmen/error.h"
#include "culmen/id_set.h"
#include "culmen/shard_messages.h"
#include "gil.h"
#include "numbers.h"
#include "query/literal.h"
#include "tables.h"
#include "text_column.h"

namespace culmen::python {
namespace {

std::vector<Literal> literals(nb::handle values) {
  std::vector<Literal> result;
  for (const nb::handle value : nb::iter(values)) result.push_back(literal(value, "a value of a filter"));
  return result;
}

// Numbers and texts have no order: whether they fit the column is checked when it is known.
bool is_above(const Literal& a, const Literal& b) {
  const auto *text = std::get_if<std::string>(&a), *other = std::get_if<std::string>(&b);
  if (text != nullptr && other != nullptr) return *text > *other;
  if (text != nullptr || other != nullptr) return false;
  return nearest_double(a) > nearest_double(b);
}

Filter pair_filter(const Column& column, nb::handle pair) {
  if (nb::len(pair) != 2)
    throw InvalidArgument(
        "a condition of a filter is a value, a pair (least, most) with None for no limit, or a list or set "
        "of values");
  const nb::object least = pair[0], most = pair[1];
  const auto limit = [](nb::handle value) { return literal(value, "a limit of a filter"); };
  if (least.is_none() && most.is_none()) return column.is_not_null();
  if (least.is_none()) return column <= limit(most);
  if (most.is_none()) return column >= limit(least);
  const Literal minimum = limit(least), maximum = limit(most);
  if (is_above(minimum, maximum))
    throw InvalidArgument("no value is in the range of a filter, " + shown(pair) +
                          ": it is a pair (least, most)");
  return column.between(minimum, maximum);
}

Filter condition_of(nb::handle name, nb::handle condition) {
  if (!nb::isinstance<nb::str>(name)) throw InvalidArgument("a filter names attributes, that is by text");
  const Column column = col(nb::cast<std::string>(name));
  if (condition.is_none()) return column.is_null();
  if (nb::isinstance<nb::tuple>(condition)) return pair_filter(column, condition);
  const bool is_values = nb::isinstance<nb::list>(condition) || PyAnySet_Check(condition.ptr());
  return is_values ? column.in(literals(condition)) : column == literal(condition, "a condition of a filter");
}

[[noreturn]] bool truth_of(const Filter& /*filter*/) {
  throw nb::type_error(
      "a filter is neither true nor false: join filters by & and |, not by `and` and `or`, negate them by ~, "
      "and write "
      "1 < x < 3 as x.between(...) or with &; comparisons that are joined stand in parentheses");
}

using Operator = Filter (*)(const Column&, const Literal&);

void bind_comparison(nb::class_<Column>& column, const char* name, Operator compare) {
  column.def(
      name,
      [compare](const Column& self, nb::handle value) {
        return compare(self, literal(value, "a value of a filter"));
      },
      nb::arg("value").none());
}

Filter ids_in(const Ids& ids, std::string_view id_type) {
  const std::span given(ids.data(), ids.size());
  const IdType type = parse_id_type(id_type);
  const GilReleased released;
  return Filter::ids_in(IdSet(given, type));
}

Filter ids_in_range(std::int64_t first, std::int64_t last, std::string_view id_type) {
  const IdRange range[] = {{first, last}};
  const IdType type = parse_id_type(id_type);
  const GilReleased released;
  return Filter::ids_in(IdSet::of_ranges(range, type));
}

Filter ids_in_texts(const TextColumn& column) {
  const LabelsView texts = column.view().texts;
  std::vector<std::string_view> given;
  for (std::size_t i = 0; i < column.size(); ++i) given.push_back(texts[i]);
  const GilReleased released;
  return Filter::ids_in(IdSet(given));
}

Filter ids_in_bytes(const nb::bytes& bytes, std::string_view id_type) {
  const std::span given(static_cast<const std::byte*>(bytes.data()), bytes.size());
  const IdType type = parse_id_type(id_type);
  const GilReleased released;
  return Filter::ids_in(IdSet::from_bytes(given, type));
}

}  // namespace

Filter filter_of(const Index& index, nb::handle where) {
  if (where.is_none()) return {};
  if (nb::isinstance<Filter>(where)) return nb::cast<Filter>(where);
  if (nb::isinstance<nb::str>(where)) return index.filter(nb::cast<std::string_view>(where));
  if (!nb::isinstance<nb::dict>(where))
    throw InvalidArgument(
        "a filter is a text such as \"price<=200 and stars>=4\", a dict such as {\"price\": (None, 200)}, or "
        "made of "
        "culmen.col, as culmen.col(\"price\") <= 200");
  Filter filter;
  for_each_item(nb::borrow<nb::dict>(where), [&](const nb::object& name, const nb::object& condition) {
    filter = filter && condition_of(name, condition);
  });
  return filter;
}

void bind_filters(nb::module_& module) {
  nb::class_<Filter>(module, "Filter",
                     "Which rows may be in an answer; made of col, joined by & and |, negated by ~.")
      .def(
          "__and__", [](const Filter& a, const Filter& b) { return a && b; }, nb::is_operator())
      .def(
          "__or__", [](const Filter& a, const Filter& b) { return a || b; }, nb::is_operator())
      .def("__invert__", [](const Filter& filter) { return !filter; })
      .def("__bool__", truth_of)
      .def("__getstate__",
           [](const Filter& filter) {
             const std::vector<std::byte> bytes = encode(filter);
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("__setstate__",
           [](Filter& filter, const nb::bytes& bytes) {
             new (&filter) Filter(decode_filter({static_cast<const std::byte*>(bytes.data()), bytes.size()}));
           })
      .def("__str__", &Filter::text)
      .def("__repr__", [](const Filter& filter) { return "<culmen.Filter " + filter.text() + ">"; });
  nb::class_<Column> column(module, "Column");
  bind_comparison(column, "equal", [](const Column& c, const Literal& value) { return c == value; });
  bind_comparison(column, "not_equal", [](const Column& c, const Literal& value) { return c != value; });
  bind_comparison(column, "less", [](const Column& c, const Literal& value) { return c < value; });
  bind_comparison(column, "less_equal", [](const Column& c, const Literal& value) { return c <= value; });
  bind_comparison(column, "greater", [](const Column& c, const Literal& value) { return c > value; });
  bind_comparison(column, "greater_equal", [](const Column& c, const Literal& value) { return c >= value; });
  column.def(
      "between",
      [](const Column& self, nb::handle least, nb::handle most) {
        return self.between(literal(least, "a limit of a filter"), literal(most, "a limit of a filter"));
      },
      nb::arg("least").none(), nb::arg("most").none());
  column.def(
      "isin", [](const Column& self, nb::handle values) { return self.in(literals(values)); },
      nb::arg("values"));
  column.def("startswith", &Column::starts_with, nb::arg("prefix"));
  column.def("is_null", &Column::is_null);
  column.def("is_not_null", &Column::is_not_null);
  module.def("filter_of", &filter_of, nb::arg("index"), nb::arg("where").none());
  module.def("col", &col, nb::arg("attribute"));
  module.def("id_col", &id_col);
  module.def("ids_in", &ids_in, nb::arg("ids"), nb::arg("id_type"));
  module.def("ids_in_range", &ids_in_range, nb::arg("first"), nb::arg("last"), nb::arg("id_type"));
  module.def("ids_in_texts", &ids_in_texts, nb::arg("texts"));
  module.def("ids_in_bytes", &ids_in_bytes, nb::arg("bytes"), nb::arg("id_type"));
}

}  // namespace culmen::python
