#include <string>
#include <variant>

#include "base/calendar.h"
#include "tools/answers.h"
#include "tools/json_text.h"
#include "tools/row_questions.h"

namespace culmen::tools {
namespace {

Json value_json(const FieldValue& value, const ColumnFormat& format) {
  if (const auto* const number = std::get_if<double>(&value)) return *number;
  if (const auto* const text = std::get_if<std::string>(&value)) return *text;
  const auto* const whole = std::get_if<std::int64_t>(&value);
  if (whole == nullptr) return nullptr;
  if (format.type == ColumnType::boolean) return *whole != 0;
  if (format.type == ColumnType::date) return exact_text(value, format);
  if (format.type != ColumnType::timestamp) return *whole;
  std::string time;
  append_timestamp(*whole, format, time, 'T');
  return time;
}

// Values by their columns' names, attributes and fields apart.
Json hit_json(const SearchResult& result, std::size_t rank, const Answers& answers) {
  const Row row = result.row(rank);
  Json hit = {{"rank", rank + 1}, {"id", row.id}, {"score", result.hits[rank].score}};
  if (answers.info.has_labels) hit["label"] = row.label;
  hit["attributes"] = Json::object();
  if (!answers.info.fields.empty()) hit["fields"] = Json::object();
  for (const ShownColumn& column : answers.columns)
    hit[column.is_attribute ? "attributes" : "fields"][column.name] =
        value_json(value_of(row, column), column.format);
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
          {"ids_looked_up", stats.ids_looked_up},
          {"by_id_map", stats.by_id_map},
          {"elapsed_us", stats.elapsed_us}};
}

// Writes hit by hit: an answer may have as many rows as the index, and its JSON should not be in memory at once.
void write_query(const Answers& answers, std::size_t query, Output& out) {
  const SearchResult& result = answers.results[query];
  out.write("{\"weights\":" + json_text(weights_json(answers.queries[query], answers.info)) +
            ",\"results\":[");
  for (std::size_t rank = 0; rank < result.hits.size(); ++rank) {
    if (rank != 0) out.write(",");
    out.write(json_text(hit_json(result, rank, answers)));
  }
  out.write("],\"after\":" +
            json_text(result.hits.empty() ? Json(nullptr) : Json(cursor_text(result.hits.back()))));
  out.write(",\"stats\":" + json_text(stats_json(result.stats)) + '}');
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
