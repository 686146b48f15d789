// JsonMembers: reads the members of one JSON object. Each must be present exactly once, of the requested type and
// within its range; otherwise FormatError names the file, the object and the key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/enum_names.h"
#include "culmen/error.h"
#include "index/storage/hex.h"
#include "index/storage/json.h"

namespace culmen::storage {

class JsonMembers {
 public:
  // `path` and `name` are for messages. `object` and `path` must outlive this.
  JsonMembers(const JsonValue& object, const std::string& path, std::string name)
      : object_(object), path_(path), name_(std::move(name)) {
    if (object.kind != Kind::object) fail("is not an object");
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw FormatError(path_ + ": " + name_ + " " + what);
  }
  [[noreturn]] void fail_on(const char* key, const std::string& what) const {
    throw FormatError(path_ + ": \"" + key + "\" of " + name_ + " " + what);
  }

  bool has(const char* key) const { return find(key, object_.values.begin()) != object_.values.end(); }
  JsonMembers object(const char* key) const { return {get(key), path_, std::string("\"") + key + "\""}; }
  const std::vector<JsonValue>& array(const char* key, std::uint64_t max_size) const {
    const JsonValue& value = get(key);
    if (value.kind != Kind::array || value.values.size() > max_size)
      fail_on(key, "is not an array of at most " + std::to_string(max_size));
    return value.values;
  }
  std::int64_t integer(const char* key, std::int64_t min, std::int64_t max) const {
    return checked_integer(get(key), key, min, max);
  }
  std::uint64_t count(const char* key, std::uint64_t max, std::uint64_t min = 0) const {
    return static_cast<std::uint64_t>(
        integer(key, static_cast<std::int64_t>(min), static_cast<std::int64_t>(max)));
  }
  std::vector<std::int64_t> integers(const char* key, std::uint64_t max_size, std::int64_t min,
                                     std::int64_t max) const {
    std::vector<std::int64_t> values;
    for (const JsonValue& value : array(key, max_size))
      values.push_back(checked_integer(value, key, min, max));
    return values;
  }
  bool boolean(const char* key) const {
    const JsonValue& value = get(key);
    if (value.kind != Kind::boolean) fail_on(key, "is neither true nor false");
    return value.boolean;
  }
  const std::string& text(const char* key) const {
    const JsonValue& value = get(key);
    if (value.kind != Kind::string) fail_on(key, "is not a string");
    return value.text;
  }
  double hex_float(const char* key) const {
    double value = 0;
    if (!from_hex_float(text(key), value)) fail_on(key, "is not a finite hexadecimal float");
    return value;
  }
  template <typename T>  // Uuid or Digest
  T hex(const char* key) const {
    T value{};
    if (!from_hex(text(key), value)) fail_on(key, "is not 32 hexadecimal digits");
    return value;
  }
  template <typename Enum, std::size_t N>
  Enum choice(const char* key, const EnumNames<Enum, N>& names) const {
    const std::optional<Enum> value = names.find(text(key));
    if (!value) fail_on(key, "is \"" + text(key) + "\", which this program does not know");
    return *value;
  }

 private:
  using Kind = JsonValue::Kind;
  using Position = std::vector<JsonValue>::const_iterator;

  Position find(const char* key, Position from) const {
    return std::find_if(from, object_.values.end(), [key](const JsonValue& m) { return m.key == key; });
  }
  const JsonValue& get(const char* key) const {
    const auto found = find(key, object_.values.begin());
    if (found == object_.values.end()) fail_on(key, "is missing");
    if (find(key, found + 1) != object_.values.end()) fail_on(key, "appears twice");
    return *found;
  }
  std::int64_t checked_integer(const JsonValue& value, const char* key, std::int64_t min,
                               std::int64_t max) const {
    if (value.kind != Kind::integer || value.integer < min || value.integer > max)
      fail_on(key, "is not an integer from " + std::to_string(min) + " to " + std::to_string(max));
    return value.integer;
  }

  const JsonValue& object_;
  const std::string& path_;
  const std::string name_;
};

}  // namespace culmen::storage
