#include "serve/distributions.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "culmen/sample.h"

namespace culmen::serve {
namespace {

constexpr std::size_t kSampleRows = 10'000;
constexpr std::size_t kNumRanges = 48;
constexpr std::size_t kMostTexts = 50;

std::vector<Row> sample(const AnyIndex& any, const IndexView& view) {
  if (any.sharded() == nullptr) return sample_rows(any.only("a sample"), kSampleRows);
  std::vector<Row> rows;
  for (std::uint32_t i = 0; i < any.sharded()->num_shards(); ++i) {
    const Index shard = any.sharded()->shard(i);
    const double share = static_cast<double>(shard.info().num_rows) /
                         static_cast<double>(std::max<std::uint64_t>(view.info.num_rows, 1));
    std::vector<Row> some = sample_rows(shard, static_cast<std::size_t>(share * double{kSampleRows}));
    std::move(some.begin(), some.end(), std::back_inserter(rows));
  }
  return rows;
}

Json attribute_json(const std::string& name, std::vector<double> values) {
  Json json = {{"name", name}};
  if (values.empty()) return json;
  std::sort(values.begin(), values.end());
  const double low = values[values.size() / 100];
  const double high = values[values.size() - 1 - values.size() / 100];
  std::vector<std::size_t> counts(kNumRanges);
  for (const double value : values) {
    // Halves: the difference of large values of both signs could overflow.
    const double place = high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0.5;
    const double range = std::clamp(std::floor(place * double{kNumRanges}), 0.0, double{kNumRanges} - 1);
    ++counts[static_cast<std::size_t>(range)];
  }
  json["low"] = low;
  json["high"] = high;
  json["counts"] = counts;
  return json;
}

Json texts_json(const std::string& name, const std::map<std::string, std::size_t>& counts) {
  std::vector<std::pair<std::size_t, std::string>> texts;
  for (const auto& [text, count] : counts) texts.emplace_back(count, text);
  std::stable_sort(texts.begin(), texts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Json list = Json::array();
  for (std::size_t i = 0; i < std::min(texts.size(), kMostTexts); ++i) list.push_back(texts[i].second);
  return {{"name", name}, {"texts", std::move(list)}};
}

}  // namespace

Json distributions_json(const AnyIndex& index, const IndexView& view) {
  const std::vector<Row> rows = sample(index, view);
  Json attributes = Json::array();
  for (std::size_t i = 0; i < view.info.attributes.size(); ++i) {
    std::vector<double> values;
    for (const Row& row : rows)
      if (!std::isnan(row.values[i])) values.push_back(row.values[i]);
    attributes.push_back(attribute_json(view.info.attributes[i].name, std::move(values)));
  }
  Json fields = Json::array();
  for (std::size_t i = 0; i < view.info.fields.size(); ++i) {
    const Field& field = view.info.fields[i].field;
    if (!field.is_text() || field.role != FieldRole::filter) continue;
    std::map<std::string, std::size_t> counts;
    for (const Row& row : rows)
      if (i < row.fields.size())
        if (const auto* const text = std::get_if<std::string>(&row.fields[i])) ++counts[*text];
    fields.push_back(texts_json(field.name, counts));
  }
  return {{"rows", rows.size()}, {"attributes", std::move(attributes)}, {"fields", std::move(fields)}};
}

}  // namespace culmen::serve
