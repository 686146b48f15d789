// Parses JSON into values whose destructors allocate nothing. Those of nlohmann's documents do, and out of memory they
// terminate the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace culmen::storage {

struct JsonValue {
  enum class Kind : std::uint8_t { null, boolean, integer, other_number, string, array, object };

  Kind kind = Kind::null;
  bool boolean = false;
  std::int64_t integer = 0;  // the value of an other_number (a fraction, or beyond int64) is dropped
  std::string text;
  std::string key;                // of a member of an object
  std::vector<JsonValue> values;  // of an array or an object
};

// Throws FormatError naming `path` if the text is not JSON, is nested deeper than `max_depth`, or has more than
// `max_values` values.
JsonValue parse_json(const std::string& text, const std::string& path, std::size_t max_depth,
                     std::size_t max_values);

}  // namespace culmen::storage
