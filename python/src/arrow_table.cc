#include "arrow_table.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
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

// Of an array of 16 bytes each, as RFC 9562 writes it.
std::string uuid_at(const ArrowArray& array, std::int64_t i) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::uint8_t* const bytes = buffer<std::uint8_t>(array, 1) + i * 16;
  std::string text;
  for (int byte = 0; byte < 16; ++byte) {
    if (byte == 4 || byte == 6 || byte == 8 || byte == 10) text += '-';
    text += kDigits[bytes[byte] >> 4];
    text += kDigits[bytes[byte] & 15];
  }
  return text;
}

// A key of a type's metadata, which are pairs of a key and a value, each behind its length; the first int32 counts them.
std::string_view metadata_of(const ArrowSchema& type, std::string_view wanted) {
  if (type.metadata == nullptr) return {};
  const char* at = type.metadata;
  const auto number = [&] {
    std::int32_t value;
    std::memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
  };
  const auto text = [&] {
    const auto size = static_cast<std::size_t>(number());
    const std::string_view taken(at, size);
    at += size;
    return taken;
  };
  for (std::int32_t left = number(); left > 0; --left) {
    const std::string_view key = text(), value = text();
    if (key == wanted) return value;
  }
  return {};
}

constexpr std::string_view kUuids = "uuid";

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

// A column's type, for messages.
std::string_view kind_of(std::string_view format) {
  if (format.starts_with("tt")) return "times of day";
  if (format.starts_with("tD")) return "durations";
  if (format.starts_with("ti")) return "intervals";
  if (format.starts_with("+l") || format.starts_with("+L") || format.starts_with("+v") ||
      format.starts_with("+w"))
    return "lists";
  if (format == "+m") return "maps";
  if (format == "+r") return "run-end encoded values";
  if (format.starts_with("+u")) return "values of several types (a union)";
  if (format.starts_with("_pli128") || format.starts_with("_plu128")) return "integers of 128 bits";
  if (format.starts_with("+s")) return "structs";
  if (format == "z" || format == "Z" || format == "vz" || format.starts_with("w:")) return "bytes";
  return {};
}

std::string_view advice_for(std::string_view format) {
  if (format.starts_with("tt") || format.starts_with("tD")) return "turn them into numbers";
  if (format == "z" || format == "Z" || format == "vz" || format == "+r") return "decode them";
  if (format.starts_with("_pl")) return "cast the column to Int64 or Float64";
  return "turn them into columns of numbers or texts";
}

[[noreturn]] void refuse(std::string_view name, std::string_view format) {
  const std::string_view kind = kind_of(format);
  throw InputError("column '" + std::string(name) + "' holds " +
                   (kind.empty() ? "Arrow's type \"" + std::string(format) + "\"" : std::string(kind)) +
                   ", which culmen does not keep: " + std::string(advice_for(format)) +
                   ", or name the columns to keep with columns=[...]");
}

struct DecimalFormat {
  int scale = 0;
  int bytes = 16;
};

// "d:precision,scale" or "d:precision,scale,bits"
DecimalFormat decimal_format(std::string_view format) {
  DecimalFormat result;
  const std::size_t comma = format.find(',');
  const std::size_t second = format.find(',', comma + 1);
  result.scale = std::stoi(std::string(format.substr(comma + 1, second - comma - 1)));
  if (second != std::string_view::npos) result.bytes = std::stoi(std::string(format.substr(second + 1))) / 8;
  return result;
}

// Without its scale; nullopt beyond 128 bits.
std::optional<__int128> decimal_digits(const std::uint8_t* bytes, int size) {
  __int128 value = 0;
  const int used = std::min(size, 16);
  for (int i = 0; i < used; ++i)
    value |= static_cast<__int128>(static_cast<unsigned __int128>(bytes[i]) << 8 * i);
  const int unused_bits = 128 - 8 * used;
  value = static_cast<__int128>(static_cast<unsigned __int128>(value) << unused_bits) >> unused_bits;
  for (int i = used; i < size; ++i)
    if (bytes[i] != (value < 0 ? 0xff : 0)) return {};
  return value;
}

