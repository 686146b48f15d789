// Ids as people write them: between commas, or one a line in a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace culmen::tools {

// "1,2,-5". Throws InvalidArgument.
std::vector<std::int64_t> parse_ids(std::string_view text);

// One id a line; empty lines do not count. "-": standard input. Throws IoError, or InputError naming the
// line.
std::vector<std::int64_t> read_ids(const std::string& path);

}  // namespace culmen::tools
