// Lists of texts, as in a line of CSV: A-1,"b, c".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace culmen {

inline constexpr std::string_view kNotClosed = "a quote is not closed; quotes in an id are doubled";

// Ids with commas between them, without the blanks around them. Those that contain commas, begin with a quote, or begin or
// end with a blank are in quotes, and so is an empty one. Throws InvalidArgument with a text that calls the list `what`.
std::vector<std::string> split_texts(std::string_view list, std::string_view what);

}  // namespace culmen
