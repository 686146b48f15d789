// Suggestions for mistyped words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace culmen {

// Returns the known word nearest to `word`: one that differs in the case of ASCII letters alone, or else by a few wrong,
// missing, extra or swapped letters, or one that begins with `word`. Empty if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

// Returns ` (did you mean "query"?)` with the nearest word, or an empty text if none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

// "price, stars". A list that is longer than a message should hold ends in "...".
std::string list_of(const std::vector<std::string>& names);

}  // namespace culmen
