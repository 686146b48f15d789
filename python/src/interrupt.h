// Ctrl-C within long calls, which release the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <functional>
#include <thread>

#include "gil.h"

namespace culmen::python {

// With the GIL. Throws what a signal's handler raised: KeyboardInterrupt for Ctrl-C, in the main thread.
inline void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

// For SearchOptions: looks for signals, which only the main thread gets, and calls progress("searching", the part of the
// queries that is answered) unless it is None.
inline std::function<void(std::size_t, std::size_t)> watched(nanobind::handle progress = nanobind::none()) {
  const bool reports = !progress.is_none();
  if (!reports && std::this_thread::get_id() != main_thread) return {};
  return [progress, reports](std::size_t answered, std::size_t queries) {
    const GilAcquired acquired;
    check_signals();
    if (reports) progress("searching", static_cast<double>(answered) / static_cast<double>(queries));
  };
}

}  // namespace culmen::python
