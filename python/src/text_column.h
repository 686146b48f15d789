// A column of texts on its way into an index, some of which may be missing.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "culmen/table.h"

namespace culmen::python {

namespace nb = nanobind;

// NumPy's bool.
using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

class TextColumn {
 public:
  // memory: of the texts; null: the heap.
  explicit TextColumn(const std::shared_ptr<ArrayMemory>& memory = nullptr);
  explicit TextColumn(Texts texts);

  void add(std::string_view text);
  void add_missing();
  void append(const TextColumn& other);
  void append_selected(const TextColumn& other, const Flags& keep);

  std::size_t size() const { return texts_.texts.offsets.size() - 1; }
  TextView view() const { return texts_.view(); }

 private:
  Texts texts_;
};

// Adds Python's texts; None is a missing one. Throws InvalidArgument for other objects.
void append_list(TextColumn& column, const nb::list& texts);

void bind_text_column(nb::module_& module);

}  // namespace culmen::python
