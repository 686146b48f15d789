// Writes the attributes of tables as NPY: row-major float32 if all columns are float32, else float64.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "base/exact_integer.h"
#include "culmen/error.h"
#include "table/write_rows.h"

namespace culmen::io {
namespace {

static_assert(std::endian::native == std::endian::little, "NPY values are written as they are in memory");

double load_as_double(const Table& table, std::size_t column, std::size_t row) {
  const ColumnView& view = table.columns[column];
  if (view.validity.is_missing(row)) return std::numeric_limits<double>::quiet_NaN();
  switch (view.type) {
    case ElementType::float32:
      return load<float>(view, row);
    case ElementType::float64:
      return load<double>(view, row);
    case ElementType::int32:
      return load<std::int32_t>(view, row);
    case ElementType::int64:
      break;
  }
  const std::int64_t value = load<std::int64_t>(view, row);
  if (!is_exact_in_float64(value)) {
    throw InvalidArgument("row " + std::to_string(row + 1) + ", attribute \"" +
                          table.attributes[column].name + "\": " + std::to_string(value) +
                          " is an integer that float64 cannot hold exactly; write CSV");
  }
  return static_cast<double>(value);
}

template <typename T>
void append_bytes(T value, std::string& bytes) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes.append(raw, sizeof(T));
}

bool all_float32(const Table& table) {
  return std::all_of(table.columns.begin(), table.columns.end(), [](const ColumnView& column) {
    return column.type == ElementType::float32 && column.validity.bits == nullptr;
  });
}

// Version 1.0: magic, 16-bit length of the text, and the text, padded so that the values start at a multiple of 64.
std::string npy_header(const Table& table, const char* element) {
  constexpr std::size_t kPreambleBytes = 10;
  constexpr std::size_t kAlignment = 64;
  std::string text = "{'descr': '" + std::string(element) + "', 'fortran_order': False, 'shape': (" +
                     std::to_string(table.num_rows) + ", " + std::to_string(table.columns.size()) + "), }";
  while ((kPreambleBytes + text.size() + 1) % kAlignment != 0) text.push_back(' ');
  text.push_back('\n');

  std::string header("\x93NUMPY\x01\x00", 8);
  append_bytes(static_cast<std::uint16_t>(text.size()), header);
  return header + text;
}

void append_npy_rows(const Table& table, bool as_float32, std::size_t first, std::size_t end,
                     std::string& bytes) {
  bytes.reserve((end - first) * table.columns.size() * (as_float32 ? sizeof(float) : sizeof(double)));
  for (std::size_t row = first; row < end; ++row) {
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      if (as_float32) {
        append_bytes(load<float>(table.columns[column], row), bytes);
      } else {
        append_bytes(load_as_double(table, column, row), bytes);
      }
    }
  }
}

}  // namespace

void write_npy(const Table& table, OutputFile& output) {
  const bool as_float32 = all_float32(table);
  output.write(npy_header(table, as_float32 ? "<f4" : "<f8"));
  const auto format = [&](std::size_t first, std::size_t end, std::string& bytes) {
    append_npy_rows(table, as_float32, first, end, bytes);
  };
  write_rows(table.num_rows, table.columns.size(), format, output);
}

}  // namespace culmen::io
