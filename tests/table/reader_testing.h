// What the tests of the readers share.
#pragma once

#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "culmen/table.h"
#include "tests/error_of.h"

namespace culmen::testing {

using culmen::test::error_of;

template <typename T>
double element_at(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof(value));
  return static_cast<double>(value);
}

inline double value_of(const ColumnView& view, std::size_t row) {
  const std::byte* const place = view.data + static_cast<std::ptrdiff_t>(row) * view.stride_bytes;
  switch (view.type) {
    case ElementType::float32:
      return element_at<float>(place);
    case ElementType::float64:
      return element_at<double>(place);
    case ElementType::int32:
      return element_at<std::int32_t>(place);
    case ElementType::int64:
      return element_at<std::int64_t>(place);
  }
  return 0;
}

inline double value_at(const Table& table, std::size_t row, std::size_t column) {
  return value_of(table.columns[column], row);
}

inline std::vector<double> column_of(const Table& table, std::size_t column) {
  std::vector<double> values;
  for (std::size_t row = 0; row < table.num_rows; ++row) values.push_back(value_at(table, row, column));
  return values;
}

inline std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const Attribute& attribute : table.attributes) names.push_back(attribute.name);
  return names;
}

inline std::vector<std::string> labels_of(const Table& table) {
  std::vector<std::string> labels;
  for (std::size_t row = 0; row < table.num_rows; ++row) labels.emplace_back(table.labels.view()[row]);
  return labels;
}

// The fields of a table, a row a line, cells as in CSV; missing ones are a dash.
inline std::vector<std::string> fields_of(const TableView& view) {
  std::vector<std::string> lines(view.num_rows);
  for (std::size_t i = 0; i < view.fields.size(); ++i) {
    for (std::size_t row = 0; row < view.num_rows; ++row) {
      std::string cell;
      if (const TextView* const texts = std::get_if<TextView>(&view.field_views[i])) {
        cell = texts->validity.is_missing(row) ? "-" : "'" + std::string(texts->texts[row]) + "'";
      } else {
        const ColumnView& column = std::get<ColumnView>(view.field_views[i]);
        const std::byte* const place = column.data + static_cast<std::ptrdiff_t>(row) * column.stride_bytes;
        if (column.type == ElementType::int64) {
          std::int64_t value = 0;
          std::memcpy(&value, place, sizeof(value));
          cell = std::to_string(value);
        } else {
          const double value =
              column.type == ElementType::float64 ? element_at<double>(place) : element_at<float>(place);
          cell = std::isnan(value) ? "-" : std::to_string(value);
        }
        if (column.validity.is_missing(row)) cell = "-";
      }
      lines[row] += (i == 0 ? "" : "|") + cell;
    }
  }
  return lines;
}

inline std::vector<std::string> fields_of(const Table& table) {
  return fields_of(table.view());
}

inline void append_value(std::string& bytes, const auto& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// A folder for each test program, removed at its end.
class ScratchFolder {
 public:
  ScratchFolder() : path_(std::filesystem::temp_directory_path() / ("culmen-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }

  std::string write(const std::string& name, std::string_view bytes) const {
    const std::filesystem::path path = path_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path.string();
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace culmen::testing
