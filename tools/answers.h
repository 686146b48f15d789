// Writes the answers of a query command in the formats of --format. One file per format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "culmen/index.h"
#include "tools/output.h"
#include "tools/value_text.h"

namespace culmen::tools {

struct Answers {
  const IndexInfo& info;
  const std::vector<ShownColumn>& columns;
  std::span<const Query> queries;         // [num_queries]
  std::span<const SearchResult> results;  // [num_queries]
  bool batch;             // the queries are from a file: rows then have the number of their query, from 1
  std::size_t width = 0;  // of a table, in characters; 0: as wide as it is
};

// Columns of answers, besides those of the index.
inline const std::vector<std::string> kAnswerColumns = {"query", "rank", "id", "score", "label"};

// Aligned columns for people; integers up to 2^53 in full, other numbers rounded. Where it is too wide, texts are cut shorter and
// then columns left out, those of no weight and the last ones first. Returns the names of these.
std::vector<std::string> write_table(const Answers& answers, Output& out);

// Header query,rank,id,score,label,columns... (query: batches only; label: if the index has labels). Numbers read back to
// the same bits; text is quoted as in RFC 4180; the cell of a missing value is empty.
void write_csv(const Answers& answers, Output& out);

// {"queries":[...]} with one object per query, whose "after" is the cursor of the next page. Numbers read back to the same bits; dates and timestamps are ISO text;
// missing values are null.
void write_json(const Answers& answers, Output& out);

// The same objects, one per line.
void write_jsonl(const Answers& answers, Output& out);

// A NumPy array [num_queries, k] of dtype [('id', '<i8'), ('score', '<f8')], or '<u8' of ids of uint64, at most as wide as the index has rows, or
// as wide as the longest answer if the queries have no k. Elements without a row have the id -1, or the largest uint64, and the score -inf.
void write_npy(const Answers& answers, Output& out);

}  // namespace culmen::tools
