#include "text_column.h"

#include <nanobind/stl/unique_ptr.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "base/temporary_files.h"
#include "bindings.h"
#include "culmen/error.h"
#include "table/csv_schema.h"
#include "text.h"

namespace culmen::python {
namespace {

bool misses_all(const TextColumn& column) {
  const TextView view = column.view();
  for (std::size_t row = 0; row < column.size(); ++row)
    if (!view.validity.is_missing(row)) return false;
  return true;
}

// NumPy's bool, true where a text is missing; None if none is.
nb::object gaps_of(const TextColumn& column) {
  const TextView view = column.view();
  std::vector<std::uint8_t> gaps(column.size());
  bool has_gaps = false;
  for (std::size_t row = 0; row < gaps.size(); ++row) {
    gaps[row] = view.validity.is_missing(row) ? 1 : 0;
    has_gaps = has_gaps || gaps[row] != 0;
  }
  return has_gaps ? nb::cast(to_numpy(std::move(gaps))).attr("view")("?") : nb::none();
}

nb::list to_list(const TextColumn& column) {
  const TextView view = column.view();
  nb::list texts;
  for (std::size_t row = 0; row < column.size(); ++row) {
    if (view.validity.is_missing(row)) {
      texts.append(nb::none());
    } else {
      const std::string_view text = view.texts[row];
      texts.append(nb::str(text.data(), text.size()));
    }
  }
  return texts;
}

}  // namespace

TextColumn::TextColumn(const std::shared_ptr<ArrayMemory>& memory)
    : texts_{{Array<char>(memory), Array<std::uint64_t>(1, memory)}, Array<std::uint8_t>(memory)} {}

TextColumn::TextColumn(Texts texts) : texts_(std::move(texts)) {
  if (texts_.texts.offsets.empty()) texts_.texts.offsets.push_back(0);  // of no rows
}

void TextColumn::add(std::string_view text) {
  const std::size_t row = size();
  texts_.texts.append(text);
  if (texts_.validity.empty()) return;
  texts_.validity.resize(row / 8 + 1);
  texts_.validity[row / 8] |= static_cast<std::uint8_t>(1 << row % 8);
}

void TextColumn::add_missing() {
  const std::size_t row = size();
  if (texts_.validity.empty()) {
    texts_.validity.assign(row / 8, 0xff);
    if (row % 8 != 0) texts_.validity.push_back(static_cast<std::uint8_t>((1 << row % 8) - 1));
  }
  texts_.validity.resize(row / 8 + 1);
  texts_.texts.append({});
}

void TextColumn::append(const TextColumn& other) {
  const TextView view = other.view();
  for (std::size_t row = 0; row < other.size(); ++row) {
    if (view.validity.is_missing(row)) {
      add_missing();
    } else {
      add(view.texts[row]);
    }
  }
}

void TextColumn::append_selected(const TextColumn& other, const Flags& keep) {
  if (keep.size() != other.size()) throw InvalidArgument("the rows to keep are not those of the column");
  const TextView view = other.view();
  for (std::size_t row = 0; row < other.size(); ++row) {
    if (!keep(row)) continue;
    if (view.validity.is_missing(row)) {
      add_missing();
    } else {
      add(view.texts[row]);
    }
  }
}

void append_list(TextColumn& column, const nb::list& texts) {
  for (const nb::handle text : texts) {
    if (text.is_none()) {
      column.add_missing();
      continue;
    }
    if (!PyUnicode_Check(text.ptr())) throw InvalidArgument("a text column holds something else");
    Py_ssize_t size = 0;
    const char* const bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (bytes == nullptr) {
      PyErr_Clear();
      throw RowError(column.size(), "a text is no Unicode: it has half of a surrogate pair");
    }
    column.add({bytes, static_cast<std::size_t>(size)});
  }
}

void bind_text_column(nb::module_& module) {
  nb::class_<TextColumn>(module, "TextColumn")
      .def(
          "__init__",
          [](TextColumn* column, const nb::bytes& temp_directory) {
            new (column) TextColumn(temporary_files(path_of(temp_directory)));
          },
          nb::arg("temp_directory") = nb::bytes(""))
      .def("__len__", &TextColumn::size)
      .def("append_list", append_list)
      .def("append", &TextColumn::append)
      .def("selected",
           [](const TextColumn& column, const Flags& keep) {
             auto kept = std::make_unique<TextColumn>();
             kept->append_selected(column, keep);
             return kept;
           })
      .def("to_list", to_list)
      .def("__getstate__", [](const TextColumn& column) { return nb::make_tuple(to_list(column)); })
      .def("__setstate__",
           [](TextColumn& column, const nb::tuple& state) {
             new (&column) TextColumn();
             append_list(column, nb::cast<nb::list>(state[0]));
           })
      .def("misses_all", misses_all)
      .def("gaps", gaps_of)
      .def("is_nearly_unique",
           [](const TextColumn& column) { return io::is_nearly_unique(column.view().texts); });
}

}  // namespace culmen::python
