// Arrays in temporary files, for columns that may be larger than memory.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>

#include "arrays.h"
#include "base/temporary_files.h"
#include "bindings.h"
#include "culmen/array.h"
#include "text.h"

namespace culmen::python {

void bind_temporary_array(nb::module_& module) {
  module.def(
      "temporary_array",
      [](const nb::bytes& directory, std::size_t num_bytes) {
        return to_numpy(Array<std::uint8_t>(num_bytes, temporary_files(path_of(directory))));
      },
      nb::arg("directory"), nb::arg("num_bytes"));
}

}  // namespace culmen::python
