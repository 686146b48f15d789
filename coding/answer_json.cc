#include "coding/answer_json.h"

#include <cstdint>
#include <string>
#include <variant>

#include "base/calendar.h"

namespace culmen {
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

void add_values(const Row& row, const IndexInfo& info, const std::vector<ShownColumn>& columns, Json& json) {
  if (info.has_labels) json["label"] = row.label;
  json["attributes"] = Json::object();
  if (!info.fields.empty()) json["fields"] = Json::object();
  for (const ShownColumn& column : columns)
    json[column.is_attribute ? "attributes" : "fields"][column.name] =
        value_json(value_of(row, column), column.format);
}

Json hit_json(const SearchResult& result, std::size_t rank, const IndexInfo& info,
              const std::vector<ShownColumn>& columns) {
  const Row row = result.row(rank);
  Json hit = {{"rank", rank + 1}, {"id", row.id}, {"score", result.hits[rank].score}};
  add_values(row, info, columns, hit);
  return hit;
}

Json stats_json(const SearchStats& stats) {
  const double in_index = static_cast<double>(stats.rows_in_index);
  return {{"engine", engine_name(stats.engine)},
          {"device", device_text(stats.device)},
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

}  // namespace

std::string device_text(int device) {
  return device == kNoDevice ? "cpu" : "cuda:" + std::to_string(device);
}

Json row_json(const Row& row, const IndexInfo& info, const std::vector<ShownColumn>& columns) {
  Json json = {{"id", row.id}};
  add_values(row, info, columns, json);
  return json;
}

void write_answer_json(const Query& query, const SearchResult& result, const IndexInfo& info,
                       const std::vector<ShownColumn>& columns, const TextSink& write) {
  write("{\"weights\":" + json_text(weights_json(query, info)) + ",\"results\":[");
  for (std::size_t rank = 0; rank < result.hits.size(); ++rank) {
    if (rank != 0) write(",");
    write(json_text(hit_json(result, rank, info, columns)));
  }
  write("],\"stats\":" + json_text(stats_json(result.stats)) + '}');
}

Json plan_json(const Query& query, const IndexInfo& info, const Explanation& plan) {
  Json predictions = Json::array();
  for (const Prediction& prediction : plan.predictions)
    predictions.push_back({{"engine", engine_name(prediction.engine)},
                           {"device", device_text(prediction.device)},
                           {"elapsed_us", prediction.elapsed_us}});
  return {{"weights", weights_json(query, info)},
          {"plan",
           {{"engine", engine_name(plan.engine)},
            {"reason", plan.reason},
            {"predictions", predictions},
            {"text", plan.text}}}};
}

}  // namespace culmen
