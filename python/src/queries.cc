#include "queries.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <string>
#include <utility>

#include "culmen/error.h"
#include "names.h"

namespace culmen::python {
namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;

// repr() in ASCII, which every error text can hold.
std::string shown(nb::handle value) {
  const nb::object text = nb::steal(PyObject_ASCII(value.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  return nb::cast<std::string>(text);
}

// NumPy converts complex numbers to floats and drops their imaginary parts.
bool is_complex(nb::handle value) {
  return PyComplex_Check(value.ptr()) ||
         nb::isinstance(value, nb::module_::import_("numpy").attr("complexfloating"));
}

// For other types than float and int: runs the conversion of the type and propagates what it raises.
double converted(nb::handle value, const char* what) {
  if (is_complex(value))
    throw nb::type_error((std::string(what) + " is complex, not a real number: " + shown(value)).c_str());
  if (!nb::hasattr(value.type(), "__float__") && !nb::hasattr(value.type(), "__index__"))
    throw InvalidArgument(std::string(what) + " is not a number: " + shown(value));
  const double result = PyFloat_AsDouble(value.ptr());
  if (result == -1.0 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return result;
}

double number(nb::handle value, const char* what) {
  if (!PyFloat_Check(value.ptr()) && !PyLong_Check(value.ptr())) return converted(value, what);
  const double result = PyFloat_AsDouble(value.ptr());
  if (result != -1.0 || PyErr_Occurred() == nullptr) return result;
  PyErr_Clear();
  throw InvalidArgument(std::string(what) + " is not a number that float64 can hold: " + shown(value));
}

// Iterates over a copy of the items, because conversions run user code that may change the dict.
template <typename Use>
void for_each_item(const nb::dict& dict, Use use) {
  const nb::list items = dict.items();
  for (const nb::handle item : items) {
    const auto pair = nb::borrow<nb::tuple>(item);
    const nb::object name = pair[0], value = pair[1];
    use(name, value);
  }
}

std::vector<double> named_weights(const Index& index, const nb::dict& named) {
  std::vector<std::pair<std::string, double>> pairs;
  pairs.reserve(named.size());
  for_each_item(named, [&](const nb::object& name, const nb::object& weight) {
    if (!nb::isinstance<nb::str>(name))
      throw InvalidArgument("weights are named by attributes, that is by text");
    pairs.emplace_back(nb::cast<std::string>(name), number(weight, "a weight"));
  });
  return index.weights(pairs);
}

// None means no limit.
double limit(nb::handle value, double none) {
  return value.is_none() ? none : number(value, "a limit of a filter");
}

Range range_of(nb::handle name, nb::handle condition) {
  if (!nb::isinstance<nb::str>(name)) throw InvalidArgument("a filter names attributes, that is by text");
  Range range;
  range.attribute = nb::cast<std::string>(name);
  const bool is_pair = nb::isinstance<nb::tuple>(condition) || nb::isinstance<nb::list>(condition);
  if (!is_pair) {
    range.minimum = range.maximum = number(condition, "a condition of a filter");
    return range;
  }
  if (nb::len(condition) != 2)
    throw InvalidArgument(
        "a condition of a filter is a number or a pair (least, most), with None for no limit");
  const nb::object least = condition[0], most = condition[1];
  range.minimum = limit(least, range.minimum);
  range.maximum = limit(most, range.maximum);
  if (range.minimum > range.maximum)
    throw InvalidArgument("no number is in the range of a filter, " + shown(condition) +
                          ": it is a pair (least, most)");
  return range;
}

}  // namespace

std::vector<double> weights_of(const Index& index, nb::handle weights) {
  if (nb::isinstance<nb::dict>(weights)) return named_weights(index, nb::borrow<nb::dict>(weights));
  Vector array;
  if (nb::try_cast(weights, array, false)) {
    std::vector<double> values(array.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = array(i);
    return values;
  }
  if (!nb::hasattr(weights, "__iter__"))
    throw InvalidArgument(
        "weights are a dict of numbers by name, one number an attribute, or a matrix [queries, "
        "attributes]");
  std::vector<double> values;
  for (const nb::handle weight : nb::iter(weights)) values.push_back(number(weight, "a weight"));
  return values;
}

Filter filter_of(const Index& index, nb::handle where) {
  if (where.is_none()) return {};
  if (nb::isinstance<nb::str>(where)) return index.filter(nb::cast<std::string_view>(where));
  if (!nb::isinstance<nb::dict>(where))
    throw InvalidArgument(
        "a filter is a text such as \"price<=200 and stars>=4\", or a dict such as "
        "{\"price\": (None, 200)}");
  Filter filter;
  for_each_item(nb::borrow<nb::dict>(where), [&](const nb::object& name, const nb::object& condition) {
    filter.push_back(range_of(name, condition));
  });
  return filter;
}

Query query_of(const Index& index, nb::handle weights, std::optional<std::size_t> k, nb::handle where,
               std::optional<double> min_score, std::string_view scale) {
  return {.weights = weights_of(index, weights),
          .k = k,
          .where = filter_of(index, where),
          .min_score = min_score,
          .scale = kScales.parse(scale)};
}

MatrixQuery matrix_query_of(const Index& index, const Matrix& weights, std::optional<std::size_t> k,
                            nb::handle where, std::optional<double> min_score, std::string_view scale) {
  const std::size_t width = index.info().attributes.size();
  if (weights.shape(1) != width)
    throw InvalidArgument("the matrix of weights has " + std::to_string(weights.shape(1)) + " columns for " +
                          std::to_string(width) + " attributes");
  return {{.weights = std::span(weights.data(), weights.size()),
           .k = k.value_or(0),
           .where = filter_of(index, where),
           .min_score = min_score,
           .scale = kScales.parse(scale)},
          k.has_value()};
}

}  // namespace culmen::python