// Of up to 15 digits, which float64 gives back; nullopt for more.
std::optional<double> decimal_number(const std::uint8_t* bytes, DecimalFormat format) {
  constexpr std::int64_t kTooLarge = 1'000'000'000'000'000;
  std::optional<__int128> value = decimal_digits(bytes, format.bytes);
  if (!value) return {};
  while (format.scale > 0 && (*value >= kTooLarge || *value <= -kTooLarge) && *value % 10 == 0) {
    *value /= 10;
    --format.scale;
  }
  if (*value >= kTooLarge || *value <= -kTooLarge) return {};
  const std::string text =
      std::to_string(static_cast<std::int64_t>(*value)) + "e" + std::to_string(-format.scale);
  double result = 0;
  std::from_chars(text.data(), text.data() + text.size(), result);
  return result;
}

// Of a type without digits after the point; nullopt beyond 64 bits.
std::optional<std::int64_t> decimal_integer(const std::uint8_t* bytes, DecimalFormat format) {
  std::optional<__int128> value = decimal_digits(bytes, format.bytes);
  const auto fits = [&] { return value && *value == static_cast<std::int64_t>(*value); };
  for (; format.scale < 0 && fits(); ++format.scale) *value *= 10;
  if (!fits()) return {};
  return static_cast<std::int64_t>(*value);
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
  if (is_one_column()) return {""};
  for (std::int64_t i = 0; i < schema_->n_children; ++i) names.emplace_back(schema_->children[i]->name);
  return names;
}

std::string ArrowTable::format(std::size_t column) const {
  const ArrowSchema& type = schema(column);
  if (std::string_view(type.format) == "w:16" && metadata_of(type, "ARROW:extension:name") == "arrow.uuid")
    return std::string(kUuids);
  return type.dictionary != nullptr ? type.dictionary->format : type.format;
}

template <typename Use>
void ArrowTable::for_each_value(std::size_t column, Use use) const {
  const ArrowSchema& type = schema(column);
  for (const auto& batch : batches_) {
    const ArrowArray& values = array(*batch, column);
    const std::int64_t first = first_of(*batch, column);
    for (std::int64_t i = first; i < first + batch->length; ++i) {
      if (!has_value(values, i)) {
        use(nullptr, std::int64_t{0});
      } else if (type.dictionary == nullptr) {
        use(&values, i);
      } else {
        const std::int64_t at = values.dictionary->offset + index_at(values, type.format, i);
        use(has_value(*values.dictionary, at) ? values.dictionary : nullptr, at);
      }
    }
  }
}

template <typename T>
nb::object ArrowTable::numbers_of(std::size_t column) const {
  const bool is_dictionary = schema(column).dictionary != nullptr;
  if (batches_.size() == 1 && !is_dictionary) {
    const Batch& batch = *batches_[0];
    auto kept = std::make_unique<std::shared_ptr<Batch>>(batches_[0]);
    const nb::capsule owner(kept.release(),
                            [](void* p) noexcept { delete static_cast<std::shared_ptr<Batch>*>(p); });
    return nb::cast(
        nb::ndarray<nb::numpy, const T>(buffer<T>(array(batch, column), 1) + first_of(batch, column),
                                        {static_cast<std::size_t>(batch.length)}, owner));
  }
  std::vector<T> values;
  values.reserve(num_rows());
  if (is_dictionary) {
    for_each_value(column, [&](const ArrowArray* from, std::int64_t i) {
      values.push_back(from == nullptr ? T{} : buffer<T>(*from, 1)[i]);
    });
    return nb::cast(to_numpy(std::move(values)));
  }
  for (const auto& batch : batches_) {
    const T* const first = buffer<T>(array(*batch, column), 1) + first_of(*batch, column);
    values.insert(values.end(), first, first + batch->length);
  }
  return nb::cast(to_numpy(std::move(values)));
}

nb::object ArrowTable::booleans(std::size_t column) const {
  std::vector<std::int32_t> values;
  values.reserve(num_rows());
  for_each_value(column, [&](const ArrowArray* from, std::int64_t i) {
    values.push_back(from != nullptr && is_set(from->buffers[1], i) ? 1 : 0);
  });
  return nb::cast(to_numpy(std::move(values)));
}

