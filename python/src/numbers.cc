#include "numbers.h"

#include <nanobind/stl/string.h>

#include <optional>
#include <string_view>

#include "culmen/error.h"

namespace culmen::python {
namespace {

// Complex numbers of NumPy can turn themselves into floats, without their imaginary parts.
bool is_complex(nb::handle value) {
  return PyComplex_Check(value.ptr()) ||
         nb::isinstance(value, nb::module_::import_("numpy").attr("complexfloating"));
}

// Neither a float nor an int: runs the code of its type, and passes on what that raises.
double converted(nb::handle value, const char* what) {
  if (is_complex(value))
    throw nb::type_error((std::string(what) + " is complex, not a real number: " + shown(value)).c_str());
  if (!nb::hasattr(value.type(), "__float__") && !nb::hasattr(value.type(), "__index__"))
    throw InvalidArgument(std::string(what) + " is not a number: " + shown(value));
  const double result = PyFloat_AsDouble(value.ptr());
  if (result == -1.0 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return result;
}

// Of a date, a timestamp or a UUID, of Python, NumPy or pandas.
std::optional<std::string> text_of_value(nb::handle value) {
  if (PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr())) return {};
  const nb::object text = nb::module_::import_("culmen._times").attr("text_of_value")(value);
  if (text.is_none()) return {};
  return nb::cast<std::string>(text);
}

// A decimal or a fraction that is an integer of 64 bits.
std::optional<std::int64_t> whole_number(nb::handle value) {
  const nb::object integer = nb::module_::import_("culmen._numbers").attr("as_integer")(value);
  if (integer.is_none()) return {};
  return nb::cast<std::int64_t>(integer);
}

void refuse_what_is_no_value(nb::handle value, const char* what) {
  if (value.is_none() || std::string_view(nb::inst_name(value).c_str()).ends_with("NAType"))
    throw InvalidArgument(std::string(what) + " is " + shown(value) +
                          ": is_null() finds the rows without a value");
  if (nb::isinstance(value, nb::module_::import_("culmen._filters").attr("Column")))
    throw InvalidArgument(std::string(what) + " is a column: columns are compared with values");
}

}  // namespace

std::string shown(nb::handle value) {
  const nb::object text = nb::steal(PyObject_ASCII(value.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  return nb::cast<std::string>(text);
}

double number(nb::handle value, const char* what) {
  if (!PyFloat_Check(value.ptr()) && !PyLong_Check(value.ptr())) return converted(value, what);
  const double result = PyFloat_AsDouble(value.ptr());
  if (result != -1.0 || PyErr_Occurred() == nullptr) return result;
  PyErr_Clear();
  throw InvalidArgument(std::string(what) + " is not a number that float64 can hold: " + shown(value));
}

Literal literal(nb::handle value, const char* what) {
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  if (PyFloat_CheckExact(value.ptr())) return number(value, what);
  if (!PyLong_Check(value.ptr())) refuse_what_is_no_value(value, what);
  if (const std::optional<std::string> text = text_of_value(value)) return *text;
  const bool is_int =
      PyLong_Check(value.ptr()) ||
      (!PyFloat_Check(value.ptr()) && nb::isinstance(value, nb::module_::import_("numpy").attr("integer")));
  if (!is_int) {
    if (const std::optional<std::int64_t> whole = whole_number(value)) return *whole;
    return number(value, what);
  }
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long integer = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow > 0) {
    const unsigned long long large = PyLong_AsUnsignedLongLong(index.ptr());
    if (PyErr_Occurred() == nullptr) return LargeInteger{large};
    PyErr_Clear();
  }
  if (overflow != 0) return number(index, what);
  return std::int64_t{integer};
}

}  // namespace culmen::python
