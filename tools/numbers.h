// Numbers as text: exact for programs, short for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "culmen/index.h"

namespace culmen::tools {

std::string grouped(std::uint64_t value);  // 1,000,000
// 1 row, 2,000 rows. The plural of `noun` is "nouns" unless it is given.
std::string counted(std::uint64_t value, std::string_view noun, std::string_view plural = {});
std::string in_bytes(std::uint64_t bytes);          // 12.3 MB
std::string in_time(double microseconds);           // 41 µs, 2.31 s
std::string in_percent(double part, double whole);  // 0.0003 %

// For people: integers up to 2^53 in full; other numbers with nine significant digits (seven for float32), or two
// decimals if that is more. `type`: the type of the value, or of the values that it was computed from.
std::string recognisable(double value, ValueType type);

bool is_float32(double value);  // true if float32 holds it exactly

// Parses a finite number, or throws InvalidArgument with a text that calls it `what`.
double parse_number(std::string_view text, std::string_view what);

}  // namespace culmen::tools
