#include "index/build/stand_ins.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>

#include "base/moments.h"
#include "base/number_text.h"
#include "culmen/error.h"
#include "index/snapshot.h"

namespace culmen {
namespace {

// As stored.
Array<double> present_values(const ColumnView& column, std::uint64_t num_rows, bool to_float32,
                             const std::shared_ptr<ArrayMemory>& memory) {
  constexpr std::uint64_t kRowsAtOnce = 1 << 14;
  Array<double> values(num_rows, memory);
  std::vector<std::uint64_t> rows;
  for (std::uint64_t first = 0; first < num_rows; first += kRowsAtOnce) {
    rows.resize(std::min(kRowsAtOnce, num_rows - first));
    std::iota(rows.begin(), rows.end(), first);
    gather_column(column, Preference::high, rows, values.data() + first);
  }
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (to_float32)
    for (double& value : values) value = static_cast<float>(value);
  return values;
}

double given_number(const Attribute& attribute, ValueType type) {
  const double stored = type == ValueType::float32 ? static_cast<float>(attribute.number) : attribute.number;
  if (!std::isfinite(stored))
    throw InvalidArgument("attribute \"" + attribute.name + "\": " + number_text(attribute.number) +
                          " cannot stand in for missing values");
  return stored;
}

double stand_in(const TableView& table, std::size_t i, const TableStats& stats,
                const std::shared_ptr<ArrayMemory>& memory) {
  const Attribute& attribute = table.attributes[i];
  const bool to_float32 = stats.value_type == ValueType::float32;
  switch (attribute.stand_in) {
    case StandIn::number:
      return oriented(given_number(attribute, stats.value_type), attribute.preference);
    case StandIn::median:
    case StandIn::mean: {
      Array<double> values = present_values(table.columns[i], table.num_rows, to_float32, memory);
      if (values.empty()) return 0;
      const double value = attribute.stand_in == StandIn::mean ? exact_mean(values, to_float32)
                                                               : exact_median(values, to_float32);
      return oriented(value, attribute.preference);
    }
    case StandIn::worst:
    case StandIn::refuse:
      break;
  }
  return stats.attributes[i].minimum;
}

}  // namespace

double exact_mean(std::span<const double> values, bool to_float32) {
  Moments moments;
  for (const double value : values) moments.add(value);
  return moments.mean(to_float32);
}

double exact_median(std::span<double> values, bool to_float32) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  const double upper = *middle;
  if (values.size() % 2 == 1) return to_float32 ? static_cast<float>(upper) : upper;
  const double two[] = {*std::max_element(values.begin(), middle), upper};
  return exact_mean(two, to_float32);
}

std::vector<double> stored_stand_ins(const TableView& table, ValueType type, std::span<const double> given) {
  if (given.size() != table.attributes.size())
    throw InvalidArgument(std::to_string(given.size()) + " stand-ins for " +
                          std::to_string(table.attributes.size()) + " attributes");
  std::vector<double> result;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const double stored = type == ValueType::float32 ? static_cast<float>(given[i]) : given[i];
    if (!std::isfinite(given[i]) || stored != given[i])
      throw InvalidArgument("attribute \"" + table.attributes[i].name + "\": " + number_text(given[i]) +
                            " cannot stand in for missing values");
    result.push_back(oriented(stored, table.attributes[i].preference));
  }
  return result;
}

std::vector<double> stand_ins_of(const TableView& table, const TableStats& stats,
                                 const std::shared_ptr<ArrayMemory>& memory) {
  std::vector<double> result;
  for (std::size_t i = 0; i < table.attributes.size(); ++i)
    result.push_back(stand_in(table, i, stats, memory));
  return result;
}

}  // namespace culmen
