// What a mistyped word may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace culmen {

// Returns the nearest known word: one with a few letters wrong, missing, surplus or swapped, or one that begins with
// `word`. Empty if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

// ` (did you mean "query"?)`, or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace culmen
