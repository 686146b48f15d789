#include "serve/why.h"

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "coding/answer_json.h"

namespace culmen::serve {
namespace {

// What an attribute adds to the score, as docs/contract.md defines Scale::minmax.
struct Part {
  double weight = 0;  // by which the value is multiplied
  double start = 0;   // what is added before
};

Part part_of(double weight, const AttributeInfo& attribute, Scale scale) {
  if (scale == Scale::none) return {weight, 0};
  if (!(attribute.maximum > attribute.minimum)) return {};
  const double scaled = weight / (attribute.maximum - attribute.minimum);
  return {scaled, -scaled * attribute.minimum};
}

void add_parts(const Question& question, const IndexView& view, const Row& row, Json& json) {
  double start = 0;
  Json parts = Json::array();
  for (std::size_t i = 0; i < question.query.weights.size(); ++i) {
    if (question.query.weights[i] == 0) continue;
    const AttributeInfo& attribute = view.info.attributes[i];
    const double value = std::isnan(row.values[i]) ? attribute.stand_in_value : row.values[i];
    const Part part = part_of(question.query.weights[i], attribute, question.query.scale);
    start += part.start;
    parts.push_back({{"attribute", attribute.name},
                     {"value", value},
                     {"weight", part.weight},
                     {"part", part.weight * value},
                     {"share", part.weight * value + part.start}});
  }
  json["start"] = start;
  json["parts"] = std::move(parts);
}

// The place of a row with this score among the rows that pass; null if it is not one of the first.
Json rank_json(const AnyIndex& index, Query query, std::int64_t id, double score, std::size_t max_rank,
               const SearchOptions& options) {
  query.k = max_rank;
  query.min_score = score;
  const SearchResult better = index.search(query, options);
  for (std::size_t rank = 0; rank < better.hits.size(); ++rank)
    if (better.hits[rank].id == id) return rank + 1;
  return nullptr;
}

}  // namespace

Json why_json(const AnyIndex& index, const IndexView& view, const Question& question, std::int64_t id,
              std::size_t max_rank, const SearchOptions& options) {
  Json json = {{"id", id}};
  const std::vector<std::optional<Row>> rows = index.get(std::vector<std::int64_t>{id});
  if (!rows.front()) return json;
  json["row"] = Json::parse(row_text(*rows.front(), view.info, view.columns));
  Query alone = question.query;
  alone.where = alone.where && id_col() == Literal(id);
  alone.k = 1;
  const SearchResult found = index.search(alone, options);
  if (found.hits.empty()) return json;
  const double score = found.hits.front().score;
  json["score"] = score;
  json["rank"] = rank_json(index, question.query, id, score, max_rank, options);
  add_parts(question, view, *rows.front(), json);
  return json;
}

}  // namespace culmen::serve
