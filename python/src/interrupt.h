// Ctrl-C within long calls, which release the GIL.
#pragma once

#include <nanobind/nanobind.h>

namespace culmen::python {

// With the GIL. Throws what a signal's handler raised: KeyboardInterrupt for Ctrl-C, in the main thread.
inline void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

}  // namespace culmen::python
