#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "arrow_table.h"
#include "base/suggestion.h"
#include "bindings.h"
#include "culmen/version.h"
#include "errors.h"
#include "gil.h"
#include "text_column.h"

NB_MODULE(_core, module) {
  namespace python = culmen::python;
  nanobind::set_leak_warnings(false);  // of what a daemon thread holds when the interpreter ends
  module.attr("version") = culmen::kVersion;
  module.def("did_you_mean", &culmen::did_you_mean, nanobind::arg("word"), nanobind::arg("known"));
  python::translate_errors();
  python::watch_for_the_end();
  python::bind_filters(module);
  python::bind_answers(module);
  python::bind_writes(module);
  python::bind_index(module);
  python::bind_device(module);
  python::bind_text_column(module);
  python::bind_arrow(module);
  python::bind_csv(module);
  python::bind_temporary_array(module);
  python::bind_shard_calls(module);
  python::bind_service(module);
}
