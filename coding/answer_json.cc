#include "coding/answer_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "base/calendar.h"
#include "base/utf8.h"
#include "coding/answer_rows.h"
#include "coding/cursor_text.h"

namespace culmen {
namespace {

// Answers are written straight to text: a tree of JSON values takes longer than most searches.
void append_number(double value, std::string& text) {
  if (!std::isfinite(value)) {
    text += "null";
    return;
  }
  std::array<char, 64> digits{};
  text.append(digits.data(), nlohmann::detail::to_chars(digits.data(), digits.data() + digits.size(), value));
}

void append_number(std::int64_t value, std::string& text) {
  std::array<char, 24> digits{};
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void append_text(const std::string& value, std::string& text) {
  const bool is_plain = std::none_of(value.begin(), value.end(),
                                     [](unsigned char c) { return c < ' ' || c == '"' || c == '\\'; }) &&
                        find_invalid_utf8(value) == std::string_view::npos;
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

// "price":
std::string key_of(const std::string& name) {
  std::string key;
  append_text(name, key);
  return key + ':';
}

// Of each column.
std::vector<std::string> keys_of(const std::vector<ShownColumn>& columns) {
  std::vector<std::string> keys;
  for (const ShownColumn& column : columns) keys.push_back(key_of(column.name));
  return keys;
}

// {"price":80.5,...}: the attributes, or the fields.
void append_columns(const Row& row, const std::vector<ShownColumn>& columns,
                    const std::vector<std::string>& keys, bool attributes, std::string& text) {
  text += '{';
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].is_attribute != attributes) continue;
    if (text.back() != '{') text += ',';
    text += keys[i];
    append_value(value_of(row, columns[i]), columns[i].format, text);
  }
  text += '}';
}

void append_id(const Row& row, IdType type, std::string& text) {
  if (type == IdType::text) return append_text(row.label, text);
  text += id_text(row.id, type);
}

void append_values(const Row& row, const IndexInfo& info, const std::vector<ShownColumn>& columns,
                   const std::vector<std::string>& keys, std::string& text) {
  if (info.has_labels) {
    text += ",\"label\":";
    append_text(row.label, text);
  }
  text += ",\"attributes\":";
  append_columns(row, columns, keys, true, text);
  if (info.fields.empty()) return;
  text += ",\"fields\":";
  append_columns(row, columns, keys, false, text);
}

// {"price":-1.0,...}: by the attributes' names, without those that are 0.
void append_weights(const Query& query, const IndexInfo& info, std::string& text) {
  text += '{';
  for (std::size_t i = 0; i < query.weights.size(); ++i) {
    if (query.weights[i] == 0) continue;
    if (text.back() != '{') text += ',';
    append_text(info.attributes[i].name, text);
    text += ':';
    append_number(query.weights[i], text);
  }
  text += '}';
}

void append_count(std::string_view name, std::uint64_t count, std::string& text) {
  text += ",\"";
  text += name;
  text += "\":";
  append_number(static_cast<std::int64_t>(count), text);
}

void append_stats(const SearchStats& stats, std::string& text) {
  text += "{\"engine\":\"";
  text += engine_name(stats.engine);
  text += "\",\"device\":\"" + device_text(stats.device) + '"';
  append_count("rows_in_index", stats.rows_in_index, text);
  append_count("rows_scored", stats.rows_scored, text);
  append_count("rows_by_codes", stats.rows_by_codes, text);
  const double in_index = static_cast<double>(stats.rows_in_index);
  text += ",\"share_scored\":";
  append_number(in_index > 0 ? static_cast<double>(stats.rows_scored) / in_index : 0.0, text);
  append_count("leaves_visited", stats.leaves_visited, text);
  append_count("nodes_visited", stats.nodes_visited, text);
  append_count("bounds_computed", stats.bounds_computed, text);
  append_count("bytes_touched", stats.bytes_touched, text);
  append_count("ids_looked_up", stats.ids_looked_up, text);
  text += stats.by_id_map ? ",\"by_id_map\":true" : ",\"by_id_map\":false";
  text += ",\"elapsed_us\":";
  append_number(stats.elapsed_us, text);
  text += '}';
}

}  // namespace

std::string device_text(int device) {
  return device == kNoDevice ? "cpu" : "cuda:" + std::to_string(device);
}

std::string row_text(const Row& row, const IndexInfo& info, const std::vector<ShownColumn>& columns) {
  std::string text = "{\"id\":";
  append_id(row, info.id_type, text);
  append_values(row, info, columns, keys_of(columns), text);
  return text + '}';
}

FlatRows::FlatRows(IndexInfo info, const std::vector<std::string>& own, std::vector<ShownColumn> columns)
    : info_(std::move(info)), columns_(std::move(columns)) {
  for (const std::string& name : own) keys_.push_back(key_of(name));
  for (const ShownColumn& column : columns_) keys_.push_back(key_of(column.title));
}

std::string FlatRows::text(const Row& row) const {
  auto key = keys_.begin();
  std::string text = "{" + *key++;
  append_id(row, info_.id_type, text);
  if (info_.has_labels) {
    text += ',' + *key++;
    append_text(row.label, text);
  }
  for (const ShownColumn& column : columns_) {
    text += ',' + *key++;
    append_value(value_of(row, column), column.format, text);
  }
  return text + '}';
}

void write_answer_json(const Query& query, const SearchResult& result, const IndexInfo& info,
                       const std::vector<ShownColumn>& columns, const TextSink& write) {
  std::string hit = "{\"weights\":";
  append_weights(query, info, hit);
  write(hit + ",\"results\":[");
  const std::vector<std::string> keys = keys_of(columns);
  for_rows(result, [&](std::size_t rank, const Row& row) {
    hit.assign(rank == 0 ? "{\"rank\":" : ",{\"rank\":");
    append_number(static_cast<std::int64_t>(rank + 1), hit);
    hit += ",\"id\":";
    append_id(row, info.id_type, hit);
    hit += ",\"score\":";
    append_number(result.hits[rank].score, hit);
    append_values(row, info, columns, keys, hit);
    hit += '}';
    write(hit);
  });
  hit = "],\"after\":";
  if (result.hits.empty()) hit += "null";
  if (!result.hits.empty()) append_text(cursor_text(result), hit);
  hit += ",\"stats\":";
  append_stats(result.stats, hit);
  write(hit + '}');
}

Json plan_json(const Query& query, const IndexInfo& info, const Explanation& plan) {
  Json predictions = Json::array();
  for (const Prediction& prediction : plan.predictions)
    predictions.push_back({{"engine", engine_name(prediction.engine)},
                           {"device", device_text(prediction.device)},
                           {"elapsed_us", prediction.elapsed_us}});
  std::string weights;
  append_weights(query, info, weights);
  return {{"weights", Json::parse(weights)},
          {"plan",
           {{"engine", engine_name(plan.engine)},
            {"reason", plan.reason},
            {"predictions", predictions},
            {"text", plan.text}}}};
}

}  // namespace culmen
