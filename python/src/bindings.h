// The parts of the extension module culmen._core, which only the package's own Python files use.
#pragma once

#include <nanobind/nanobind.h>

namespace culmen::python {

void bind_answers(nanobind::module_& module);
void bind_filters(nanobind::module_& module);
void bind_index(nanobind::module_& module);
void bind_service(nanobind::module_& module);
void bind_writes(nanobind::module_& module);
void bind_device(nanobind::module_& module);
void bind_csv(nanobind::module_& module);
void bind_temporary_array(nanobind::module_& module);
void bind_shard_calls(nanobind::module_& module);

}  // namespace culmen::python
