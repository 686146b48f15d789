// Spans of time on the command line.
#pragma once

#include <chrono>
#include <string_view>

namespace culmen::tools {

// A whole number and ms, s, min or h: "200ms", "5s". At most a day. Throws InvalidArgument with a text that calls it `what`.
std::chrono::milliseconds parse_duration(std::string_view text, std::string_view what);

}  // namespace culmen::tools
