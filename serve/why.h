// Why a row is where it is in an answer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coding/any_index.h"
#include "coding/json_text.h"
#include "coding/question_json.h"
#include "serve/served_index.h"

namespace culmen::serve {

// {"row":{...},"score":...,"rank":...,"start":...,"parts":[{"attribute":"price","value":...,"weight":...,"part":...}]}. The
// start and the parts add up to the score, but for rounding. The rank is null beyond `max_rank`; without "score" the row
// passes not, or misses a value that is ranked; without "row" there is none with this id.
Json why_json(const AnyIndex& index, const IndexView& view, const Question& question, std::int64_t id,
              std::size_t max_rank, const SearchOptions& options);

}  // namespace culmen::serve
