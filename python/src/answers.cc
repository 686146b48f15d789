#include "answers.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "arrays.h"
#include "bindings.h"
#include "culmen/error.h"
#include "gil.h"
#include "reports.h"
#include "row_columns.h"
#include "tables.h"

namespace culmen::python {
namespace {

template <typename T, typename Get>
nb::ndarray<nb::numpy, T> of_hits(const SearchResult& result, Get get) {
  std::vector<T> values;
  values.reserve(result.hits.size());
  for (const Hit& hit : result.hits) values.push_back(get(hit));
  return to_numpy(std::move(values));
}

// Of one attribute, NaN where it is missing.
nb::ndarray<nb::numpy, double> attribute_of(const SearchResult& result, int attribute) {
  std::vector<double> values;
  values.reserve(result.hits.size());
  for (std::size_t rank = 0; rank < result.hits.size(); ++rank)
    values.push_back(result.attribute(rank, attribute));
  return to_numpy(std::move(values));
}

nb::list labels_of(const SearchResult& result) {
  nb::list labels;
  for (const std::string& label : result.labels()) labels.append(label);
  return labels;
}

// As RowColumns has them, of the hits at these ranks.
nb::tuple rows_at(const SearchResult& result, const Ids& ranks, std::string_view field_kinds) {
  RowColumns columns(field_kinds);
  {
    const GilReleased released;
    const std::span<const std::int64_t> all = ids_view(ranks);
    columns.add_hits(result, std::vector<std::size_t>(all.begin(), all.end()));
  }
  return columns.taken();
}

// Queries of a part of a batch: each part needs memory for its queries and results.
constexpr std::size_t kAtOnce = 4096;

// For the part that begins with query `first` of all. The options must live as long.
SearchOptions counting_from(const SearchOptions& options, std::size_t first, std::size_t num_queries) {
  SearchOptions of_part = options;
  if (options.on_progress)
    of_part.on_progress = [&options, first, num_queries](std::size_t answered, std::size_t /*queries*/) {
      options.on_progress(first + answered, num_queries);
    };
  return of_part;
}

bool has_shards_of_texts(const Index& /*index*/) {
  return false;
}
bool has_shards_of_texts(const ShardedIndex& index) {
  return index.schema().id_type == IdType::text;
}

template <typename AnyIndex>
ManyAnswers many_of(LongAnswers& answers, const AnyIndex& version, std::size_t least_width = 0) {
  std::optional<std::vector<std::string>> texts;
  if (has_shards_of_texts(version)) texts = answers.number_texts();
  return {answers.padded(version.version(), least_width), version, std::move(texts)};
}

template <typename AnyIndex>
LongAnswers search_long(const AnyIndex& version, const MatrixQuery& query, std::size_t width,
                        const SearchOptions& options) {
  const std::size_t num_queries = query.batch.weights.size() / width;
  LongAnswers answers(has_shards_of_texts(version));
  for (std::size_t first = 0; first < num_queries; first += kAtOnce)
    answers.append(version.search(queries_of(query, width, first, std::min(kAtOnce, num_queries - first)),
                                  counting_from(options, first, num_queries)));
  return answers;
}

template <typename AnyIndex>
ManyAnswers search_into(const AnyIndex& version, const MatrixQuery& query, std::size_t width,
                        const SearchOptions& options, const std::optional<AnswerArrays>& out) {
  if (!query.has_k || has_shards_of_texts(version)) {
    LongAnswers answers = search_long(version, query, width, options);
    const auto num_rows = static_cast<std::size_t>(version.info().num_rows);
    return many_of(answers, version, query.has_k ? std::min(query.batch.k, num_rows) : 0);
  }
  if (!out) return {version.search_batch(query.batch, options), version};
  BatchAnswers elsewhere;
  elsewhere.num_queries = out->counts.size();
  elsewhere.version = version.search_batch(query.batch, *out, options);
  return {elsewhere, version};
}

template <typename AnyIndex>
ManyAnswers search_version(const AnyIndex& index, const MatrixQuery& query, const SearchOptions& options,
                           const std::optional<AnswerArrays>& out = std::nullopt) {
  const GilReleased released;
  const AnyIndex version = index.snapshot();
  const std::size_t width = version.info().attributes.size();
  try {
    return search_into(version, query, width, options, out);
  } catch (const InvalidArgument&) {
    throw_refusal(version, query, width);
    throw;
  }
}

const Index& with_names(const Index& index) {
  return index;
}
Index with_names(const ShardedIndex& index) {
  return index.shard(0);
}

template <typename AnyIndex>
ManyAnswers search_each(const AnyIndex& index, const EachQuery& each, const SearchOptions& options) {
  const AnyIndex version = index.snapshot();
  const Index& names = with_names(version);
  const std::size_t num_queries = each.num_queries();
  LongAnswers answers(has_shards_of_texts(version));
  for (std::size_t first = 0; first < num_queries; first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, num_queries - first);
    const std::vector<Query> queries = queries_of(names, each, first, count);
    const SearchOptions of_part = counting_from(options, first, num_queries);
    const GilReleased released;
    try {
      answers.append(version.search(queries, of_part));
    } catch (const InvalidArgument&) {
      throw_refusal(version, queries, first);
      throw;
    }
  }
  return many_of(answers, version);
}

// An answer is rows of a version of an index, which stays in this process.
nb::tuple refuse_pickling(nb::handle /*self*/) {
  throw nb::type_error(
      "an answer is not pickled: send to_dict(), or a table that to_pandas() and to_arrow() make");
}

}  // namespace

