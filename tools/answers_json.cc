#include <nlohmann/json.hpp>
#include <string>

#include "tools/answers.h"

namespace culmen::tools {
namespace {

using Json = nlohmann::ordered_json;

// Labels may hold any bytes. Those that are not UTF-8 are replaced, or the whole answer would be unreadable.
std::string text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json weights_json(const Query& query, const IndexInfo& info) {
  Json weights = Json::object();
  for (std::size_t i = 0; i < query.weights.size(); ++i)
    if (query.weights[i] != 0) weights[info.attributes[i].name] = query.weights[i];
  return weights;
}

Json hit_json(const SearchResult& result, std::size_t rank, const IndexInfo& info) {
  Json hit = {{"rank", rank + 1}, {"id", result.hits[rank].id}, {"score", result.hits[rank].score}};
  if (info.has_labels) hit["label"] = result.label(rank);
  Json& attributes = hit["attributes"] = Json::object();
  for (std::size_t i = 0; i < info.attributes.size(); ++i)
    attributes[info.attributes[i].name] = result.attribute(rank, static_cast<int>(i));
  return hit;
}

Json stats_json(const SearchStats& stats) {
  const double in_index = static_cast<double>(stats.rows_in_index);
  return {{"engine", engine_name(stats.engine)},
          {"device", stats.device < 0 ? "cpu" : "cuda:" + std::to_string(stats.device)},
          {"rows_in_index", stats.rows_in_index},
          {"rows_scored", stats.rows_scored},
          {"rows_by_codes", stats.rows_by_codes},
          {"share_scored", in_index > 0 ? static_cast<double>(stats.rows_scored) / in_index : 0.0},
          {"leaves_visited", stats.leaves_visited},
          {"nodes_visited", stats.nodes_visited},
          {"bounds_computed", stats.bounds_computed},
          {"bytes_touched", stats.bytes_touched},
          {"elapsed_us", stats.elapsed_us}};
}

// Writes hit by hit: an answer may have as many rows as the index, and its JSON should not be in memory at once.
void write_query(const Answers& answers, std::size_t query, Output& out) {
  const SearchResult& result = answers.results[query];
  out.write("{\"weights\":" + text(weights_json(answers.queries[query], answers.info)) + ",\"results\":[");
  for (std::size_t rank = 0; rank < result.hits.size(); ++rank) {
    if (rank != 0) out.write(",");
    out.write(text(hit_json(result, rank, answers.info)));
  }
  out.write("],\"stats\":" + text(stats_json(result.stats)) + '}');
}

}  // namespace

void write_json(const Answers& answers, Output& out) {
  out.write("{\"queries\":[");
  for (std::size_t query = 0; query < answers.results.size(); ++query) {
    if (query != 0) out.write(",\n");
    write_query(answers, query, out);
  }
  out.write("]}\n");
}

void write_jsonl(const Answers& answers, Output& out) {
  for (std::size_t query = 0; query < answers.results.size(); ++query) {
    write_query(answers, query, out);
    out.write("\n");
  }
}

}  // namespace culmen::tools
