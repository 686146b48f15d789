#include "table/csv_columns.h"

#include <tbb/parallel_for.h>

#include <bit>
#include <cmath>
#include <utility>

namespace culmen::io {
namespace {

constexpr std::size_t kBits = 8;

std::size_t num_bitmap_bytes(std::size_t num_rows) {
  return (num_rows + kBits - 1) / kBits;
}

void clear_bit(Array<std::uint8_t>& validity, std::size_t row) {
  validity[row / kBits] &= static_cast<std::uint8_t>(~(1u << row % kBits));
}

void append_texts(Labels& texts, const TextCells& cells) {
  const std::uint64_t begin = texts.bytes.size();
  texts.bytes.insert(texts.bytes.end(), cells.bytes.begin(), cells.bytes.end());
  for (const std::uint32_t end : cells.ends) texts.offsets.push_back(begin + end);
}

}  // namespace

void CsvColumns::begin(const CsvSchema& schema) {
  schema_ = &schema;
  num_rows_ = 0;
  columns_.clear();
  columns_.resize(schema.columns.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const CellType type = schema.columns[i].type;
    columns_[i].validity = Array<std::uint8_t>(memory_);
    if (type == CellType::text) {
      columns_[i].values = Labels{Array<char>(memory_), Array<std::uint64_t>(1, memory_)};
    } else if (type == CellType::number) {
      columns_[i].values = Array<double>(memory_);
    } else {
      columns_[i].values = Array<std::int64_t>(memory_);
    }
  }
}

void CsvColumns::append(std::span<const CsvRows> chunks) {
  std::vector<std::size_t> first_rows;
  std::size_t num_rows = num_rows_;
  for (const CsvRows& chunk : chunks) {
    first_rows.push_back(num_rows);
    for (const MissingCell& cell : chunk.missing) set_missing(cell, num_rows + cell.row);
    num_rows += chunk.num_rows;
  }
  tbb::parallel_for(std::size_t{0}, columns_.size(),
                    [&](std::size_t column) { make_room(column, chunks, num_rows); });
  tbb::parallel_for(std::size_t{0}, chunks.size(),
                    [&](std::size_t chunk) { copy_values(chunks[chunk], first_rows[chunk]); });
  num_rows_ = num_rows;
  grow_validity();
}

// Appends the texts of a column of texts; makes room for the values of the others.
void CsvColumns::make_room(std::size_t column, std::span<const CsvRows> chunks, std::size_t num_rows) {
  if (Labels* const texts = std::get_if<Labels>(&columns_[column].values)) {
    for (const CsvRows& chunk : chunks) append_texts(*texts, chunk.texts[schema_->columns[column].slot]);
  } else if (auto* const numbers = std::get_if<Array<double>>(&columns_[column].values)) {
    numbers->resize(num_rows);
  } else {
    std::get<Array<std::int64_t>>(columns_[column].values).resize(num_rows);
  }
}

void CsvColumns::copy_values(const CsvRows& chunk, std::size_t first_row) {
  const std::size_t width = schema_->num_values;
  const auto copy = [&]<typename T>(Array<T>& values, std::size_t slot) {
    T* const out = values.data() + first_row;
    for (std::size_t row = 0; row < chunk.num_rows; ++row)
      out[row] = std::bit_cast<T>(chunk.values[row * width + slot]);
  };
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::size_t slot = schema_->columns[i].slot;
    if (auto* const numbers = std::get_if<Array<double>>(&columns_[i].values)) {
      copy(*numbers, slot);
    } else if (auto* const integers = std::get_if<Array<std::int64_t>>(&columns_[i].values)) {
      copy(*integers, slot);
    }
  }
}

void CsvColumns::append_row(const CsvRows& rows, std::size_t row, std::size_t& next_missing) {
  const double* const values = rows.values.data() + row * schema_->num_values;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::size_t slot = schema_->columns[i].slot;
    if (auto* const numbers = std::get_if<Array<double>>(&columns_[i].values)) {
      numbers->push_back(values[slot]);
    } else if (auto* const integers = std::get_if<Array<std::int64_t>>(&columns_[i].values)) {
      integers->push_back(std::bit_cast<std::int64_t>(values[slot]));
    } else {
      std::get<Labels>(columns_[i].values).append(rows.texts[slot][row]);
    }
  }
  while (next_missing < rows.missing.size() && rows.missing[next_missing].row < row) ++next_missing;
  for (; next_missing < rows.missing.size() && rows.missing[next_missing].row == row; ++next_missing)
    set_missing(rows.missing[next_missing], num_rows_);
  ++num_rows_;
  grow_validity();
}

// Where there is a bitmap, it gets bits for all rows.
void CsvColumns::grow_validity() {
  for (CollectedColumn& column : columns_)
    if (!column.validity.empty()) column.validity.resize(num_bitmap_bytes(num_rows_), 0xFF);
}

void CsvColumns::set_missing(const MissingCell& cell, std::size_t row) {
  Array<std::uint8_t>& validity = columns_[cell.column].validity;
  if (row / kBits >= validity.size()) validity.resize(row / kBits + 1, 0xFF);
  clear_bit(validity, row);
}

void CsvColumns::reserve(std::size_t num_rows) {
  for (CollectedColumn& column : columns_) {
    if (auto* const numbers = std::get_if<Array<double>>(&column.values)) {
      numbers->reserve(num_rows);
    } else if (auto* const integers = std::get_if<Array<std::int64_t>>(&column.values)) {
      integers->reserve(num_rows);
    } else {
      std::get<Labels>(column.values).offsets.reserve(num_rows + 1);
    }
  }
}

void CsvColumns::clear() {
  num_rows_ = 0;
  for (CollectedColumn& column : columns_) {
    column.validity.clear();
    if (Labels* const texts = std::get_if<Labels>(&column.values)) {
      texts->bytes.clear();
      texts->offsets.resize(1);
    } else if (auto* const numbers = std::get_if<Array<double>>(&column.values)) {
      numbers->clear();
    } else {
      std::get<Array<std::int64_t>>(column.values).clear();
    }
  }
}

void make_integers(CollectedColumn& column) {
  const Array<double> numbers = std::move(std::get<Array<double>>(column.values));
  Array<std::int64_t> integers(numbers.size(), numbers.get_allocator());
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    if (!std::isnan(numbers[row])) {
      integers[row] = static_cast<std::int64_t>(numbers[row]);
      continue;
    }
    if (column.validity.empty()) column.validity.assign(num_bitmap_bytes(numbers.size()), 0xFF);
    clear_bit(column.validity, row);
  }
  column.values = std::move(integers);
}

void make_missing_texts(CollectedColumn& column) {
  const auto& numbers = std::get<Array<double>>(column.values);
  const std::size_t num_rows = numbers.size();
  column.values = Labels{{}, Array<std::uint64_t>(num_rows + 1, numbers.get_allocator())};
  column.validity.assign(num_bitmap_bytes(num_rows), 0);
}

}  // namespace culmen::io
