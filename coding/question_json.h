// Questions as JSON, with the names of the options of `culmen query`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coding/read_json.h"
#include "culmen/index.h"

namespace culmen {

struct Question {
  Query query;
  Engine engine = Engine::automatic;
  std::optional<std::vector<std::string>> show;  // the columns of the answer; nullopt: all
};

struct QuestionLimits {
  int max_depth = 8;                  // of the JSON
  std::size_t max_questions = 1'000;  // of one request
};

// The members of a question: weights, k, where, ids, not_ids, min_score, scale, missing, engine and show.
const std::vector<std::string>& question_members();

// {"weights":{"price":-1,"rating":20},"k":10,"where":"price <= 200"}: weights by name, or an array by position. Without
// k it is 10, or none if there is a min_score. `columns`: an index with the columns that are asked about. Throws
// InvalidArgument. What depends on the version that is searched, such as overflow, is not checked.
Question read_question(const ReadJson::object_t& object, const Index& columns);

// One question, or {"queries":[...]} with several.
std::vector<Question> read_questions(std::string_view text, const Index& columns,
                                     const QuestionLimits& limits);

}  // namespace culmen
