#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tbb/parallel_pipeline.h>

#include "base/descriptor.h"
#include "base/floating_point_scope.h"
#include "culmen/error.h"
#include "culmen/table_io.h"

namespace culmen {
namespace {

static_assert(std::endian::native == std::endian::little, "NPY values are written as they stand in memory");

constexpr std::size_t kChunkCells = 1 << 14;
constexpr std::int64_t kMaxExactInteger = std::int64_t{1} << 53;

[[noreturn]] void throw_io_error(const std::string& path, const char* what, int error) {
  throw IoError("cannot " + std::string(what) + " " + path + ": " + std::generic_category().message(error));
}

// Standard output, or a file that appears under its name only by commit(): until then it is a sibling that
// the destructor removes. The data is handed to the operating system, not forced to the disk.
class Output {
 public:
  explicit Output(const std::string& path) : path_(path) {
    if (path_ == "-") {
      path_ = "standard output";
      descriptor_ = STDOUT_FILENO;
    } else {
      open_sibling();
    }
  }
  ~Output() {
    if (temporary_path_.empty()) return;
    if (descriptor_ >= 0) ::close(descriptor_);
    ::unlink(temporary_path_.c_str());
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t num_written = ::write(descriptor_, bytes.data(), bytes.size());
      if (num_written >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(num_written));
      } else if (errno != EINTR) {
        throw_io_error(path_, "write", errno);
      }
    }
  }

  void commit() {
    if (temporary_path_.empty()) return;
    if (::close(std::exchange(descriptor_, -1)) != 0) throw_io_error(path_, "write", errno);
    if (std::rename(temporary_path_.c_str(), path_.c_str()) != 0) throw_io_error(path_, "write", errno);
    temporary_path_.clear();
  }

