// What processes that hold the shards of a table say to each other, for culmen/_shards.py and culmen/_view.py. Messages
// and statistics are bytes, in the library's forms.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "answers.h"
#include "arrays.h"
#include "bindings.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "culmen/shard_messages.h"
#include "culmen/sharded_index.h"
#include "device_copy.h"
#include "gil.h"
#include "index/storage/current.h"
#include "index/storage/hex.h"
#include "index/storage/manifest.h"
#include "interrupt.h"
#include "names.h"
#include "queries.h"
#include "reports.h"
#include "row_columns.h"
#include "shard/generation.h"
#include "shard/shard_manifest.h"
#include "shard/table_info.h"
#include "tables.h"
#include "text.h"
#include "text_column.h"

namespace culmen::python {
namespace {

using Scores = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::bytes to_bytes(const std::vector<std::byte>& bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

std::span<const std::byte> bytes_view(const nb::bytes& bytes) {
  return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

// The least score of a row of interest for each of some queries; -infinity: any.
std::optional<double> least_score(const Scores& floors, std::size_t query) {
  const double floor = floors.data()[query];
  return std::isinf(floor) ? std::nullopt : std::optional(floor);
}

// One message for each list of numbers of queries. query_of(q) returns query q but for its min_score; floors:
// [all queries] which that is.
nb::list messages_of(const std::vector<Ids>& numbers, const Scores& floors, const auto& query_of) {
  std::vector<std::vector<std::byte>> messages(numbers.size());
  {
    const GilReleased released;
    tbb::parallel_for(std::size_t{0}, messages.size(), [&](std::size_t i) {
      std::vector<Query> queries;
      queries.reserve(numbers[i].size());
      for (const std::int64_t number : ids_view(numbers[i])) {
        queries.push_back(query_of(static_cast<std::size_t>(number)));
        queries.back().min_score = least_score(floors, static_cast<std::size_t>(number));
      }
      messages[i] = encode(queries);
    });
  }
  nb::list list;
  for (const std::vector<std::byte>& message : messages) list.append(to_bytes(message));
  return list;
}

// One query a row of the matrix.
nb::list queries_messages(const Index& names, const Matrix& weights, std::optional<std::size_t> k,
                          nb::handle where, const Scores& floors, std::string_view scale,
                          std::string_view missing, std::string_view terms, const std::vector<Ids>& numbers,
                          const GivenAfter& after, const GivenPer& per) {
  const MatrixQuery queries = matrix_query_of(names, weights, k, where, std::nullopt, scale, missing, terms);
  return messages_of(numbers, floors, [&](std::size_t q) {
    Query query = queries.query(q, weights.shape(1));
    set_page(after, per, query);
    return query;
  });
}

// The same for queries that each have a k and a filter. `first`: the number of the first one, for errors.
nb::list each_messages(const Index& names, const Matrix& weights, const nb::list& ks, const nb::list& wheres,
                       const Scores& floors, std::string_view scale, std::string_view missing,
                       std::string_view terms, const std::vector<Ids>& numbers, std::size_t first) {
  nb::list no_scores;
  for (std::size_t q = 0; q < weights.shape(0); ++q) no_scores.append(nb::none());
  const EachQuery each = each_query_of(names, weights, ks, wheres, no_scores, scale, missing, terms);
  const std::vector<Query> queries = queries_of(names, each, 0, each.num_queries(), first);
  return messages_of(numbers, floors, [&](std::size_t q) { return queries[q]; });
}

// For queries that a shard has refused: throws the refusal of the first one with its number. Returns if there is none.
void throw_refusal_by(const Index& names, const nb::bytes& statistics, const Matrix& weights,
                      std::optional<std::size_t> k, nb::handle where, std::optional<double> min_score,
                      std::string_view scale, std::string_view missing, std::string_view terms) {
  const TableStatistics whole = decode_statistics(bytes_view(statistics));
  throw_refusal(names, matrix_query_of(names, weights, k, where, min_score, scale, missing, terms),
                weights.shape(1), {.statistics = &whole});
}
void throw_refusal_of_each(const Index& names, const nb::bytes& statistics, const Matrix& weights,
                           const nb::list& ks, const nb::list& wheres, const nb::list& min_scores,
                           std::string_view scale, std::string_view missing, std::string_view terms) {
  const TableStatistics whole = decode_statistics(bytes_view(statistics));
  const EachQuery each = each_query_of(names, weights, ks, wheres, min_scores, scale, missing, terms);
  throw_refusal(names, queries_of(names, each, 0, each.num_queries()), 0, {.statistics = &whole});
}

SearchResult search_shards(const ShardedIndex& shards, nb::handle weights, std::optional<std::size_t> k,
                           nb::handle where, std::optional<double> min_score, std::string_view scale,
                           std::string_view missing, std::string_view terms, std::string_view engine,
                           int num_threads, const GivenAfter& after, const GivenPer& per) {
  Query query = query_of(shards.shard(0), weights, k, where, min_score, scale, missing, terms);
  set_page(after, per, query);
  const SearchOptions options = {
      .engine = parse_engine(engine), .num_threads = num_threads, .on_progress = watched()};
  const GilReleased released;
  return shards.search(query, options);
}

ManyAnswers search_matrix_in_shards(const ShardedIndex& shards, const Matrix& weights,
                                    std::optional<std::size_t> k, nb::handle where,
                                    std::optional<double> min_score, std::string_view scale,
                                    std::string_view missing, std::string_view terms, std::string_view engine,
                                    int num_threads, const nb::object& progress) {
  return search_many(
      shards, matrix_query_of(shards.shard(0), weights, k, where, min_score, scale, missing, terms),
      {.engine = parse_engine(engine), .num_threads = num_threads, .on_progress = watched(progress)});
}

ManyAnswers search_each_in_shards(const ShardedIndex& shards, const Matrix& weights, const nb::list& ks,
                                  const nb::list& wheres, const nb::list& min_scores, std::string_view scale,
                                  std::string_view missing, std::string_view terms, std::string_view engine,
                                  int num_threads, const nb::object& progress) {
  return search_many(
      shards, each_query_of(shards.shard(0), weights, ks, wheres, min_scores, scale, missing, terms),
      {.engine = parse_engine(engine), .num_threads = num_threads, .on_progress = watched(progress)});
}

// A copy on a GPU goes by its own rows, not by the statistics of all shards: so it answers neither queries that are
// scaled by these nor those with stand-ins; those with terms, for a page or for groups are for the CPU as well; and does
// not answer for another version than the index's.
std::vector<SearchResult> search_on_gpu(const DeviceCopy* copy, const Index& index,
                                        const std::vector<Query>& queries, const SearchOptions& options) {
  const auto is_for_gpu = [](const Query& query) {
    return query.scale == Scale::none && query.missing == Missing::skip && query.terms.empty() &&
           !query.after && !query.per;
  };
  if (copy == nullptr || !std::ranges::all_of(queries, is_for_gpu)) return index.search(queries, options);
  for (const Query& query : queries) (void)index.score_bound(query, options);  // refuses what all rows refuse
  std::vector<SearchResult> results = copy->on_gpu.search(queries, {.engine = options.engine});
  const bool is_this_version = results.empty() || results.front().version() == index.version();
  return is_this_version ? std::move(results) : index.search(queries, options);
}

// Of a shard: the number of hits of each query, all ids, all scores, the ids that are texts or None, the hits' columns as
// RowColumns has them (if `field_kinds` says which), and the statistics of all searches. copy: of the shard on a GPU, or
// null.
nb::tuple answer_queries(const Index& index, const DeviceCopy* copy, const nb::bytes& message,
                         const nb::bytes& statistics, std::string_view engine, int num_threads,
                         std::optional<std::string_view> field_kinds) {
  SearchOptions options = {.engine = parse_engine(engine), .num_threads = num_threads};
  std::vector<std::int64_t> counts, ids;
  std::vector<double> scores;
  const bool has_texts = index.schema().id_type == IdType::text;
  std::vector<std::string> texts;
  std::optional<RowColumns> rows;
  if (field_kinds) rows.emplace(*field_kinds);
  SearchStats stats;
  {
    const auto queries_bytes = bytes_view(message);
    const auto statistics_bytes = bytes_view(statistics);
    const GilReleased released;
    const TableStatistics whole = decode_statistics(statistics_bytes);
    options.statistics = &whole;
    const std::vector<SearchResult> results =
        search_on_gpu(copy, index, decode_queries(queries_bytes), options);
    for (const SearchResult& result : results) {
      counts.push_back(static_cast<std::int64_t>(result.hits.size()));
      for (const Hit& hit : result.hits) {
        ids.push_back(hit.id);
        scores.push_back(hit.score);
      }
      if (has_texts) {
        std::vector<std::string> labels = result.labels();  // which are the ids
        std::ranges::move(labels, std::back_inserter(texts));
      }
      if (rows) rows->add_hits(result);
    }
    if (!results.empty()) stats = results.front().stats;
    for (std::size_t q = 1; q < results.size(); ++q) stats += results[q].stats;
  }
  const nb::object columns = rows ? nb::object(rows->taken()) : nb::none();
  return nb::make_tuple(to_numpy(std::move(counts)), to_numpy(std::move(ids)), to_numpy(std::move(scores)),
                        has_texts ? nb::cast(texts) : nb::none(), columns, report(stats));
}

// The only query of a message, about the rows of one shard, and the statistics of all.
struct RowsQuery {
  RowsQuery(const nb::bytes& message, const nb::bytes& statistics)
      : query(decode_queries(bytes_view(message)).at(0)), whole(decode_statistics(bytes_view(statistics))) {}

  Query query;
  TableStatistics whole;
};

// Where the row with this id stands among those of the shard.
nb::object rank_in_shard(const Index& index, const nb::bytes& message, const nb::bytes& statistics,
                         const GivenId& id) {
  const RowsQuery of_rows(message, statistics);
  const SearchOptions options = {.statistics = &of_rows.whole};
  return report(without_gil([&] {
    return std::visit([&](const auto& given) { return index.rank_of(of_rows.query, given, options); }, id);
  }));
}

// How many rows of the shard rank before this place; without an id, how many score more.
std::uint64_t count_in_shard(const Index& index, const nb::bytes& message, const nb::bytes& statistics,
                             double score, const std::optional<GivenId>& id) {
  const RowsQuery of_rows(message, statistics);
  const SearchOptions options = {.statistics = &of_rows.whole};
  return without_gil([&] {
    return id ? index.count_before(of_rows.query, cursor_of(score, *id), options)
              : index.count_above(of_rows.query, score, options);
  });
}

// The reasons for the scores of one row or two, whose attributes these are, in a table with these statistics.
nb::tuple reasons_in_table(const Index& names, const nb::bytes& statistics, nb::handle weights,
                           std::string_view scale, std::string_view missing, const Matrix& attributes) {
  const Query query = query_of(names, weights, 1, nb::none(), std::nullopt, scale, missing, "");
  IndexInfo info = names.info();
  set_attributes(decode_statistics(bytes_view(statistics)), info);
  std::vector<Row> rows(attributes.shape(0));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double* const values = attributes.data() + r * attributes.shape(1);
    rows[r].values.assign(values, values + attributes.shape(1));
  }
  return reasons(query, rows, info);
}

// The hits of a shard: `counts` for each of the queries with these numbers, which ascend.
struct PartOfHits {
  std::span<const std::int64_t> queries, ids;
  std::span<const double> scores;
  std::vector<std::size_t> starts;  // of each query's hits
  std::size_t first_place;          // of its hits among those of all parts
};

// Each query's k best hits of all parts; a hit's row is its place among the hits of all parts. ks: [queries].
class PartsMerger {
 public:
  PartsMerger(std::vector<PartOfHits> parts, std::span<const std::int64_t> ks)
      : parts_(std::move(parts)), ks_(ks) {}

  // Appends the places and the counts of the queries in [first, end).
  void merge(std::size_t first, std::size_t end, std::vector<std::int64_t>& places,
             std::vector<std::int64_t>& counts) const {
    std::vector<std::vector<ShardHit>> best(end - first);
    for (const PartOfHits& part : parts_) add(part, first, end, best);
    for (const std::vector<ShardHit>& hits : best) {
      counts.push_back(static_cast<std::int64_t>(hits.size()));
      for (const ShardHit& hit : hits) places.push_back(static_cast<std::int64_t>(hit.row));
    }
  }

 private:
  void add(const PartOfHits& part, std::size_t first, std::size_t end,
           std::vector<std::vector<ShardHit>>& best) const {
    ShardAnswer answer;
    const auto from = std::ranges::lower_bound(part.queries, static_cast<std::int64_t>(first));
    for (auto i = static_cast<std::size_t>(from - part.queries.begin()); i < part.queries.size(); ++i) {
      const auto query = static_cast<std::size_t>(part.queries[i]);
      if (query >= end) return;
      answer.hits.clear();
      for (std::size_t hit = part.starts[i]; hit < part.starts[i + 1]; ++hit)
        answer.hits.push_back({part.ids[hit], part.scores[hit], part.first_place + hit});
      add_to(best[query - first], {&answer, 1}, static_cast<std::size_t>(ks_[query]));
    }
  }

  std::vector<PartOfHits> parts_;
  std::span<const std::int64_t> ks_;
};

// The k best hits of all parts, of each query one after the other: their places among the hits of all parts, and how
// many they are. ks: of each query; the largest integer for all rows.
nb::tuple merge_parts(const std::vector<std::tuple<Ids, Ids, Ids, Scores>>& arrays, const Ids& ks) {
  constexpr std::size_t kQueriesAtOnce = 512;
  const std::size_t num_queries = ks.size();
  std::vector<std::int64_t> places, counts;
  {
    const GilReleased released;
    std::vector<PartOfHits> parts;
    std::size_t first_place = 0;
    for (const auto& [queries, of_queries, ids, scores] : arrays) {
      std::vector<std::size_t> starts(1, 0);
      for (const std::int64_t count : ids_view(of_queries))
        starts.push_back(starts.back() + static_cast<std::size_t>(count));
      parts.push_back(
          {ids_view(queries), ids_view(ids), {scores.data(), scores.size()}, std::move(starts), first_place});
      first_place += ids.size();
    }
    const PartsMerger merger(std::move(parts), ids_view(ks));
    struct Merged {
      std::vector<std::int64_t> places, counts;
    };
    std::vector<Merged> merged((num_queries + kQueriesAtOnce - 1) / kQueriesAtOnce);
    tbb::parallel_for(std::size_t{0}, merged.size(), [&](std::size_t i) {
      const std::size_t first = i * kQueriesAtOnce;
      merger.merge(first, std::min(num_queries, first + kQueriesAtOnce), merged[i].places, merged[i].counts);
    });
    for (const Merged& some : merged) {
      places.insert(places.end(), some.places.begin(), some.places.end());
      counts.insert(counts.end(), some.counts.begin(), some.counts.end());
    }
  }
  return nb::make_tuple(to_numpy(std::move(places)), to_numpy(std::move(counts)));
}

// The number of rows, and of each attribute: minimum, maximum, whether it has values, whether some are missing, and
// what stands in for these, or None; then its mean and deviation, if the statistics are for scale="zscore", or its quantiles,
// if they are for scale="rank".
nb::dict statistics_report(const nb::bytes& statistics) {
  const TableStatistics table = decode_statistics(bytes_view(statistics));
  nb::list attributes;
  for (const AttributeStatistics& a : table.attributes)
    attributes.append(nb::make_tuple(a.minimum, a.maximum, a.has_values, a.has_missing, a.stand_in));
  nb::dict report;
  report["num_rows"] = table.num_rows;
  report["attributes"] = attributes;
  nb::list spreads;
  for (const AttributeStatistics& a : table.attributes)
    if (a.spread) spreads.append(nb::make_tuple(a.spread->mean, a.spread->deviation));
  report["spreads"] = spreads;
  nb::list quantiles;
  for (const AttributeStatistics& a : table.attributes)
    if (a.quantiles) quantiles.append(to_numpy(std::vector<double>(*a.quantiles)));
  report["quantiles"] = quantiles;
  return report;
}

nb::bytes merge_statistics(const std::vector<nb::bytes>& parts) {
  std::vector<TableStatistics> tables;
  for (const nb::bytes& part : parts) tables.push_back(decode_statistics(bytes_view(part)));
  return to_bytes(encode(merge(tables)));
}

nb::ndarray<nb::numpy, std::uint32_t> shards_of(const Ids& ids, std::uint32_t num_shards) {
  std::vector<std::uint32_t> shards;
  for (const std::int64_t id : ids_view(ids)) shards.push_back(shard_of(id, num_shards));
  return to_numpy(std::move(shards));
}

nb::ndarray<nb::numpy, std::uint32_t> shards_of_texts(const TextColumn& texts, std::uint32_t num_shards) {
  const LabelsView view = texts.view().texts;
  std::vector<std::uint32_t> shards;
  for (std::size_t i = 0; i < texts.size(); ++i) shards.push_back(shard_of(view[i], num_shards));
  return to_numpy(std::move(shards));
}

nb::dict report_of(const ShardInfo& shard) {
  nb::dict report;
  report["directory"] = shard.directory;
  report["uuid"] = shard.uuid;
  report["version"] = shard.version;
  report["statistics"] = to_bytes(encode(shard.statistics));
  return report;
}

nb::list listed_shards(const nb::bytes& directory) {
  nb::list shards;
  for (const ShardInfo& shard : ShardedIndex::listed(path_of(directory))) shards.append(report_of(shard));
  return shards;
}

// Of the index in a directory: uuid and version.
nb::tuple saved_version(const nb::bytes& directory) {
  const std::string path = path_of(directory);
  const auto files = storage::posix().open_directory(path);
  const storage::Manifest manifest =
      storage::read_manifest(*files, storage::parse_current(storage::read_current_text(*files), path));
  return nb::make_tuple(hex_of(manifest.index_uuid), manifest.version);
}

// Who has it is the only one to change a sharded index, until it is released.
class ShardsLock {
 public:
  explicit ShardsLock(const nb::bytes& directory)
      : files_(storage::posix().open_directory(path_of(directory))),
        lock_(files_->lock(storage::kLockName)),
        manifest_(read_shard_manifest(*files_)) {}

  // Reserves consecutive ids, durably, from `least` on at the least. Returns the first.
  std::int64_t reserve_ids(std::int64_t count, std::int64_t least) {
    const std::int64_t first = std::max(manifest_.next_id, least);
    if (count > std::numeric_limits<std::int64_t>::max() - first)
      throw InvalidArgument("there are no more ids to assign");
    manifest_.next_id = first + count;
    write();
    return first;
  }

  // Of all shards, version and statistics.
  void note(const std::vector<std::pair<std::uint64_t, nb::bytes>>& shards) {
    for (std::size_t s = 0; s < manifest_.shards.size(); ++s) {
      manifest_.shards[s].version = shards.at(s).first;
      manifest_.shards[s].statistics = decode_statistics(bytes_view(shards[s].second));
    }
    write();
  }

 private:
  void write() const {
    bool switched = false;
    write_shard_manifest(*files_, manifest_, switched);
  }

  std::unique_ptr<storage::Directory> files_;
  std::unique_ptr<storage::DirectoryLock> lock_;
  ShardManifest manifest_;
};

std::uint64_t generation_after(const nb::bytes& directory, bool overwrite) {
  return next_generation(*storage::posix().open_directory(path_of(directory)), overwrite);
}

// Writes the manifest of shards that were built in the directory, each a uuid, a version and statistics, and removes what
// they replace.
void write_shards(const nb::bytes& directory, std::uint64_t generation, std::int64_t next_id,
                  const nb::list& shards) {
  const auto files = storage::posix().open_directory(path_of(directory));
  const auto lock = files->lock(storage::kLockName);
  ShardManifest manifest;
  manifest.uuid = storage::posix().random_uuid();
  manifest.generation = generation;
  manifest.next_id = next_id;
  for (const nb::handle shard : shards) {
    Uuid uuid = {};
    if (!storage::from_hex(nb::cast<std::string>(shard[0]), uuid))
      throw InvalidArgument("a shard has no uuid");
    manifest.shards.push_back({uuid, nb::cast<std::uint64_t>(shard[1]),
                               decode_statistics(bytes_view(nb::cast<nb::bytes>(shard[2])))});
  }
  bool switched = false;
  write_shard_manifest(*files, manifest, switched);
  remove_replaced(*files, generation);
}

}  // namespace

void bind_shard_calls(nb::module_& module) {
  module.def("weights_of",
             [](const Index& names, nb::handle weights) { return to_numpy(weights_of(names, weights)); });
  module.def("queries_messages", queries_messages, nb::arg("names"), nb::arg("weights"), nb::arg("k").none(),
             nb::arg("where").none(), nb::arg("floors"), nb::arg("scale"), nb::arg("missing"),
             nb::arg("terms"), nb::arg("numbers"), nb::arg("after") = nb::none(),
             nb::arg("per") = nb::none());
  module.def("each_messages", each_messages, nb::arg("names"), nb::arg("weights"), nb::arg("ks"),
             nb::arg("wheres"), nb::arg("floors"), nb::arg("scale"), nb::arg("missing"), nb::arg("terms"),
             nb::arg("numbers"), nb::arg("first"));
  module.def("throw_refusal", throw_refusal_by, nb::arg("names"), nb::arg("statistics"), nb::arg("weights"),
             nb::arg("k").none(), nb::arg("where").none(), nb::arg("min_score").none(), nb::arg("scale"),
             nb::arg("missing"), nb::arg("terms"));
  module.def("throw_refusal_of_each", throw_refusal_of_each, nb::arg("names"), nb::arg("statistics"),
             nb::arg("weights"), nb::arg("ks"), nb::arg("wheres"), nb::arg("min_scores"), nb::arg("scale"),
             nb::arg("missing"), nb::arg("terms"));
  module.def("answer_queries", answer_queries, nb::arg("index"), nb::arg("copy").none(), nb::arg("message"),
             nb::arg("statistics"), nb::arg("engine"), nb::arg("num_threads"), nb::arg("field_kinds").none());
  module.def("rank_in_shard", rank_in_shard, nb::arg("index"), nb::arg("message"), nb::arg("statistics"),
             nb::arg("id"));
  module.def("count_in_shard", count_in_shard, nb::arg("index"), nb::arg("message"), nb::arg("statistics"),
             nb::arg("score"), nb::arg("id").none());
  module.def("reasons", reasons_in_table, nb::arg("names"), nb::arg("statistics"), nb::arg("weights"),
             nb::arg("scale"), nb::arg("missing"), nb::arg("rows"));
  nb::class_<ShardedIndex>(module, "OpenShards")
      .def_static("of",
                  [](const std::vector<Index>& shards) {
                    return without_gil([&] { return ShardedIndex::of(shards); });
                  })
      .def("search", search_shards, nb::arg("weights"), nb::arg("k").none(), nb::arg("where").none(),
           nb::arg("min_score").none(), nb::arg("scale"), nb::arg("missing"), nb::arg("terms"),
           nb::arg("engine"), nb::arg("num_threads"), nb::arg("after").none(), nb::arg("per").none())
      .def("search_matrix", search_matrix_in_shards, nb::arg("weights"), nb::arg("k").none(),
           nb::arg("where").none(), nb::arg("min_score").none(), nb::arg("scale"), nb::arg("missing"),
           nb::arg("terms"), nb::arg("engine"), nb::arg("num_threads"), nb::arg("progress").none())
      .def("search_each", search_each_in_shards, nb::arg("weights"), nb::arg("ks"), nb::arg("wheres"),
           nb::arg("min_scores"), nb::arg("scale"), nb::arg("missing"), nb::arg("terms"), nb::arg("engine"),
           nb::arg("num_threads"), nb::arg("progress").none())
      .def("get", rows_of_ids<ShardedIndex>)
      .def("get_texts", rows_of_texts<ShardedIndex>);
  module.def("merge_parts", merge_parts, nb::arg("parts"), nb::arg("ks"));
  module.def(
      "statistics",
      [](const Index& index, std::string_view scale) {
        const Scale of = kScales.parse(scale);
        return to_bytes(encode(without_gil([&] { return index.statistics(of); })));
      },
      nb::arg("index"), nb::arg("scale"));
  module.def("statistics_report", statistics_report);
  module.def("merge_statistics", merge_statistics);
  module.def("shards_of", shards_of);
  module.def("shards_of_texts", shards_of_texts);
  module.def("listed_shards", listed_shards);
  module.def("is_sharded",
             [](const nb::bytes& directory) { return ShardedIndex::is_at(path_of(directory)); });
  nb::class_<ShardsLock>(module, "ShardsLock")
      .def(nb::init<nb::bytes>())
      .def("reserve_ids", &ShardsLock::reserve_ids)
      .def("note", &ShardsLock::note);
  module.def("rebalance_shards", [](const nb::bytes& directory, std::uint32_t num_shards, int num_threads) {
    const std::string path = path_of(directory);
    without_gil([&] { ShardedIndex::rebalance(path, num_shards, {.num_threads = num_threads}); });
  });
  module.def("saved_version", saved_version);
  module.def("next_generation", generation_after, nb::arg("directory"), nb::arg("overwrite"));
  module.def("write_shards", write_shards);
}

}  // namespace culmen::python
