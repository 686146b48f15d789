// How engines that answer the questions of a batch together get them, and give their answers.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "culmen/search.h"
#include "query/resolved_query.h"

namespace culmen::cpu {

// Returns a question by its number, or nothing to leave it out. Called from several threads, perhaps several times.
using QuestionOf = std::function<std::optional<ResolvedQuery>(std::size_t)>;

// Takes the answer to a question, best first. Called from several threads.
using GiveAnswer = std::function<void(std::size_t, std::vector<Hit>, const SearchStats&)>;

}  // namespace culmen::cpu
