#include "arrow_table.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>

#include "arrays.h"
#include "culmen/error.h"

namespace culmen::python {
namespace {

bool is_set(const void* bits, std::int64_t i) {
  return (static_cast<const std::uint8_t*>(bits)[i / 8] >> (i % 8) & 1) != 0;
}

// Whether there is a value at `i`, counted with the array's offset.
bool has_value(const ArrowArray& array, std::int64_t i) {
  return array.null_count == 0 || array.n_buffers == 0 || array.buffers[0] == nullptr ||
         is_set(array.buffers[0], i);
}

template <typename T>
const T* buffer(const ArrowArray& array, std::int64_t which) {
  return static_cast<const T*>(array.buffers[which]);
}

// Text i of an array with offsets, counted with the array's offset.
template <typename Offset>
std::string_view text_at(const ArrowArray& array, std::int64_t i) {
  const Offset* const offsets = buffer<Offset>(array, 1);
  return {buffer<char>(array, 2) + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
}

// Of an array of views: 12 bytes in place, or a prefix with where the whole text is.
std::string_view viewed_text_at(const ArrowArray& array, std::int64_t i) {
  struct View {
    std::int32_t size;
    char start[4];
    std::int32_t which, offset;
  };
  const View& view = buffer<View>(array, 1)[i];
  const auto size = static_cast<std::size_t>(view.size);
  if (view.size <= 12) return {view.start, size};
  return {buffer<char>(array, 2 + view.which) + view.offset, size};
}

using TextAt = std::string_view (*)(const ArrowArray&, std::int64_t);

// Null: no texts.
TextAt text_reader(std::string_view format) {
  if (format == "u") return text_at<std::int32_t>;
  if (format == "U") return text_at<std::int64_t>;
  if (format == "vu") return viewed_text_at;
  return nullptr;
}

// Position i of a dictionary's indices.
std::int64_t index_at(const ArrowArray& array, std::string_view format, std::int64_t i) {
  switch (format.empty() ? '\0' : format[0]) {
    case 'c':
      return buffer<std::int8_t>(array, 1)[i];
    case 'C':
      return buffer<std::uint8_t>(array, 1)[i];
    case 's':
      return buffer<std::int16_t>(array, 1)[i];
    case 'S':
      return buffer<std::uint16_t>(array, 1)[i];
    case 'i':
      return buffer<std::int32_t>(array, 1)[i];
    case 'I':
      return buffer<std::uint32_t>(array, 1)[i];
    default:
      return buffer<std::int64_t>(array, 1)[i];
  }
}

nb::str to_str(std::string_view text) {
  PyObject* const object = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), nullptr);
  if (object == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(object);
}

void append_texts(const ArrowArray& batch, const ArrowArray& array, const ArrowSchema& schema,
                  nb::list& texts) {
  const bool is_dictionary = schema.dictionary != nullptr;
  const TextAt read = text_reader(is_dictionary ? schema.dictionary->format : schema.format);
  const std::int64_t first = batch.offset + array.offset;
  for (std::int64_t i = first; i < first + batch.length; ++i) {
    if (!has_value(array, i)) {
      texts.append(nb::none());
    } else if (is_dictionary) {
      texts.append(
          to_str(read(*array.dictionary, array.dictionary->offset + index_at(array, schema.format, i))));
    } else {
      texts.append(to_str(read(array, i)));
    }
  }
}

// What to do with a column of a type that is not taken.
std::string advice(std::string_view format) {
  if (format.starts_with("t"))
    return "turn dates and times into numbers, or leave them out with attributes=[...]";
  if (format.starts_with("d:")) return "cast decimals to float64, or leave them out with attributes=[...]";
  return "name the columns to rank by with attributes=[...]";
}

}  // namespace

ArrowTable::ArrowTable(const nb::capsule& capsule) {
  auto* const stream = static_cast<ArrowArrayStream*>(capsule.data("arrow_array_stream"));
  const auto check = [stream](int status) {
    if (status == 0) return;
    const char* const text = stream->get_last_error(stream);
    throw InputError(text != nullptr ? text : "the Arrow stream failed");
  };
  check(stream->get_schema(stream, schema_.get()));
  if (std::string_view(schema_->format) != "+s") throw InvalidArgument("the Arrow stream has no columns");
  for (;;) {
    auto batch = std::make_shared<Batch>();
    check(stream->get_next(stream, batch.get()));
    if (batch->release == nullptr) return;
    if (batch->length > 0) batches_.push_back(std::move(batch));
  }
}

std::size_t ArrowTable::num_rows() const {
  std::size_t num_rows = 0;
  for (const auto& batch : batches_) num_rows += static_cast<std::size_t>(batch->length);
  return num_rows;
}

std::vector<std::string> ArrowTable::names() const {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < schema_->n_children; ++i) names.emplace_back(schema_->children[i]->name);
  return names;
}

