// How rows rank, by an index or by its copies on GPUs.
#pragma once

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "bindings.h"
#include "device_copy.h"
#include "gil.h"
#include "interrupt.h"
#include "queries.h"
#include "reports.h"

namespace culmen::python {

inline const Index& index_of(const Index& index) {
  return index;
}
template <typename Copy>
const Index& index_of(const Copy& copy) {
  return copy.index;
}

// What answers.
inline const Index& asked_of(const Index& index) {
  return index;
}
template <typename Copy>
const auto& asked_of(const Copy& copy) {
  return copy.on_gpu;
}

template <typename Any>
std::uint64_t count_above(const Any& any, nb::handle weights, nb::handle where, std::string_view scale,
                          std::string_view missing, std::string_view terms, double score) {
  const Query query = query_of(index_of(any), weights, 1, where, std::nullopt, scale, missing, terms);
  const SearchOptions options = {.on_progress = watched()};
  return without_gil([&] { return asked_of(any).count_above(query, score, options); });
}

template <typename Any>
nb::object rank_of(const Any& any, nb::handle weights, nb::handle where, std::string_view scale,
                   std::string_view missing, std::string_view terms, const GivenId& id) {
  const Query query = query_of(index_of(any), weights, 1, where, std::nullopt, scale, missing, terms);
  const SearchOptions options = {.on_progress = watched()};
  return report(without_gil([&] {
    return std::visit([&](const auto& given) { return asked_of(any).rank_of(query, given, options); }, id);
  }));
}

template <typename Any>
void bind_ranks(nb::class_<Any>& bound) {
  bound
      .def("count_above", count_above<Any>, nb::arg("weights"), nb::arg("where").none(), nb::arg("scale"),
           nb::arg("missing"), nb::arg("terms"), nb::arg("score"))
      .def("rank_of", rank_of<Any>, nb::arg("weights"), nb::arg("where").none(), nb::arg("scale"),
           nb::arg("missing"), nb::arg("terms"), nb::arg("id"));
}

}  // namespace culmen::python
