// What somebody may have meant who mistyped a word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace culmen::tools {

// The known word that is nearest: a few letters are wrong, missing, surplus or swapped, or only the end is
// missing. Empty: none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

// ` (did you mean "query"?)`, or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace culmen::tools
