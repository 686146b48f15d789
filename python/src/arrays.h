// NumPy arrays of what C++ has computed.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace culmen::python {

namespace nb = nanobind;

// Takes the values over: the array owns them.
template <typename T, typename Allocator>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T, Allocator> values,
                                   std::initializer_list<std::size_t> shape) {
  using Values = std::vector<T, Allocator>;
  auto kept = std::make_unique<Values>(std::move(values));
  T* const data = kept->data();
  const nb::capsule owner(kept.release(), [](void* p) noexcept { delete static_cast<Values*>(p); });
  return nb::ndarray<nb::numpy, T>(data, shape, owner);
}

template <typename T, typename Allocator>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T, Allocator> values) {
  const std::size_t size = values.size();
  return to_numpy(std::move(values), {size});
}

}  // namespace culmen::python
