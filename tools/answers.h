// The answers of a query command, in the formats that --format names. One file per format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "culmen/index.h"
#include "tools/output.h"

namespace culmen::tools {

struct Answers {
  const IndexInfo& info;
  std::span<const Query> queries;         // [num_queries]
  std::span<const SearchResult> results;  // [num_queries]
  bool batch;  // the queries came from a file: rows then say which one they answer, counted from 1
};

// Columns aligned for people; integers up to 2^53 whole, other numbers rounded.
void write_table(const Answers& answers, Output& out);

// Header query,rank,id,score,label,attributes... (query: batches only, label: if the index has labels; of the
// attributes their attribute_titles); numbers read back to the same bits, text quoted as in RFC 4180.
void write_csv(const Answers& answers, Output& out);

// {"queries":[...]} with one object a query; numbers read back to the same bits.
void write_json(const Answers& answers, Output& out);

// The same objects, one a line.
void write_jsonl(const Answers& answers, Output& out);

// A NumPy array [num_queries, k] of dtype [('id', '<i8'), ('score', '<f8')], no wider than there are rows in
// the index; slots without a row hold id -1 and score -inf. If the queries have no k, as wide as the longest
// answer.
void write_npy(const Answers& answers, Output& out);

}  // namespace culmen::tools
