// Synthetic tables: draws rows in parallel, and fills columns with them. table/row_makers.h has the recipes.
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "base/enum_names.h"
#include "base/floating_point_scope.h"
#include "base/with_threads.h"
#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/hotels.h"
#include "table/row_makers.h"
#include "table/row_random.h"

namespace culmen {
namespace {

// A row is redrawn until all its values lie in [0, 1], which about 0.87^attributes of the draws do.
constexpr int kMaxAnticorrelatedAttributes = 32;
constexpr std::uint64_t kMaxRows = std::uint64_t{1} << 40;
constexpr std::size_t kGrainRows = 4096;

constexpr EnumNames<TableKind, 13> kKinds = {"kind of table",
                                             {{{"independent", TableKind::independent},
                                               {"correlated", TableKind::correlated},
                                               {"anticorrelated", TableKind::anticorrelated},
                                               {"ratings", TableKind::ratings},
                                               {"zipf", TableKind::zipf},
                                               {"clusters", TableKind::clusters},
                                               {"hotels", TableKind::hotels},
                                               {"gaussian", TableKind::gaussian},
                                               {"weather", TableKind::weather},
                                               {"heavytailed", TableKind::heavytailed},
                                               {"sparse", TableKind::sparse},
                                               {"series", TableKind::series},
                                               {"compositional", TableKind::compositional}}}};

template <Element T>
T* column_values(Table& table, std::size_t column) {
  return std::get<Array<T>>(table.storage[column]).data();
}

template <Element T>
Table make_empty_table(std::size_t num_rows, std::vector<Attribute> attributes) {
  Table table;
  table.num_rows = num_rows;
  table.attributes = std::move(attributes);
  table.storage.assign(table.attributes.size(), Array<T>());
  // Clearing fresh memory is much of the work, so all threads do it.
  tbb::parallel_for(std::size_t{0}, table.storage.size(),
                    [&](std::size_t column) { std::get<Array<T>>(table.storage[column]).resize(num_rows); });
  for (std::size_t column = 0; column < table.storage.size(); ++column) {
    table.columns.emplace_back(column_values<T>(table, column), num_rows);
  }
  return table;
}

// Calls make_row(number of the row, its values) for every row and stores the values as T.
template <Element T, typename MakeRow>
void fill_table(Table& table, const MakeRow& make_row) {
  std::vector<T*> columns;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    columns.push_back(column_values<T>(table, column));
  }
  const tbb::blocked_range<std::size_t> all_rows(0, table.num_rows, kGrainRows);
  tbb::parallel_for(all_rows, [&](const tbb::blocked_range<std::size_t>& rows) {
    const FloatingPointScope floating_point;
    std::vector<double> values(columns.size());
    for (std::size_t row = rows.begin(); row < rows.end(); ++row) {
      make_row(row, std::span<double>(values));
      for (std::size_t i = 0; i < values.size(); ++i) columns[i][row] = static_cast<T>(values[i]);
    }
  });
}

std::vector<Attribute> numbered_attributes(int num_attributes) {
  std::vector<Attribute> attributes;
  for (int i = 0; i < num_attributes; ++i) {
    attributes.push_back({std::string("a").append(std::to_string(i)), Preference::high});
  }
  return attributes;
}

// Calls make_row(random numbers of the row, its values), or make_row(number of the row, random numbers, values).
template <typename MakeRow>
Table generate_numbers(const GenerateOptions& options, const MakeRow& make_row) {
  Table table = make_empty_table<float>(options.num_rows, numbered_attributes(options.num_attributes));
  fill_table<float>(table, [&](std::uint64_t row, std::span<double> values) {
    RowRandom random(options.seed, stream_of(options.kind), row);
    if constexpr (std::invocable<const MakeRow&, std::uint64_t, RowRandom&, std::span<double>>) {
      make_row(row, random, values);
    } else {
      make_row(random, values);
    }
  });
  return table;
}

// Names differ in length, so the first pass measures them and the second writes each at its offset.
void add_names(const HotelGenerator& hotels, Table& table) {
  const tbb::blocked_range<std::size_t> all_rows(0, table.num_rows, kGrainRows);
  const auto for_each_name = [&](const auto& use) {
    tbb::parallel_for(all_rows, [&](const tbb::blocked_range<std::size_t>& rows) {
      std::string name;
      for (std::size_t row = rows.begin(); row < rows.end(); ++row) {
        name.clear();
        hotels.append_name(row, name);
        use(row, name);
      }
    });
  };
  table.label_name = "name";
  Array<std::uint64_t>& offsets = table.labels.offsets;
  offsets.resize(table.num_rows + 1);
  for_each_name([&](std::size_t row, const std::string& name) { offsets[row + 1] = name.size(); });
  for (std::size_t row = 0; row < table.num_rows; ++row) offsets[row + 1] += offsets[row];
  table.labels.bytes.resize(offsets.back());
  for_each_name([&](std::size_t row, const std::string& name) {
    std::copy(name.begin(), name.end(), table.labels.bytes.data() + offsets[row]);
  });
}

void add_cities(const HotelGenerator& hotels, Table& table) {
  Texts cities;
  cities.texts.offsets.push_back(0);
  for (std::size_t row = 0; row < table.num_rows; ++row) cities.texts.append(hotels.city(row));
  table.fields.push_back({"city", FieldRole::filter, {ColumnType::text}});
  table.field_columns.emplace_back(std::move(cities));
}

void add_opening_days(const HotelGenerator& hotels, Table& table) {
  constexpr std::size_t kBits = 8;
  Array<std::int64_t> days(table.num_rows);
  Array<std::uint8_t> validity((table.num_rows + kBits - 1) / kBits);
  // A task fills whole bytes of the bitmap.
  const tbb::blocked_range<std::size_t> all_bytes(0, validity.size(), kGrainRows / kBits);
  tbb::parallel_for(all_bytes, [&](const tbb::blocked_range<std::size_t>& bytes) {
    const FloatingPointScope floating_point;
    for (std::size_t row = kBits * bytes.begin(); row < std::min(kBits * bytes.end(), table.num_rows);
         ++row) {
      const std::optional<std::int64_t> day = hotels.opening_day(row);
      days[row] = day.value_or(0);
      if (day) validity[row / kBits] |= static_cast<std::uint8_t>(1u << row % kBits);
    }
  });
  ColumnView view(days);
  view.validity.bits = validity.data();
  table.fields.push_back({"opened", FieldRole::filter, {ColumnType::date}});
  table.field_columns.emplace_back(view);
  table.storage.emplace_back(std::move(days));
  table.validities.push_back(std::move(validity));
}

Table generate_hotels(const GenerateOptions& options) {
  const HotelGenerator hotels(options.seed, stream_of(TableKind::hotels));
  Table table = make_empty_table<double>(options.num_rows, HotelGenerator::attributes());
  fill_table<double>(table,
                     [&](std::uint64_t row, std::span<double> values) { hotels.make_row(row, values); });
  table.ids.resize(table.num_rows);
  for (std::size_t row = 0; row < table.num_rows; ++row) {
    table.ids[row] = HotelGenerator::kFirstId + static_cast<std::int64_t>(row);
  }
  table.id_name = "id";
  add_names(hotels, table);
  add_cities(hotels, table);
  add_opening_days(hotels, table);
  return table;
}

Table generate(const GenerateOptions& options) {
  const auto num_attributes = static_cast<std::size_t>(options.num_attributes);
  switch (options.kind) {
    case TableKind::independent:
      return generate_numbers(options, make_independent);
    case TableKind::correlated:
      return generate_numbers(options, make_correlated);
    case TableKind::anticorrelated:
      return generate_numbers(options, make_anticorrelated);
    case TableKind::ratings:
      return generate_numbers(options, make_ratings);
    case TableKind::zipf:
      return generate_numbers(options, make_zipf);
    case TableKind::clusters:
      return generate_numbers(options, ClusterMaker(options.seed, num_attributes));
    case TableKind::hotels:
      return generate_hotels(options);
    case TableKind::gaussian:
      return generate_numbers(options, make_gaussian);
    case TableKind::weather:
      return generate_numbers(options, make_weather);
    case TableKind::heavytailed:
      return generate_numbers(options, make_heavytailed);
    case TableKind::sparse:
      return generate_numbers(options, make_sparse);
    case TableKind::series:
      return generate_numbers(options, SeriesMaker(options.seed, num_attributes));
    case TableKind::compositional:
      return generate_numbers(options, make_compositional);
  }
  throw InvalidArgument("unknown table kind " + std::to_string(static_cast<int>(options.kind)));
}

void check(const GenerateOptions& options) {
  if (options.num_rows > kMaxRows) {
    throw InvalidArgument("cannot generate " + std::to_string(options.num_rows) + " rows: at most " +
                          std::to_string(kMaxRows));
  }
  if (options.kind == TableKind::hotels) return;
  const int limit = options.kind == TableKind::anticorrelated ? kMaxAnticorrelatedAttributes : kMaxAttributes;
  if (options.num_attributes < 1 || options.num_attributes > limit) {
    throw InvalidArgument("cannot generate " + std::to_string(options.num_attributes) +
                          " attributes: expected 1 to " + std::to_string(limit) + " for this kind of table");
  }
}

}  // namespace

Table generate_table(const GenerateOptions& options) {
  const FloatingPointScope floating_point;
  check(options);
  return with_threads(options.num_threads, [&] { return generate(options); });
}

TableKind parse_table_kind(std::string_view name) {
  return kKinds.parse(name);
}

}  // namespace culmen