std::string ArrowTable::format(std::size_t column) const {
  return schema(column).dictionary != nullptr ? "dictionary" : schema(column).format;
}

template <typename T>
nb::object ArrowTable::numbers_of(std::size_t column) const {
  if (batches_.size() == 1) {
    const ArrowArray& array = *batches_[0]->children[column];
    auto kept = std::make_unique<std::shared_ptr<Batch>>(batches_[0]);
    const nb::capsule owner(kept.release(),
                            [](void* p) noexcept { delete static_cast<std::shared_ptr<Batch>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, const T>(buffer<T>(array, 1) + batches_[0]->offset + array.offset,
                                                    {static_cast<std::size_t>(batches_[0]->length)}, owner));
  }
  std::vector<T> values;
  values.reserve(num_rows());
  for (const auto& batch : batches_) {
    const ArrowArray& array = *batch->children[column];
    const T* const first = buffer<T>(array, 1) + batch->offset + array.offset;
    values.insert(values.end(), first, first + batch->length);
  }
  return nb::cast(to_numpy(std::move(values)));
}

nb::object ArrowTable::numbers(std::size_t column) const {
  if (schema(column).dictionary == nullptr) {
    const std::string_view format = schema(column).format;
    if (format == "c") return numbers_of<std::int8_t>(column);
    if (format == "C") return numbers_of<std::uint8_t>(column);
    if (format == "s") return numbers_of<std::int16_t>(column);
    if (format == "S") return numbers_of<std::uint16_t>(column);
    if (format == "i") return numbers_of<std::int32_t>(column);
    if (format == "I") return numbers_of<std::uint32_t>(column);
    if (format == "l") return numbers_of<std::int64_t>(column);
    if (format == "L") return numbers_of<std::uint64_t>(column);
    if (format == "e") return numbers_of<std::uint16_t>(column);  // the bits
    if (format == "f") return numbers_of<float>(column);
    if (format == "g") return numbers_of<double>(column);
    if (format == "b") {
      std::vector<std::int32_t> values;
      for (const auto& batch : batches_) {
        const ArrowArray& array = *batch->children[column];
        for (std::int64_t i = 0; i < batch->length; ++i)
          values.push_back(is_set(array.buffers[1], batch->offset + array.offset + i) ? 1 : 0);
      }
      return nb::cast(to_numpy(std::move(values)));
    }
  }
  throw InputError("the column \"" + std::string(schema(column).name) + "\" has Arrow's type \"" +
                   format(column) + "\", which is no number: " + advice(format(column)));
}

nb::list ArrowTable::texts(std::size_t column) const {
  const ArrowSchema& type = schema(column);
  if (text_reader(type.dictionary != nullptr ? type.dictionary->format : type.format) == nullptr)
    throw InputError("the column \"" + std::string(type.name) + "\" has Arrow's type \"" + format(column) +
                     "\", which is no text");
  nb::list texts;
  for (const auto& batch : batches_) append_texts(*batch, *batch->children[column], type, texts);
  return texts;
}

nb::object ArrowTable::gaps(std::size_t column) const {
  bool any = false;
  for (const auto& batch : batches_) any |= batch->children[column]->null_count != 0;
  if (!any) return nb::none();
  std::vector<std::uint8_t> gaps;
  gaps.reserve(num_rows());
  for (const auto& batch : batches_) {
    const ArrowArray& array = *batch->children[column];
    for (std::int64_t i = 0; i < batch->length; ++i)
      gaps.push_back(has_value(array, batch->offset + array.offset + i) ? 0 : 1);
  }
  return nb::cast(to_numpy(std::move(gaps)));
}

void bind_arrow(nb::module_& module) {
  nb::class_<ArrowTable>(module, "ArrowTable")
      .def(nb::init<const nb::capsule&>())
      .def_prop_ro("num_rows", &ArrowTable::num_rows)
      .def_prop_ro("names", &ArrowTable::names)
      .def("format", &ArrowTable::format)
      .def("numbers", &ArrowTable::numbers)
      .def("texts", &ArrowTable::texts)
      .def("gaps", &ArrowTable::gaps);
}

}  // namespace culmen::python
