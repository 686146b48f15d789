// What the operating system calls text: paths, and messages that name them.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace culmen::python {

namespace nb = nanobind;

// Bytes that are no UTF-8 become what os.fsdecode makes of them.
inline nb::str system_text(std::string_view bytes) {
  PyObject* const text =
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape");
  if (text == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(text);
}

// A path as os.fsencode gives it.
inline std::string path_of(const nb::bytes& path) {
  return {path.c_str(), path.size()};
}

}  // namespace culmen::python
