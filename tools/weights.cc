#include "tools/weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <variant>

#include "base/number_text.h"
#include "coding/known_names.h"
#include "culmen/error.h"
#include "culmen/table_io.h"
#include "tools/column_names.h"
#include "tools/column_value.h"
#include "tools/item_list.h"
#include "tools/numbers.h"

namespace culmen::tools {
namespace {

std::pair<std::string, double> parse_named_weight(std::string_view item) {
  if (item.find('=') == std::string_view::npos)
    throw InvalidArgument(fmt::format("weights: expected name=value like the others, found '{}'", item));
  auto [name, number] = split_setting(item);
  const double value = parse_number(number, fmt::format("weight of {}", name));
  return {std::move(name), value};
}

std::vector<double> parse_named_weights(const std::vector<std::string_view>& items, const Index& index) {
  std::vector<std::pair<std::string, double>> named;
  for (std::string_view item : items) {
    std::pair<std::string, double> weight = parse_named_weight(item);
    if (std::any_of(named.begin(), named.end(),
                    [&](const auto& other) { return other.first == weight.first; }))
      throw InvalidArgument(fmt::format("weights: attribute '{}' is given twice; the attributes are {}",
                                        weight.first, known_names(index.info())));
    named.push_back(std::move(weight));
  }
  return index.weights(named);
}

void check_count(std::size_t count, const std::string& what, const IndexInfo& info) {
  if (count == info.attributes.size()) return;
  throw InvalidArgument(fmt::format("{}: {} weights for {} attributes; by position they are {}", what, count,
                                    info.attributes.size(), known_names(info)));
}

constexpr std::string_view kWhere = "where", kK = "k", kMinScore = "min_score";

std::optional<std::size_t> attribute_called(std::string_view name, const IndexInfo& info) {
  const auto found = std::ranges::find(info.attributes, name, &AttributeInfo::name);
  if (found == info.attributes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - info.attributes.begin());
}

// The columns besides weights. A column that is called as an attribute has its weights.
std::vector<GivenType> types_of_settings(const IndexInfo& info) {
  std::vector<GivenType> types = {{std::string(kWhere), ColumnType::text},
                                  {std::string(kK), ColumnType::integer},
                                  {std::string(kMinScore), ColumnType::floating}};
  std::erase_if(types,
                [&](const GivenType& type) { return attribute_called(type.column, info).has_value(); });
  return types;
}

// Takes the rows of a table apart.
class WeightsRows {
 public:
  WeightsRows(const Table& table, const std::string& path, const Index& index)
      : table_(table), path_(path), index_(index), info_(index.info()) {}

  std::vector<WeightsRow> take(bool has_names) {
    rows_.resize(table_.num_rows);
    for (WeightsRow& row : rows_) row.weights.resize(info_.attributes.size());
    if (!has_names) check_count(table_.columns.size(), path_, info_);
    for (std::size_t i = 0; i < table_.columns.size(); ++i)
      take_weights(table_.columns[i], has_names ? attribute_of(table_.attributes[i].name) : i);
    for (std::size_t i = 0; i < table_.fields.size(); ++i) take_setting(i);
    return std::move(rows_);
  }

 private:
  std::size_t attribute_of(const std::string& name) const {
    if (const std::optional<std::size_t> attribute = attribute_called(name, info_)) return *attribute;
    throw InvalidArgument(fmt::format(
        "{}: no attribute is called '{}'; the attributes are {}, and a row may have where, k and min_score",
        path_, name, known_names(info_)));
  }

  void take_weights(const ColumnView& column, std::size_t attribute) {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const double weight = column_value(column, row);
      if (!std::isnan(weight)) rows_[row].weights[attribute] = weight;  // else it is left out
    }
  }

  void take_setting(std::size_t field) {
    const std::string& name = table_.fields[field].name;
    if (const auto* const texts = std::get_if<Texts>(&table_.field_columns[field]))
      return take_filters(texts->view());
    const ColumnView& column = std::get<ColumnView>(table_.field_columns[field]);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const double value = column_value(column, row);
      if (std::isnan(value)) continue;
      if (name == kMinScore) {
        rows_[row].min_score = value;
      } else if (value >= 1) {
        rows_[row].k = static_cast<std::size_t>(value);
      } else {
        throw InvalidArgument(fmt::format("{}: k is {}: at least 1 is expected", table_.location_of_row(row),
                                          number_text(value)));
      }
    }
  }

  // Rows often share a filter.
  void take_filters(const TextView& column) {
    std::map<std::string_view, Filter> filters;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (column.validity.is_missing(row) || column.texts[row].empty()) continue;
      const auto [filter, is_new] = filters.try_emplace(column.texts[row]);
      if (is_new) filter->second = parsed_filter(column.texts[row], row);
      rows_[row].where = filter->second;
    }
  }

  Filter parsed_filter(std::string_view text, std::size_t row) const {
    try {
      return index_.filter(text);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("{}: {}", table_.location_of_row(row), error.what()));
    }
  }

  const Table& table_;
  const std::string& path_;
  const Index& index_;
  const IndexInfo info_;
  std::vector<WeightsRow> rows_;
};

// The library refuses such a query too, but cannot name the row of the file.
void check_none_is_zero(const std::vector<WeightsRow>& rows, const std::string& path) {
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (std::ranges::all_of(rows[row].weights, [](double weight) { return weight == 0; }))
      throw InvalidArgument(fmt::format("{}: query {}: every weight is 0", path, row + 1));
}

}  // namespace

std::vector<double> parse_weights(std::string_view text, const Index& index) {
  if (text.starts_with('='))
    throw InvalidArgument(fmt::format("weights: write -w {0} or --weights={0}", text.substr(1)));
  const std::vector<std::string_view> items = split_items(text);
  if (items.front().find('=') != std::string_view::npos) return parse_named_weights(items, index);
  std::vector<double> weights;
  for (std::string_view item : items)
    weights.push_back(parse_number(item, fmt::format("weight {}", weights.size() + 1)));
  check_count(weights.size(), "weights", index.info());
  return weights;
}

std::vector<WeightsRow> read_weights_file(const std::string& path, const Index& index) {
  const bool has_names = has_column_names(path);
  ReadOptions options;
  options.numbers_only = true;
  options.nulls = NullPolicy::reject;
  options.json_lines_nulls = NullPolicy::keep;
  if (has_names) options.types = types_of_settings(index.info());
  const Table table = read_table(path, options);
  std::vector<WeightsRow> rows = WeightsRows(table, path, index).take(has_names);
  check_none_is_zero(rows, path);
  return rows;
}

std::string weights_text(const std::vector<double>& weights, const IndexInfo& info) {
  std::string text;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    text +=
        fmt::format("{}{}={}", text.empty() ? "" : ", ", info.attributes[i].name, number_text(weights[i]));
  }
  return text;
}

}  // namespace culmen::tools
