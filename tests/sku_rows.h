// Rows whose ids are texts, and the answers that they should give: by the texts themselves.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "culmen/search.h"
#include "culmen/table.h"
#include "tests/generators.h"

namespace culmen::test {

// Each deeper one comes before all others of its kind.
inline std::string nested_text(int depth) {
  return "m" + std::string(static_cast<std::size_t>(depth), 'a') + "z";
}

inline constexpr int kCommonDepth = 100;

// Short ones, so that many are equal or begin alike; long ones; ones that need quotes in files; ones beyond ASCII; and
// nested ones, whose neighbours have no numbers between them left.
inline std::string random_text(Random& random) {
  static constexpr const char* kParts[] = {"a",  "b", "A-", ",",    "\"",         "\n",
                                           "\t", " ", "é",  "日本", "\U0001F600", "0"};
  switch (random.between(0, 9)) {
    case 0:
      return std::string(static_cast<std::size_t>(random.between(0, 300)), 'x') +
             std::to_string(random.between(0, 3));
    case 1:
    case 2:
    case 3:
      return nested_text(random.between(0, kCommonDepth));
    default:
      break;
  }
  std::string text;
  for (int i = random.between(0, 4); i > 0; --i) text += kParts[random.below(std::size(kParts))];
  return text;
}

struct SkuValues {
  std::vector<double> attributes;
  std::optional<double> field;

  friend bool operator==(const SkuValues&, const SkuValues&) = default;
};

// Rows by their texts, whose few values make most scores tie. A map of strings has the order of bytes.
using Skus = std::map<std::string, SkuValues>;

inline constexpr std::size_t kSkuAttributes = 2;

inline SkuValues sku_values(Random& random) {
  SkuValues values;
  for (std::size_t i = 0; i < kSkuAttributes; ++i) values.attributes.push_back(random.between(0, 2));
  if (random.chance(0.8)) values.field = random.between(0, 5);
  return values;
}

inline Skus random_skus(Random& random, int num_rows) {
  Skus rows;
  for (int i = 0; i < num_rows; ++i) rows[random_text(random)] = sku_values(random);
  return rows;
}

// The rows as a table, in an order that is not theirs.
struct SkuTable {
  SkuTable(const Skus& rows, Random& random) {
    std::vector<std::string> texts;
    for (const auto& row : rows) texts.push_back(row.first);
    for (std::size_t i = texts.size(); i > 1; --i) std::swap(texts[i - 1], texts[random.below(i)]);
    for (const std::string& text : texts) add(text, rows.at(text));
  }

  void add(const std::string& text, const SkuValues& of_row) {
    labels.append(text);
    values.insert(values.end(), of_row.attributes.begin(), of_row.attributes.end());
    field.push_back(of_row.field.value_or(std::numeric_limits<double>::quiet_NaN()));
  }

  TableView view() const {
    static constexpr std::uint64_t kNone[] = {0};
    TableView table = row_major_table(std::span<const double>(values), {{"a"}, {"b"}});
    table.num_rows = field.size();
    table.labels = field.empty() ? LabelsView{{}, kNone} : labels.view();
    table.id_type = IdType::text;
    table.id_name = "sku";
    table.fields = {{.name = "f"}};
    table.field_views = {FieldView(ColumnView(field))};
    return table;
  }

  Labels labels;
  std::vector<double> values, field;
};

struct RankedSku {
  std::string text;
  double score;

  friend bool operator==(const RankedSku&, const RankedSku&) = default;
};

// The answer by the texts themselves: largest score first, then the smaller text.
template <typename Passes>
std::vector<RankedSku> best_skus(const Skus& rows, const std::vector<double>& weights, std::size_t k,
                                 const Passes& passes) {
  std::vector<RankedSku> best;
  for (const auto& [text, values] : rows)
    if (passes(text))
      best.push_back({text, weights[0] * values.attributes[0] + weights[1] * values.attributes[1]});
  std::ranges::stable_sort(best, [](const RankedSku& a, const RankedSku& b) { return a.score > b.score; });
  if (best.size() > k) best.resize(k);
  return best;
}

inline std::vector<RankedSku> skus_of(const SearchResult& result) {
  std::vector<RankedSku> found;
  for (std::size_t rank = 0; rank < result.hits.size(); ++rank) {
    found.push_back({result.id_text(rank), result.hits[rank].score});
    EXPECT_EQ(result.row(rank).label, found.back().text);
  }
  EXPECT_FALSE(result.has_labels());
  return found;
}

inline SkuValues values_of_sku(const Row& row) {
  SkuValues values = {row.values, {}};
  if (const double* field = std::get_if<double>(&row.fields.front())) values.field = *field;
  return values;
}

}  // namespace culmen::test
