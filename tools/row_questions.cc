#include "tools/row_questions.h"

#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/excerpt.h"
#include "base/number_text.h"
#include "coding/json_text.h"
#include "coding/printable.h"
#include "culmen/error.h"
#include "culmen/why.h"
#include "tools/id_list.h"
#include "tools/item_list.h"
#include "tools/numbers.h"

namespace culmen::tools {
namespace {

std::vector<Row> rows_of(const AnyIndex& index, const NamedIds& ids) {
  std::vector<Row> rows;
  const std::vector<std::optional<Row>> found = index.get(ids);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!found[i])
      throw InvalidArgument(fmt::format("there is no row with the id {}", ids.type == IdType::text
                                                                              ? quote_excerpt(ids.texts[i])
                                                                              : ids.text(i)));
    rows.push_back(*found[i]);
  }
  return rows;
}

std::string number_or_missing(const ScorePart& part) {
  return part.is_missing ? "(missing) " + number_text(part.value) : number_text(part.value);
}

Json part_json(const ScorePart& part) {
  return {{"attribute", part.attribute},
          {"weight", part.weight},
          {"value", part.value},
          {"part", part.part},
          {"missing", part.is_missing}};
}

Json even_json(const EvenWeight& weight) {
  return {{"attribute", weight.attribute},
          {"weight", weight.weight},
          {"even", weight.even},
          {"change", weight.change()}};
}

struct WhyAnswer {
  std::vector<Row> rows;
  std::vector<std::optional<RowRank>> ranks;
  std::vector<std::vector<ScorePart>> parts;
  std::vector<EvenWeight> even;  // of two rows
  IdType id_type = IdType::int64;
  bool has_terms = false;  // which are the rest of the score
};

// What terms besides the weights add to the score of a ranked row, but for rounding.
double part_of_terms(const WhyAnswer& answer, std::size_t row) {
  double rest = answer.ranks[row]->score;
  for (const ScorePart& part : answer.parts[row]) rest -= part.part;
  return rest;
}

WhyAnswer why(const std::string& ids, const AnyIndex& index, const Query& query, const Ranking& ranking) {
  WhyAnswer answer = {.rows = rows_of(index, parse_ids(ids, "--why", index.schema().id_type)),
                      .ranks = {},
                      .parts = {},
                      .even = {},
                      .id_type = index.schema().id_type,
                      .has_terms = !query.terms.empty()};
  if (answer.rows.size() > 2) throw InvalidArgument("--why takes one id or two");
  const IndexInfo info = index.info(query.scale);
  for (const Row& row : answer.rows) {
    answer.ranks.push_back(ranking.rank_of(row));
    answer.parts.push_back(score_parts(query, row, info));
  }
  if (answer.rows.size() == 2) answer.even = even_weights(query, answer.rows[0], answer.rows[1], info);
  return answer;
}

std::string place_text(const std::optional<RowRank>& rank) {
  if (!rank) return "not ranked: it does not pass the filter, or misses a value that is ranked";
  return fmt::format("rank {}, score {}", grouped(rank->rank), number_text(rank->score));
}

void write_text(const WhyAnswer& answer, Output& out) {
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    out.write(fmt::format("id {}: {}\n", printable(id_text(answer.rows[i], answer.id_type)),
                          place_text(answer.ranks[i])));
    for (const ScorePart& part : answer.parts[i])
      out.write(fmt::format("  {:>14}  = {} * {} of {}\n", number_text(part.part), number_text(part.weight),
                            number_or_missing(part), part.attribute));
    if (answer.has_terms && answer.ranks[i])
      out.write(fmt::format("  {:>14}  by the terms\n", number_text(part_of_terms(answer, i))));
  }
  if (answer.even.empty()) return;
  out.write("they score the same with one of these weights changed, and beyond it swap:\n");
  for (const EvenWeight& weight : answer.even)
    out.write(fmt::format("  {} = {} (now {})\n", weight.attribute, number_text(weight.even),
                          number_text(weight.weight)));
}

Json why_json(const WhyAnswer& answer) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    Json parts = Json::array();
    for (const ScorePart& part : answer.parts[i]) parts.push_back(part_json(part));
    const std::optional<RowRank>& rank = answer.ranks[i];
    rows.push_back({{"id", id_json(answer.rows[i], answer.id_type)},
                    {"rank", rank ? Json(rank->rank) : Json(nullptr)},
                    {"score", rank ? Json(rank->score) : Json(nullptr)},
                    {"parts", std::move(parts)}});
    if (answer.has_terms && rank) rows.back()["terms"] = part_of_terms(answer, i);
  }
  Json even = Json::array();
  for (const EvenWeight& weight : answer.even) even.push_back(even_json(weight));
  return {{"rows", std::move(rows)}, {"even_weights", std::move(even)}};
}

Json rank_json(const Row& row, IdType type, const std::optional<RowRank>& rank) {
  return {{"id", id_json(row, type)},
          {"rank", rank ? Json(rank->rank) : Json(nullptr)},
          {"score", rank ? Json(rank->score) : Json(nullptr)}};
}

void write_ranks(const std::vector<Row>& of_rows, IdType type,
                 const std::vector<std::optional<RowRank>>& ranks, const std::string& format, Output& out) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < of_rows.size(); ++i) {
    if (format == "json") {
      rows.push_back(rank_json(of_rows[i], type, ranks[i]));
    } else if (format == "jsonl") {
      out.write(json_text(rank_json(of_rows[i], type, ranks[i])) + "\n");
    } else {
      out.write(fmt::format("id {}: {}\n", printable(id_text(of_rows[i], type)), place_text(ranks[i])));
    }
  }
  if (format == "json") out.write(json_text({{"rows", std::move(rows)}}) + "\n");
}

}  // namespace

int num_row_questions(const QueryArguments& arguments) {
  return static_cast<int>(arguments.rank_of.has_value()) +
         static_cast<int>(arguments.count_above.has_value()) + static_cast<int>(arguments.why.has_value());
}

void answer_about_rows(const QueryArguments& arguments, const AnyIndex& index, const Query& query,
                       const Ranking& ranking, const std::string& format, Output& out) {
  const IdType type = index.schema().id_type;
  const bool is_json = format == "json" || format == "jsonl";
  if (arguments.count_above) {
    const double score = parse_number(*arguments.count_above, "--count-above");
    const std::uint64_t count = ranking.count_above(score);
    out.write(is_json ? json_text({{"count", count}, {"score", score}}) + "\n" : fmt::format("{}\n", count));
  }
  if (arguments.rank_of) {
    const std::vector<Row> rows = rows_of(index, parse_ids(*arguments.rank_of, "--rank-of", type));
    std::vector<std::optional<RowRank>> ranks;
    for (const Row& row : rows) ranks.push_back(ranking.rank_of(row));
    write_ranks(rows, type, ranks, format, out);
  }
  if (!arguments.why) return;
  const WhyAnswer answer = why(*arguments.why, index, query, ranking);
  if (is_json) {
    out.write(json_text(why_json(answer)) + "\n");
  } else {
    write_text(answer, out);
  }
}

RowsPer parse_rows_per(const std::string& text) {
  const auto [name, count] = split_setting(text);
  const bool is_number = !count.empty() && count.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_number) throw InvalidArgument(fmt::format("--per: expected COLUMN=N, found '{}'", text));
  return {name, static_cast<std::size_t>(parse_number(count, "--per"))};
}

}  // namespace culmen::tools
