// Answers, rows and plans as JSON, the same from the program and from the server.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "coding/columns.h"
#include "coding/json_text.h"
#include "culmen/index.h"

namespace culmen {

std::string device_text(int device);  // "cpu", "cuda:0"

using TextSink = std::function<void(std::string_view)>;

// {"id":7,"label":"...","attributes":{...},"fields":{...}}: values by their columns' names, attributes and fields apart.
// Numbers read back to the same bits; dates and timestamps are ISO text; missing values are null.
std::string row_text(const Row& row, const IndexInfo& info, const std::vector<ShownColumn>& columns);

// {"id":7,"name":"...","price":...}: a row as JSON Lines have it, ids and labels among its columns, by their titles. Values are
// as above.
class FlatRows {
 public:
  // own: the names of the columns of ids and, if there are any, of labels.
  FlatRows(IndexInfo info, const std::vector<std::string>& own, std::vector<ShownColumn> columns);

  std::string text(const Row& row) const;

 private:
  IndexInfo info_;
  std::vector<ShownColumn> columns_;
  std::vector<std::string> keys_;  // "price": of all columns
};

// {"weights":{...},"results":[...],"stats":{...}}. Hit by hit: an answer may have as many rows as the index, and its JSON
// should not be in memory at once.
void write_answer_json(const Query& query, const SearchResult& result, const IndexInfo& info,
                       const std::vector<ShownColumn>& columns, const TextSink& write);

// {"weights":{...},"plan":{...}}
Json plan_json(const Query& query, const IndexInfo& info, const Explanation& plan);

}  // namespace culmen
