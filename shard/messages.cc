#include "culmen/shard_messages.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "culmen/error.h"
#include "shard/bytes.h"

namespace culmen {
namespace {

constexpr std::string_view kQueriesName = "CLMQ";
constexpr std::uint32_t kQueriesVersion = 3;
constexpr std::string_view kFilterName = "CLMF";
constexpr std::uint32_t kFilterVersion = 1;
constexpr std::string_view kAnswersName = "CLMA";
constexpr std::uint32_t kAnswersVersion = 2;

enum class ColumnKind : std::uint8_t { id, position, name };
enum class LiteralKind : std::uint8_t { number, integer, text, large_integer };

// ---- Filters

void write_column(const Column& column, ByteWriter& out) {
  if (!column.attribute()) return out.choice(ColumnKind::id);
  if (const int* position = std::get_if<int>(&*column.attribute())) {
    out.choice(ColumnKind::position);
    return out.number(static_cast<std::int32_t>(*position));
  }
  out.choice(ColumnKind::name);
  out.text(std::get<std::string>(*column.attribute()));
}

Column read_column(ByteReader& in) {
  switch (in.choice(ColumnKind::name)) {
    case ColumnKind::id:
      return Column::id();
    case ColumnKind::position:
      return col(static_cast<int>(in.number<std::int32_t>()));
    case ColumnKind::name:
      break;
  }
  return col(in.text());
}

void write_literal(const Literal& literal, ByteWriter& out) {
  if (const double* number = std::get_if<double>(&literal)) {
    out.choice(LiteralKind::number);
    out.number(*number);
  } else if (const std::int64_t* integer = std::get_if<std::int64_t>(&literal)) {
    out.choice(LiteralKind::integer);
    out.number(*integer);
  } else if (const LargeInteger* large = std::get_if<LargeInteger>(&literal)) {
    out.choice(LiteralKind::large_integer);
    out.number(large->value);
  } else {
    out.choice(LiteralKind::text);
    out.text(std::get<std::string>(literal));
  }
}

Literal read_literal(ByteReader& in) {
  switch (in.choice(LiteralKind::large_integer)) {
    case LiteralKind::number:
      return in.number<double>();
    case LiteralKind::integer:
      return in.number<std::int64_t>();
    case LiteralKind::large_integer:
      return LargeInteger{in.number<std::uint64_t>()};
    case LiteralKind::text:
      break;
  }
  return in.text();
}

// Filters of kind id_set whose set is of uint64, or of texts; other filters are written with their kind.
constexpr auto kUint64Set = static_cast<Filter::Kind>(static_cast<int>(Filter::Kind::negation) + 1);
constexpr auto kTextSet = static_cast<Filter::Kind>(static_cast<int>(Filter::Kind::negation) + 2);

Filter::Kind kind_of(const Filter& filter) {
  if (filter.kind() != Filter::Kind::id_set || filter.ids().type() == IdType::int64) return filter.kind();
  return filter.ids().type() == IdType::uint64 ? kUint64Set : kTextSet;
}

void write_texts(const std::vector<std::string>& texts, ByteWriter& out) {
  out.number(static_cast<std::uint64_t>(texts.size()));
  for (const std::string& text : texts) out.text(text);
}

std::vector<std::string> read_texts(ByteReader& in) {
  std::vector<std::string> texts(in.count(sizeof(std::uint64_t)));
  for (std::string& text : texts) text = in.text();
  return texts;
}

void write_filter(const Filter& filter, ByteWriter& out) {
  const Filter::Kind kind = kind_of(filter);
  out.choice(kind);
  if (kind == kTextSet) return write_texts(filter.ids().texts(), out);
  if (filter.kind() == Filter::Kind::condition) {
    const Condition& condition = filter.condition();
    write_column(condition.column, out);
    out.choice(condition.comparison);
    out.number(static_cast<std::uint64_t>(condition.values.size()));
    for (const Literal& literal : condition.values) write_literal(literal, out);
    return;
  }
  if (filter.kind() == Filter::Kind::id_set) {
    const std::vector<std::byte> bytes = filter.ids().to_bytes();
    return out.text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  out.number(static_cast<std::uint64_t>(filter.parts().size()));
  for (const Filter& part : filter.parts()) write_filter(part, out);
}

Filter read_condition(ByteReader& in) {
  Condition condition{read_column(in), in.choice(Comparison::is_not_null), {}};
  const std::size_t count = in.count(sizeof(LiteralKind) + sizeof(std::uint64_t));
  for (std::size_t i = 0; i < count; ++i) condition.values.push_back(read_literal(in));
  return Filter(std::move(condition));
}

// depth: what is left for the parts.
Filter read_filter(ByteReader& in, int depth) {
  const auto kind = in.choice(kTextSet);
  if (kind == Filter::Kind::condition) return read_condition(in);
  if (kind == Filter::Kind::id_set || kind == kUint64Set) {
    const std::string bytes = in.text();
    const IdType type = kind == kUint64Set ? IdType::uint64 : IdType::int64;
    return Filter::ids_in(IdSet::from_bytes(std::as_bytes(std::span(bytes)), type));
  }
  if (kind == kTextSet) {
    const std::vector<std::string> texts = read_texts(in);
    return Filter::ids_in(IdSet(std::vector<std::string_view>(texts.begin(), texts.end())));
  }
  const std::size_t count = in.count(1);
  if (depth == 0 && count > 0) in.fail("have a filter that is nested too deep");
  std::vector<Filter> parts;
  for (std::size_t i = 0; i < count; ++i) parts.push_back(read_filter(in, depth - 1));
  if (kind == Filter::Kind::everything && count == 0) return {};
  if (kind == Filter::Kind::negation && count == 1) return !parts.front();
  if (kind == Filter::Kind::all_of && count > 1) return Filter::all_of(parts);
  if (kind == Filter::Kind::any_of && count > 1) return Filter::any_of(parts);
  in.fail("have a filter with a wrong number of parts");
}

// ---- Score terms

void write_term(const ScoreTerm& term, ByteWriter& out) {
  out.choice(term.function);
  out.number(term.weight);
  if (term.function == TermFunction::when) return write_filter(term.condition, out);
  write_column(Column(term.column), out);
  write_literal(term.origin, out);
  out.number(term.scale);
}

ScoreTerm read_term(ByteReader& in) {
  ScoreTerm term;
  term.function = in.choice(TermFunction::when);
  term.weight = in.number<double>();
  if (term.function == TermFunction::when) {
    term.condition = read_filter(in, Filter::kMaxDepth);
    return term;
  }
  const Column column = read_column(in);
  if (!column.attribute()) in.fail("have a score term of no column");
  term.column = *column.attribute();
  term.origin = read_literal(in);
  term.scale = in.number<double>();
  return term;
}

// ---- Queries

void write_cursor(const std::optional<Cursor>& cursor, ByteWriter& out) {
  const Cursor place = cursor.value_or(Cursor{});
  out.number(static_cast<std::uint8_t>(cursor.has_value()));
  out.number(place.score);
  out.number(place.id);
  out.number(static_cast<std::uint8_t>(place.text.has_value()));
  out.text(place.text.value_or(""));
}

std::optional<Cursor> read_cursor(ByteReader& in) {
  const bool is_there = in.flag();
  Cursor place = {.score = in.number<double>(), .id = in.number<std::int64_t>()};
  const bool has_text = in.flag();
  std::string text = in.text();
  if (has_text) place.text = std::move(text);
  return is_there ? std::optional(place) : std::nullopt;
}

void write_query(const Query& query, bool repeats_filter, ByteWriter& out) {
  out.number(static_cast<std::uint64_t>(query.weights.size()));
  for (const double weight : query.weights) out.number(weight);
  out.number(static_cast<std::uint8_t>(query.k.has_value()));
  out.number(static_cast<std::uint64_t>(query.k.value_or(0)));
  out.number(static_cast<std::uint8_t>(query.min_score.has_value()));
  out.number(query.min_score.value_or(0));
  write_cursor(query.after, out);
  out.number(static_cast<std::uint8_t>(query.per.has_value()));
  out.text(query.per.value_or(RowsPer{}).column);
  out.number(static_cast<std::uint64_t>(query.per.value_or(RowsPer{}).most));
  out.choice(query.scale);
  out.choice(query.missing);
  out.number(static_cast<std::uint64_t>(query.terms.size()));
  for (const ScoreTerm& term : query.terms) write_term(term, out);
  out.number(static_cast<std::uint8_t>(repeats_filter));
  if (!repeats_filter) write_filter(query.where, out);
}

Query read_query(ByteReader& in, const Query* previous) {
  Query query;
  query.weights.resize(in.count(sizeof(double)));
  for (double& weight : query.weights) weight = in.number<double>();
  const bool has_k = in.flag();
  const auto k = static_cast<std::size_t>(in.number<std::uint64_t>());
  query.k = has_k ? std::optional(k) : std::nullopt;
  const bool has_min_score = in.flag();
  const auto min_score = in.number<double>();
  if (has_min_score) query.min_score = min_score;
  query.after = read_cursor(in);
  const bool has_per = in.flag();
  std::string column = in.text();
  const auto most = static_cast<std::size_t>(in.number<std::uint64_t>());
  if (has_per) query.per = RowsPer{std::move(column), most};
  query.scale = in.choice(Scale::rank);
  query.missing = in.choice(Missing::fill);
  query.terms.resize(in.count(sizeof(TermFunction) + sizeof(double)));
  for (ScoreTerm& term : query.terms) term = read_term(in);
  const bool repeats_filter = in.flag();
  if (repeats_filter && previous == nullptr) in.fail("repeat the filter of no query");
  query.where = repeats_filter ? previous->where : read_filter(in, Filter::kMaxDepth);
  return query;
}

void append_hits(const ShardAnswer& answer, std::vector<ShardHit>& hits) {
  for (std::size_t rank = 0; rank < answer.hits.size(); ++rank) {
    hits.push_back({answer.hits[rank], answer.shard});
    if (!answer.texts.empty()) hits.back().text = answer.texts[rank];
  }
}

}  // namespace

// Ids that are numbers have no text, so these are equal.
bool comes_before(const ShardHit& a, const ShardHit& b) {
  if (a.score != b.score) return a.score > b.score;
  const int order = a.text.compare(b.text);
  return order != 0 ? order < 0 : a.id < b.id;
}

void add_to(std::vector<ShardHit>& merged, std::span<const ShardAnswer> answers,
            std::optional<std::size_t> k) {
  for (const ShardAnswer& answer : answers) {
    const auto middle = static_cast<std::ptrdiff_t>(merged.size());
    append_hits(answer, merged);
    std::inplace_merge(merged.begin(), merged.begin() + middle, merged.end(), comes_before);
    const auto is_same = [](const ShardHit& a, const ShardHit& b) {
      return !comes_before(a, b) && !comes_before(b, a);
    };
    merged.erase(std::unique(merged.begin(), merged.end(), is_same), merged.end());
    if (k && merged.size() > *k) merged.resize(*k);
  }
}

std::vector<ShardHit> merge(std::span<const ShardAnswer> answers, std::optional<std::size_t> k) {
  std::vector<ShardHit> merged;
  add_to(merged, answers, k);
  return merged;
}

std::optional<double> floor_of(std::span<const ShardHit> merged, std::optional<std::size_t> k) {
  if (!k || *k == 0 || merged.size() < *k) return std::nullopt;
  return merged[*k - 1].score;
}

Query with_floor(Query query, std::optional<double> floor) {
  if (floor && !(query.min_score && *query.min_score >= *floor)) query.min_score = floor;
  return query;
}

std::vector<std::byte> encode(std::span<const Query> queries) {
  ByteWriter out(kQueriesName, kQueriesVersion);
  out.number(static_cast<std::uint64_t>(queries.size()));
  for (std::size_t q = 0; q < queries.size(); ++q)
    write_query(queries[q], q > 0 && queries[q].where == queries[q - 1].where, out);
  return out.take();
}

std::vector<Query> decode_queries(std::span<const std::byte> bytes) try {
  constexpr std::size_t kQueryBytes = 9 * sizeof(std::uint64_t) + 8;
  ByteReader in(bytes, kQueriesName, kQueriesVersion, "queries");
  const std::size_t count = in.count(kQueryBytes);
  std::vector<Query> queries;
  for (std::size_t q = 0; q < count; ++q)
    queries.push_back(read_query(in, q == 0 ? nullptr : &queries.back()));
  in.finish();
  return queries;
} catch (const InvalidArgument& error) {  // of a filter that cannot be
  throw FormatError("the bytes of queries have a filter that cannot be: " + std::string(error.what()));
}

std::vector<std::byte> encode(const Filter& filter) {
  ByteWriter out(kFilterName, kFilterVersion);
  write_filter(filter, out);
  return out.take();
}

Filter decode_filter(std::span<const std::byte> bytes) try {
  ByteReader in(bytes, kFilterName, kFilterVersion, "a filter");
  Filter filter = read_filter(in, Filter::kMaxDepth);
  in.finish();
  return filter;
} catch (const InvalidArgument& error) {
  throw FormatError("the bytes of a filter that cannot be: " + std::string(error.what()));
}

std::vector<std::byte> encode(std::span<const ShardAnswer> answers) {
  ByteWriter out(kAnswersName, kAnswersVersion);
  out.number(static_cast<std::uint64_t>(answers.size()));
  for (const ShardAnswer& answer : answers) {
    out.number(answer.shard);
    out.number(answer.version);
    out.number(static_cast<std::uint64_t>(answer.hits.size()));
    for (const Hit& hit : answer.hits) {
      out.number(hit.id);
      out.number(hit.score);
      out.number(hit.row);
    }
    write_texts(answer.texts, out);
  }
  return out.take();
}

std::vector<ShardAnswer> decode_answers(std::span<const std::byte> bytes) {
  ByteReader in(bytes, kAnswersName, kAnswersVersion, "answers");
  std::vector<ShardAnswer> answers(in.count(sizeof(std::uint32_t) + 3 * sizeof(std::uint64_t)));
  for (ShardAnswer& answer : answers) {
    answer.shard = in.number<std::uint32_t>();
    answer.version = in.number<std::uint64_t>();
    answer.hits.resize(in.count(3 * sizeof(std::uint64_t)));
    for (Hit& hit : answer.hits) {
      hit.id = in.number<std::int64_t>();
      hit.score = in.number<double>();
      hit.row = in.number<std::uint64_t>();
    }
    if (!std::ranges::all_of(answer.hits, [](const Hit& hit) { return std::isfinite(hit.score); }))
      in.fail("have a score that is no number");
    answer.texts = read_texts(in);
    if (!answer.texts.empty() && answer.texts.size() != answer.hits.size())
      in.fail("have texts for some of the hits");
    std::vector<ShardHit> hits;
    append_hits(answer, hits);
    if (!std::is_sorted(hits.begin(), hits.end(), comes_before)) in.fail("are not in order");
  }
  in.finish();
  return answers;
}

}  // namespace culmen