template <typename T, typename Read>
nb::object ArrowTable::decimals_of(std::size_t column, std::string_view name, Read read,
                                   std::string_view problem) const {
  const DecimalFormat decimal = decimal_format(format(column));
  std::vector<T> values;
  values.reserve(num_rows());
  for_each_value(column, [&](const ArrowArray* from, std::int64_t i) {
    const std::optional<T> value = from == nullptr
                                       ? std::optional(T{})
                                       : read(buffer<std::uint8_t>(*from, 1) + i * decimal.bytes, decimal);
    if (!value)
      throw RowError(values.size(), "column '" + std::string(name) + "' has " + std::string(problem) +
                                        ": cast the column to float64 if that is fine");
    values.push_back(*value);
  });
  return nb::cast(to_numpy(std::move(values)));
}

nb::object ArrowTable::decimals(std::size_t column, std::string_view name) const {
  if (decimal_format(format(column)).scale <= 0)
    return decimals_of<std::int64_t>(column, name, decimal_integer, "an integer beyond 2^63");
  return decimals_of<double>(column, name, decimal_number,
                             "a decimal of more than 15 digits, which float64 would round");
}

nb::object ArrowTable::numbers(std::size_t column, std::string_view name) const {
  const std::string format = this->format(column);
  if (format == "c") return numbers_of<std::int8_t>(column);
  if (format == "C") return numbers_of<std::uint8_t>(column);
  if (format == "s") return numbers_of<std::int16_t>(column);
  if (format == "S") return numbers_of<std::uint16_t>(column);
  if (format == "i" || format == "tdD") return numbers_of<std::int32_t>(column);
  if (format == "I") return numbers_of<std::uint32_t>(column);
  if (format == "l" || format == "tdm" || format.starts_with("ts")) return numbers_of<std::int64_t>(column);
  if (format == "L") return numbers_of<std::uint64_t>(column);
  if (format == "e") return numbers_of<std::uint16_t>(column);  // the bits
  if (format == "f") return numbers_of<float>(column);
  if (format == "g") return numbers_of<double>(column);
  if (format == "b") return booleans(column);
  if (format.starts_with("d:")) return decimals(column, name);
  refuse(name, format);
}

std::unique_ptr<TextColumn> ArrowTable::texts(std::size_t column) const {
  const bool has_uuids = format(column) == kUuids;
  const TextAt read = text_reader(format(column));
  if (read == nullptr && !has_uuids) throw InvalidArgument("a column of texts holds something else");
  auto texts = std::make_unique<TextColumn>();
  for_each_value(column, [&](const ArrowArray* from, std::int64_t i) {
    if (from == nullptr) {
      texts->add_missing();
    } else if (has_uuids) {
      texts->add(uuid_at(*from, i));
    } else {
      texts->add(read(*from, i));
    }
  });
  return texts;
}

nb::object ArrowTable::gaps(std::size_t column) const {
  const auto may_miss = [](const ArrowArray& values) { return values.null_count != 0; };
  const bool any = std::ranges::any_of(batches_, [&](const auto& batch) {
    const ArrowArray& values = array(*batch, column);
    return may_miss(values) || (values.dictionary != nullptr && may_miss(*values.dictionary));
  });
  if (!any) return nb::none();
  std::vector<std::uint8_t> gaps;
  gaps.reserve(num_rows());
  for_each_value(
      column, [&](const ArrowArray* from, std::int64_t /*i*/) { gaps.push_back(from == nullptr ? 1 : 0); });
  if (std::ranges::find(gaps, 1) == gaps.end()) return nb::none();
  return nb::cast(to_numpy(std::move(gaps))).attr("view")("?");
}

void bind_arrow(nb::module_& module) {
  nb::class_<ArrowTable>(module, "ArrowTable")
      .def(nb::init<const nb::capsule&>())
      .def_prop_ro("num_rows", &ArrowTable::num_rows)
      .def_prop_ro("names", &ArrowTable::names)
      .def_prop_ro("is_one_column", &ArrowTable::is_one_column)
      .def("format", &ArrowTable::format)
      .def("numbers", &ArrowTable::numbers)
      .def("texts", &ArrowTable::texts)
      .def("gaps", &ArrowTable::gaps);
}

}  // namespace culmen::python
