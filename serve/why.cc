#include "serve/why.h"

#include <optional>
#include <utility>
#include <vector>

#include "coding/answer_json.h"
#include "culmen/why.h"

namespace culmen::serve {

Json why_json(const AnyIndex& index, const IndexView& view, const Question& question, const NamedIds& id,
              const SearchOptions& options) {
  const std::vector<std::optional<Row>> rows = index.get(id);
  const Row named = {.id = id.numbers.empty() ? 0 : id.numbers.front(),
                     .values = {},
                     .label = id.texts.empty() ? "" : id.texts.front()};
  Json json = {{"id", id_json(named, id.type)}};
  if (!rows.front()) return json;
  json["row"] = Json::parse(row_text(*rows.front(), view.info, view.columns));
  const std::optional<RowRank> place = index.rank_of(question.query, *rows.front(), options);
  if (!place) return json;
  json["score"] = place->score;
  json["rank"] = place->rank;
  Json parts = Json::array();
  double sum = 0;
  const IndexInfo info = index.info(question.query.scale);
  for (const ScorePart& part : score_parts(question.query, *rows.front(), info)) {
    parts.push_back(
        {{"attribute", part.attribute}, {"weight", part.weight}, {"value", part.value}, {"part", part.part}});
    sum += part.part;
  }
  json["parts"] = std::move(parts);
  if (!question.query.terms.empty()) json["terms"] = place->score - sum;
  return json;
}

}  // namespace culmen::serve