std::optional<AnswerArrays> arrays_of(const Out& out) {
  if (!out) return std::nullopt;
  const auto& [ids, scores, counts] = *out;
  return AnswerArrays{
      {ids.data(), ids.size()}, {scores.data(), scores.size()}, {counts.data(), counts.size()}};
}

ManyAnswers search_many(const Index& index, const MatrixQuery& query, const SearchOptions& options,
                        const std::optional<AnswerArrays>& out) {
  return search_version(index, query, options, out);
}

ManyAnswers search_many(const Index& index, const EachQuery& each, const SearchOptions& options) {
  return search_each(index, each, options);
}

ManyAnswers search_many(const ShardedIndex& index, const MatrixQuery& query, const SearchOptions& options) {
  return search_version(index, query, options);
}

ManyAnswers search_many(const ShardedIndex& index, const EachQuery& each, const SearchOptions& options) {
  return search_each(index, each, options);
}

void LongAnswers::append(const std::vector<SearchResult>& results) {
  for (const SearchResult& result : results) {
    hits_.push_back(result.hits);
    if (!with_texts_) continue;
    std::vector<std::string> texts = result.labels();  // which are the ids
    std::ranges::move(texts, std::back_inserter(texts_));
  }
}

std::vector<std::string> LongAnswers::number_texts() {
  std::vector<std::string> distinct = texts_;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  auto text = texts_.begin();
  for (std::vector<Hit>& hits : hits_)
    for (Hit& hit : hits) hit.id = std::ranges::lower_bound(distinct, *text++) - distinct.begin();
  return distinct;
}

BatchAnswers LongAnswers::padded(std::uint64_t version, std::size_t least_width) const {
  BatchAnswers answers;
  answers.k = least_width;
  answers.num_queries = hits_.size();
  answers.version = version;
  for (const std::vector<Hit>& hits : hits_) {
    answers.k = std::max(answers.k, hits.size());
    answers.counts.push_back(static_cast<std::uint32_t>(hits.size()));
  }
  answers.ids.reserve(hits_.size() * answers.k);
  answers.scores.reserve(hits_.size() * answers.k);
  for (const std::vector<Hit>& hits : hits_) {
    for (const Hit& hit : hits) {
      answers.ids.push_back(hit.id);
      answers.scores.push_back(hit.score);
    }
    answers.ids.resize(answers.ids.size() + answers.k - hits.size(), -1);
    answers.scores.resize(answers.ids.size(), -std::numeric_limits<double>::infinity());
  }
  return answers;
}

std::vector<Query> queries_of(const MatrixQuery& query, std::size_t width, std::size_t first,
                              std::size_t count) {
  std::vector<Query> queries;
  queries.reserve(count);
  for (std::size_t q = first; q < first + count; ++q) queries.push_back(query.query(q, width));
  return queries;
}

void bind_answers(nb::module_& module) {
  // Arrays own what they point to.
  nb::class_<SearchResult>(module, "Answer")
      .def("__reduce__", refuse_pickling)
      .def("__len__", [](const SearchResult& result) { return result.hits.size(); })
      .def_prop_ro(
          "ids",
          [](const SearchResult& result) {
            return of_hits<std::int64_t>(result, [](const Hit& hit) { return hit.id; });
          },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "scores",
          [](const SearchResult& result) {
            return of_hits<double>(result, [](const Hit& hit) { return hit.score; });
          },
          nb::rv_policy::automatic)
      .def("attribute", attribute_of, nb::rv_policy::automatic)
      .def_prop_ro("labels", labels_of)
      .def_prop_ro("has_labels", &SearchResult::has_labels)
      .def("rows_at", rows_at)
      .def_prop_ro("version", &SearchResult::version)
      .def_prop_ro("stats", [](const SearchResult& result) { return report(result.stats); });

  nb::class_<ManyAnswers>(module, "ManyAnswers")
      .def("__reduce__", refuse_pickling)
      .def("__len__", [](const ManyAnswers& many) { return many.answers.num_queries; })
      .def_prop_ro(
          "ids",
          [](const ManyAnswers& many) {
            return to_numpy(many.answers.ids, {many.answers.num_queries, many.answers.k});
          },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "scores",
          [](const ManyAnswers& many) {
            return to_numpy(many.answers.scores, {many.answers.num_queries, many.answers.k});
          },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "counts", [](const ManyAnswers& many) { return to_numpy(many.answers.counts); },
          nb::rv_policy::automatic)
      .def_prop_ro("version", [](const ManyAnswers& many) { return many.answers.version; })
      .def_prop_ro("index", [](const ManyAnswers& many) { return many.index; })
      .def_prop_ro("texts", [](const ManyAnswers& many) { return many.texts; });
}

}  // namespace culmen::python
