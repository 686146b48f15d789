// Filters as Python states them.
#pragma once

#include <nanobind/nanobind.h>

#include "culmen/index.h"

namespace culmen::python {

// None, a Filter, a text for Index::filter, or a dict by name: of a value, of a pair (least, most) with None for no
// limit, of a list or set of values, or of None for rows without a value.
Filter filter_of(const Index& index, nanobind::handle where);

}  // namespace culmen::python
