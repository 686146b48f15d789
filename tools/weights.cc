#include "tools/weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

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

// For each column of the file, the position of its attribute in the index.
std::vector<std::size_t> match_columns(const Table& table, const std::string& path, const IndexInfo& info) {
  std::vector<std::size_t> positions;
  for (const Attribute& column : table.attributes) {
    const auto found = std::find_if(info.attributes.begin(), info.attributes.end(),
                                    [&](const AttributeInfo& known) { return known.name == column.name; });
    if (found == info.attributes.end())
      throw InvalidArgument(fmt::format("{}: no attribute is called '{}'; the attributes are {}", path,
                                        column.name, known_names(info)));
    positions.push_back(static_cast<std::size_t>(found - info.attributes.begin()));
  }
  return positions;
}

// The library refuses such a query too, but cannot name the row of the file.
void check_none_is_zero(const std::vector<std::vector<double>>& queries, const std::string& path) {
  for (std::size_t query = 0; query < queries.size(); ++query)
    if (std::all_of(queries[query].begin(), queries[query].end(), [](double weight) { return weight == 0; }))
      throw InvalidArgument(fmt::format("{}: query {}: every weight is 0", path, query + 1));
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

std::vector<std::vector<double>> read_weights_file(const std::string& path, const Index& index) {
  const IndexInfo info = index.info();
  ReadOptions options;
  options.numbers_only = true;
  options.nulls = NullPolicy::reject;
  const Table table = read_table(path, options);
  std::vector<std::size_t> positions;
  if (has_column_names(path)) {
    positions = match_columns(table, path, info);
  } else {
    check_count(table.columns.size(), path, info);
    for (std::size_t i = 0; i < table.columns.size(); ++i) positions.push_back(i);
  }
  std::vector<std::vector<double>> queries(table.num_rows, std::vector<double>(info.attributes.size()));
  for (std::size_t column = 0; column < positions.size(); ++column)
    for (std::size_t row = 0; row < table.num_rows; ++row)
      queries[row][positions[column]] = column_value(table.columns[column], row);
  check_none_is_zero(queries, path);
  return queries;
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
