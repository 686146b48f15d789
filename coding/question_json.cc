#include "coding/question_json.h"

#include <fmt/core.h>

#include <utility>

#include "base/enum_names.h"
#include "base/scale_names.h"
#include "coding/cursor_text.h"
#include "coding/named_ids.h"
#include "culmen/error.h"

namespace culmen {
namespace {

constexpr std::size_t kDefaultK = 10;
constexpr EnumNames<Missing, 2> kMissing = {"missing", {{{"skip", Missing::skip}, {"fill", Missing::fill}}}};

const ReadJson* member(const ReadJson::object_t& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &found->second;
}

// As the program: a question of terms alone has no weights.
std::vector<double> read_weights(const ReadJson* value, bool has_terms, const Index& columns) {
  if (value == nullptr && has_terms) return columns.weights({});
  if (value == nullptr)
    throw InvalidArgument("weights are missing: give \"weights\":{\"name\":value,...}, or only \"terms\"");
  if (value->is_array()) {
    std::vector<double> weights;
    for (const ReadJson& weight : read_array(*value, "weights"))
      weights.push_back(read_number(weight, fmt::format("weight {}", weights.size() + 1)));
    return weights;
  }
  std::vector<std::pair<std::string, double>> named;
  for (const auto& [name, weight] : read_object(*value, "weights"))
    named.emplace_back(name, read_number(weight, fmt::format("weight of {}", name)));
  return columns.weights(named);
}

std::optional<std::size_t> read_k(const ReadJson* value, bool has_min_score) {
  if (value == nullptr) return has_min_score ? std::nullopt : std::optional<std::size_t>(kDefaultK);
  const std::int64_t k = read_int64(*value, "k");
  if (k < 1) throw InvalidArgument(fmt::format("k: expected 1 or more, found {}", k));
  return static_cast<std::size_t>(k);
}

Filter read_filter(const ReadJson::object_t& object, const Index& columns) {
  Filter filter;
  if (const ReadJson* where = member(object, "where")) filter = columns.filter(read_text(*where, "where"));
  const auto set_of = [type = columns.schema().id_type](const ReadJson& ids, const char* what) {
    return filter_of(read_ids(ids, what, type));
  };
  if (const ReadJson* ids = member(object, "ids")) filter = filter && set_of(*ids, "ids");
  if (const ReadJson* ids = member(object, "not_ids")) filter = filter && !set_of(*ids, "not_ids");
  return filter;
}

RowsPer read_rows_per(const ReadJson& value) {
  const ReadJson::object_t& object = read_object(value, "per");
  if (object.size() != 1)
    throw InvalidArgument("per: one column and how many rows of each value, {\"city\": 2}");
  const auto& [column, most] = *object.begin();
  const std::int64_t count = read_int64(most, "per");
  if (count < 1) throw InvalidArgument(fmt::format("per: expected 1 or more, found {}", count));
  return {column, static_cast<std::size_t>(count)};
}

}  // namespace

const std::vector<std::string>& question_members() {
  static const std::vector<std::string> members = {"weights",   "k",      "where", "ids",   "not_ids",
                                                   "min_score", "after",  "per",   "scale", "missing",
                                                   "terms",     "engine", "show"};
  return members;
}

Question read_question(const ReadJson::object_t& object, const Index& columns) {
  check_members(object, question_members(), "a question");
  Question question;
  Query& query = question.query;
  const ReadJson* const terms = member(object, "terms");
  query.weights = read_weights(member(object, "weights"), terms != nullptr, columns);
  if (const ReadJson* score = member(object, "min_score")) query.min_score = read_number(*score, "min_score");
  query.k = read_k(member(object, "k"), query.min_score.has_value());
  query.where = read_filter(object, columns);
  if (const ReadJson* after = member(object, "after"))
    query.after = parse_cursor(read_text(*after, "after"), "after", columns.schema().id_type);
  if (const ReadJson* per = member(object, "per")) query.per = read_rows_per(*per);
  if (const ReadJson* scale = member(object, "scale"))
    query.scale = kScaleNames.parse(read_text(*scale, "scale"));
  if (const ReadJson* missing = member(object, "missing"))
    query.missing = kMissing.parse(read_text(*missing, "missing"));
  if (terms != nullptr) query.terms = columns.terms(read_text(*terms, "terms"));
  if (const ReadJson* engine = member(object, "engine"))
    question.engine = parse_engine(read_text(*engine, "engine"));
  if (const ReadJson* show = member(object, "show")) question.show = read_names(*show, "show");
  return question;
}

std::vector<Question> read_questions(std::string_view text, const Index& columns,
                                     const QuestionLimits& limits) {
  const ReadJson json = read_json(text, limits.max_depth);
  const ReadJson::object_t& object = read_object(json, "the request");
  std::vector<Question> questions;
  const ReadJson* const many = member(object, "queries");
  if (many == nullptr) {
    questions.push_back(read_question(object, columns));
    return questions;
  }
  check_members(object, {"queries"}, "a request of several questions");
  const ReadJson::array_t& list = read_array(*many, "queries");
  if (list.size() > limits.max_questions)
    throw InvalidArgument(
        fmt::format("{} questions in one request, of {} at most", list.size(), limits.max_questions));
  for (const ReadJson& one : list) {
    const std::string what = fmt::format("question {}", questions.size() + 1);
    try {
      questions.push_back(read_question(read_object(one, what), columns));
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("{}: {}", what, error.what()));
    }
  }
  return questions;
}

}  // namespace culmen
