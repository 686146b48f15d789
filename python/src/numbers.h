// Numbers of any Python type, with errors that name what they are for.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "culmen/filter.h"

namespace culmen::python {

namespace nb = nanobind;

// As repr, in letters that every message can hold.
std::string shown(nb::handle value);

// A real number. Passes on what the conversion of its type raises.
double number(nb::handle value, const char* what);

// For filters: a number, of which integers that int64 holds are not rounded, a text, a date or a timestamp.
Literal literal(nb::handle value, const char* what);

// Calls of users' code may change the dict meanwhile.
template <typename Use>
void for_each_item(const nb::dict& dict, Use use) {
  const nb::list items = dict.items();
  for (const nb::handle item : items) {
    const auto pair = nb::borrow<nb::tuple>(item);
    const nb::object name = pair[0], value = pair[1];
    use(name, value);
  }
}

}  // namespace culmen::python