 private:
  // Numbered within the process, so that two threads that write one path do not meet; a leftover of an
  // earlier process of the same number is stepped over.
  void open_sibling() {
    static std::atomic<std::uint64_t> next_number{0};
    do {
      temporary_path_ =
          path_ + "." + std::to_string(::getpid()) + "-" + std::to_string(next_number++) + ".tmp";
      descriptor_ = above_standard_streams(
          ::open(temporary_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    } while (descriptor_ < 0 && errno == EEXIST);
    if (descriptor_ < 0) throw_io_error(path_, "create", errno);
  }

  std::string path_;            // as errors name it
  std::string temporary_path_;  // empty: standard output, or committed
  int descriptor_ = -1;
};

struct Chunk {
  std::size_t first_row = 0;
  std::size_t end_row = 0;
  std::string bytes;
};

// Calls format(first row, end row, bytes) for pieces of the table in parallel and writes the bytes in order.
//
// The chunks are a ring: the last stage runs in order, so when the pipeline lets another one in, the oldest
// is free.
template <typename Format>
void write_rows(std::size_t num_rows, std::size_t num_columns, const Format& format, Output& output) {
  const std::size_t chunk_rows = std::max<std::size_t>(1, kChunkCells / num_columns);
  std::vector<Chunk> ring(std::size_t{4} * std::max(1u, std::thread::hardware_concurrency()));
  std::size_t next_row = 0;
  std::size_t num_taken = 0;
  const auto take_rows = [&](tbb::flow_control& control) -> Chunk* {
    if (next_row == num_rows) {
      control.stop();
      return nullptr;
    }
    Chunk& chunk = ring[num_taken++ % ring.size()];
    chunk.first_row = next_row;
    chunk.end_row = next_row += std::min(chunk_rows, num_rows - next_row);
    return &chunk;
  };
  const auto format_rows = [&](Chunk* chunk) {
    const FloatingPointScope floating_point;
    chunk->bytes.clear();
    format(chunk->first_row, chunk->end_row, chunk->bytes);
    return chunk;
  };
  const auto write_bytes = [&](Chunk* chunk) { output.write(chunk->bytes); };
  tbb::parallel_pipeline(ring.size(),
                         tbb::make_filter<void, Chunk*>(tbb::filter_mode::serial_in_order, take_rows) &
                             tbb::make_filter<Chunk*, Chunk*>(tbb::filter_mode::parallel, format_rows) &
                             tbb::make_filter<Chunk*, void>(tbb::filter_mode::serial_in_order, write_bytes));
}

template <Element T>
T load(const ColumnView& column, std::size_t row) {
  T value;
  std::memcpy(&value, column.data + static_cast<std::ptrdiff_t>(row) * column.stride_bytes, sizeof(T));
  return value;
}

template <typename Number>
void append_digits(Number value, std::string& text) {
  char digits[32];  // "-2.2250738585072014e-308" has 24
  text.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

// 1999 -> "19.99", 1950 -> "19.5"
void append_hundredths(std::int64_t hundredths, std::string& text) {
  if (hundredths < 0) text.push_back('-');
  const std::int64_t size = std::abs(hundredths);
  append_digits(size / 100, text);
  text.push_back('.');
  text.push_back(static_cast<char>('0' + size / 10 % 10));
  if (size % 10 != 0) text.push_back(static_cast<char>('0' + size % 10));
}

// Whole numbers as such, 100000 and not 1e+05, which costs a character at most; -0 keeps its sign. Prices and
// scores have two decimals or fewer and are found by trying: decimals of up to 15 digits are different
// doubles, so the one that is equal is also what std::to_chars would find, three times as slowly.
void append_number(double value, std::string& text) {
  constexpr double kLargestTried = 1e12;
  if (std::fabs(value) < kLargestTried && !(value == 0 && std::signbit(value))) {
    const auto hundredths = static_cast<std::int64_t>(value * 100 + std::copysign(0.5, value));
    if (static_cast<double>(hundredths) / 100 == value) {
      return hundredths % 100 == 0 ? append_digits(hundredths / 100, text)
                                   : append_hundredths(hundredths, text);
    }
  }
  append_digits(value, text);
}

// A float32 is written as the float64 it equals: readers parse float64, and the shorter 0.1 would come back
// as another number than 0.1f.
void append_cell(const ColumnView& column, std::size_t row, std::string& text) {
  switch (column.type) {
    case ElementType::float32:
      return append_number(load<float>(column, row), text);
    case ElementType::float64:
      return append_number(load<double>(column, row), text);
    case ElementType::int32:
      return append_digits(load<std::int32_t>(column, row), text);
    case ElementType::int64:
      return append_digits(load<std::int64_t>(column, row), text);
  }
}

bool needs_quotes(std::string_view field) {
  const auto is_special = [](char c) { return c == '"' || c == ',' || c == '\r' || c == '\n'; };
  if (std::any_of(field.begin(), field.end(), is_special)) return true;
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  return !field.empty() && (is_blank(field.front()) || is_blank(field.back()));
}

void append_field(std::string_view field, std::string& text) {
  if (!needs_quotes(field)) {
    text.append(field);
    return;
  }
  text.push_back('"');
  for (const char c : field) text.append(c == '"' ? 2 : 1, c);
  text.push_back('"');
}

std::vector<std::string> csv_column_names(const Table& table) {
  std::vector<std::string> names;
  if (!table.ids.empty()) names.emplace_back("id");
  if (!table.labels.offsets.empty()) names.push_back(table.label_name.empty() ? "label" : table.label_name);
  for (const Attribute& attribute : table.attributes) names.push_back(attribute.name);

  std::unordered_set<std::string_view> seen;
  for (const std::string& name : names) {
    if (!seen.insert(name).second)
      throw InvalidArgument("two columns of the CSV would be called \"" + name + "\"");
  }
  return names;
}

void append_csv_rows(const TableView& table, std::size_t first, std::size_t end, std::string& text) {
  constexpr std::size_t kUsualCellBytes = 20;
  text.reserve((end - first) * (table.columns.size() + 2) * kUsualCellBytes);
  for (std::size_t row = first; row < end; ++row) {
    if (!table.ids.empty()) {
      append_digits(table.ids[row], text);
      text.push_back(',');
    }
    if (!table.labels.empty()) {
      append_field(table.labels[row], text);
      text.push_back(',');
    }
    for (const ColumnView& column : table.columns) {
      append_cell(column, row, text);
      text.push_back(',');
    }
    text.back() = '\n';
  }
}

void write_csv(const Table& table, Output& output) {
  std::string header;
  for (const std::string& name : csv_column_names(table)) {
    append_field(name, header);
    header.push_back(',');
  }
  header.back() = '\n';
  output.write(header);

  const TableView view = table.view();
  const auto format = [&](std::size_t first, std::size_t end, std::string& text) {
    append_csv_rows(view, first, end, text);
  };
  write_rows(view.num_rows, view.columns.size(), format, output);
}

double load_as_double(const Table& table, std::size_t column, std::size_t row) {
  const ColumnView& view = table.columns[column];
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
  if (value < -kMaxExactInteger || value > kMaxExactInteger) {
    throw InvalidArgument("row " + std::to_string(row + 1) + ", attribute \"" +
                          table.attributes[column].name + "\": " + std::to_string(value) +
                          " is beyond 2^53, which float64 cannot hold; write CSV");
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
  return std::all_of(table.columns.begin(), table.columns.end(),
                     [](const ColumnView& column) { return column.type == ElementType::float32; });
}

// Version 1.0: magic, 16-bit length of the text, the text padded so that the values start at a multiple
// of 64.
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

void write_npy(const Table& table, Output& output) {
  const bool as_float32 = all_float32(table);
  output.write(npy_header(table, as_float32 ? "<f4" : "<f8"));
  const auto format = [&](std::size_t first, std::size_t end, std::string& bytes) {
    append_npy_rows(table, as_float32, first, end, bytes);
  };
  write_rows(table.num_rows, table.columns.size(), format, output);
}

void check_shape(const Table& table) {
  if (table.attributes.empty()) throw InvalidArgument("a table without attributes cannot be written");
  const bool fits =
      table.columns.size() == table.attributes.size() &&
      std::ranges::all_of(table.columns, [&](const ColumnView& c) { return c.size == table.num_rows; }) &&
      (table.ids.empty() || table.ids.size() == table.num_rows) &&
      (table.labels.offsets.empty() || table.labels.offsets.size() == table.num_rows + 1);
  const bool is_there =
      table.num_rows == 0 || std::all_of(table.columns.begin(), table.columns.end(),
                                         [](const ColumnView& c) { return c.data != nullptr; });
  if (!is_there) throw InvalidArgument("a column of the table is a null pointer");
  if (!fits) throw InvalidArgument("the table's attributes, columns, ids and labels do not fit together");
}

}  // namespace

void write_table(const Table& table, const std::string& path) {
  check_shape(table);
  const bool is_npy = path.ends_with(".npy");
  if (!is_npy && !path.ends_with(".csv") && path != "-") {
    throw InvalidArgument("cannot tell the format of \"" + path +
                          "\": expected a name in .csv or .npy, or - for " + "CSV on standard output");
  }
  Output output(path);
  if (is_npy) {
    write_npy(table, output);
  } else {
    write_csv(table, output);
  }
  output.commit();
}

}  // namespace culmen
