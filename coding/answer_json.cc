#include "coding/answer_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <variant>

#include "base/calendar.h"
#include "coding/cursor_text.h"

namespace culmen {
namespace {

// Answers are written straight to text: a tree of JSON values for every row takes longer than most searches.
void append_number(double value, std::string& text) {
  if (!std::isfinite(value)) {
    text += "null";
    return;
  }
  std::array<char, 64> digits;
  text.append(digits.data(), nlohmann::detail::to_chars(digits.data(), digits.data() + digits.size(), value));
}

void append_number(std::int64_t value, std::string& text) {
  std::array<char, 24> digits;
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void append_text(const std::string& value, std::string& text) {
  const bool is_plain = std::all_of(value.begin(), value.end(),
                                    [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (!is_plain) {
    text += json_text(value);
    return;
  }
  text += '"';
  text += value;
  text += '"';
}

void append_whole(std::int64_t value, const ColumnFormat& format, std::string& text) {
  if (format.type == ColumnType::boolean) {
    text += value != 0 ? "true" : "false";
  } else if (format.type == ColumnType::date) {
    append_text(exact_text(value, format), text);
  } else if (format.type == ColumnType::timestamp) {
    std::string time;
    append_timestamp(value, format, time, 'T');
    append_text(time, text);
  } else {
    append_number(value, text);
  }
}

void append_value(const FieldValue& value, const ColumnFormat& format, std::string& text) {
  if (const auto* const number = std::get_if<double>(&value)) {
    append_number(*number, text);
  } else if (const auto* const words = std::get_if<std::string>(&value)) {
    append_text(*words, text);
  } else if (const auto* const whole = std::get_if<std::int64_t>(&value)) {
    append_whole(*whole, format, text);
  } else {
    text += "null";
  }
}

// {"price":80.5,...}: the attributes, or the fields.
void append_columns(const Row& row, const std::vector<ShownColumn>& columns, bool attributes,
                    std::string& text) {
  text += '{';
  bool is_first = true;
  for (const ShownColumn& column : columns) {
    if (column.is_attribute != attributes) continue;
    if (!is_first) text += ',';
    is_first = false;
    append_text(column.name, text);
    text += ':';
    append_value(value_of(row, column), column.format, text);
  }
  text += '}';
}

void append_values(const Row& row, const IndexInfo& info, const std::vector<ShownColumn>& columns,
                   std::string& text) {
  if (info.has_labels) {
    text += ",\"label\":";
    append_text(row.label, text);
  }
  text += ",\"attributes\":";
  append_columns(row, columns, true, text);
  if (info.fields.empty()) return;
  text += ",\"fields\":";
  append_columns(row, columns, false, text);
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

std::string row_text(const Row& row, const IndexInfo& info, const std::vector<ShownColumn>& columns) {
  std::string text = "{\"id\":";
  append_number(row.id, text);
  append_values(row, info, columns, text);
  return text + '}';
}

void write_answer_json(const Query& query, const SearchResult& result, const IndexInfo& info,
                       const std::vector<ShownColumn>& columns, const TextSink& write) {
  write("{\"weights\":" + json_text(weights_json(query, info)) + ",\"results\":[");
  std::string hit;
  for (std::size_t rank = 0; rank < result.hits.size(); ++rank) {
    const Row row = result.row(rank);
    hit.assign(rank == 0 ? "{\"rank\":" : ",{\"rank\":");
    append_number(static_cast<std::int64_t>(rank + 1), hit);
    hit += ",\"id\":";
    append_number(row.id, hit);
    hit += ",\"score\":";
    append_number(result.hits[rank].score, hit);
    append_values(row, info, columns, hit);
    hit += '}';
    write(hit);
  }
  write("],\"after\":" + (result.hits.empty() ? "null" : json_text(cursor_text(result.hits.back()))));
  write(",\"stats\":" + json_text(stats_json(result.stats)) + '}');
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
