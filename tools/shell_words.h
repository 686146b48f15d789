// The words of a line, as a shell takes them apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace culmen::tools {

// Blanks separate words but within single or double quotes; a backslash takes the next character as it is, but within
// single quotes. A word that begins with # ends the line. Throws InvalidArgument for a quote that is not closed.
std::vector<std::string> shell_words(std::string_view line);

}  // namespace culmen::tools
