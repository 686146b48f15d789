// Tables with labels, fields and gaps, and what an index within a limit of memory answers otherwise than one that has all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "culmen/index.h"
#include "index/snapshot.h"
#include "tests/cases.h"
#include "tests/field_tables.h"

namespace culmen::test::limited {

inline const Schema kSchema = {.attributes = {{"a"}, {"b"}, {"c"}},
                               .has_labels = true,
                               .fields = {{"place", FieldRole::filter, {ColumnType::integer}},
                                          {"note", FieldRole::stored, {ColumnType::text}}}};

inline std::string label_of(std::int64_t id) {
  return std::string("row ").append(std::to_string(id));
}

inline culmen::Row row_of(Random& random, std::int64_t id) {
  return {id,
          {random.uniform(-1, 1), random.uniform(0, 1), static_cast<double>(random.below(8))},
          label_of(id),
          {random.chance(0.2) ? FieldValue() : FieldValue(id % 10), std::string("n")}};
}

inline std::vector<culmen::Row> some_rows(Random& random, std::int64_t first, std::int64_t last) {
  std::vector<culmen::Row> rows;
  for (std::int64_t id = first; id < last; ++id) rows.push_back(row_of(random, id));
  return rows;
}

inline Query random_query(Random& random) {
  Query query{.weights = {random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)},
              .k = random.pick<std::size_t>({1, 16, 300})};
  if (random.chance(0.3)) query.where = col("place") == static_cast<int>(random.below(12));
  if (random.chance(0.2)) query.scale = random.pick({Scale::minmax, Scale::zscore});
  return query;
}

// Of two answers to a query; empty: none.
inline std::string difference_of_answers(const SearchResult& found, const SearchResult& expected) {
  if (found.hits.size() != expected.hits.size()) return "another number of hits";
  for (std::size_t rank = 0; rank < found.hits.size(); ++rank) {
    if (found.hits[rank].id != expected.hits[rank].id || found.hits[rank].score != expected.hits[rank].score)
      return "another hit at " + std::to_string(rank);
    if (rank < 3 && found.label(rank) != expected.label(rank)) return "another label";
    if (rank < 3 && found.field(rank, "place") != expected.field(rank, "place")) return "another field";
  }
  return "";
}

// What a reader within a limit of memory says otherwise than one that has all; empty: nothing.
inline std::string difference_of_readers(const Index& limited, const Index& whole, Random& random) {
  const Query query = random_query(random);
  const SearchOptions options = {
      .engine = random.pick({Engine::automatic, Engine::bounded, Engine::scan, Engine::gta}),
      .num_threads = random.between(1, 2)};
  const SearchResult found = limited.search(query, options);
  if (std::string fault = difference_of_answers(found, whole.search(query, {.num_threads = 1}));
      !fault.empty())
    return fault;
  if (found.hits.empty()) return "";
  const Hit& last = found.hits.back();
  if (!(limited.get(last.id) == whole.get(last.id))) return "another row";
  if (limited.count_before(query, {last.score, last.id}) != found.hits.size() - 1) return "another rank";
  return "";
}

// The same of a batch of queries, some of which have what few do.
inline std::string difference_of_batches(const Index& limited, const Index& whole, Random& random) {
  std::vector<Query> queries;
  for (std::uint64_t q = 2 + random.below(30); q > 0; --q) {
    Query& query = queries.emplace_back(random_query(random));
    if (random.chance(0.2)) query.after = Cursor{random.uniform(-1, 1), random.between(0, 30'000)};
    if (random.chance(0.2))
      query.terms.push_back(ScoreTerm::near("c", random.uniform(0, 8)).times(random.uniform(-2, 2)));
    if (random.chance(0.2)) query.min_score = random.uniform(-1, 1);
    if (random.chance(0.1)) query.per = RowsPer{"place", 2};
    if (random.chance(0.1)) query.where = col("id").in({3, 700, 12'000});
  }
  const std::vector<SearchResult> found = limited.search(queries, {.num_threads = random.between(1, 3)});
  for (std::size_t q = 0; q < queries.size(); ++q)
    if (const std::string fault =
            difference_of_answers(found[q], whole.search(queries[q], {.num_threads = 1}));
        !fault.empty())
      return fault + " to query " + std::to_string(q) + " of a batch";
  return "";
}

}  // namespace culmen::test::limited
