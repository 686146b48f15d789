// Filters as Python states them.
#pragma once

#include <nanobind/nanobind.h>

#include "culmen/index.h"

namespace culmen::python {

// None, a Filter, a text for Index::filter, or a dict by name: of a number, of a pair (least, most) with None for no
// limit, or of a list or set of numbers.
Filter filter_of(const Index& index, nanobind::handle where);

}  // namespace culmen::python
