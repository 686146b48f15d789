// JSON as a manifest is read: into values that can be thrown away without asking for memory. The documents of
// the JSON library cannot, and where memory runs out that is the end of the process.
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
  std::int64_t integer = 0;  // of other numbers, which are fractions or too large, nothing is kept
  std::string text;
  std::string key;                // of a member of an object
  std::vector<JsonValue> values;  // of an array or an object
};

// Throws FormatError naming `path`: for what is not JSON, is nested deeper than `max_depth`, or has more than
// `max_values` values.
JsonValue parse_json(const std::string& text, const std::string& path, std::size_t max_depth,
                     std::size_t max_values);

}  // namespace culmen::storage
