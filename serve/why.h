// Why a row is where it is in an answer.
#pragma once

#include <cstdint>

#include "coding/any_index.h"
#include "coding/json_text.h"
#include "coding/question_json.h"
#include "serve/served_index.h"

namespace culmen::serve {

// {"id":...,"row":{...},"score":...,"rank":...,"parts":[{"attribute":"price","weight":...,"value":...,"part":...}],"terms":...}.
// The parts, and what terms add, are the score, but for rounding. Without "score" the row does not pass, or misses a value
// that is ranked; without "row" there is none with this id.
Json why_json(const AnyIndex& index, const IndexView& view, const Question& question, const NamedIds& id,
              const SearchOptions& options);

}  // namespace culmen::serve
