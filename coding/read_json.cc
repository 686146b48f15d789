#include "coding/read_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/suggestion.h"
#include "culmen/error.h"

namespace culmen {
namespace {

// Called by the parser at every value and key.
class StrictReader {
 public:
  explicit StrictReader(int max_depth) : max_depth_(max_depth) {}

  bool operator()(int depth, ReadJson::parse_event_t event, const ReadJson& value) {
    using Event = ReadJson::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= max_depth_)
        throw InvalidArgument(fmt::format("JSON: nested more than {} deep", max_depth_));
      if (event == Event::object_start) keys_.emplace_back();
    } else if (event == Event::object_end) {
      keys_.pop_back();
    } else if (event == Event::key && !keys_.back().insert(value.get<std::string>()).second) {
      throw InvalidArgument(fmt::format("JSON: \"{}\" is given twice", value.get<std::string>()));
    }
    return true;
  }

 private:
  int max_depth_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

[[noreturn]] void refuse(const std::string& what, std::string_view wanted, const ReadJson& value) {
  throw InvalidArgument(fmt::format("{}: expected {}, found {}", what, wanted,
                                    value.is_number() ? "a number" : value.type_name()));
}

}  // namespace

ReadJson read_json(std::string_view text, int max_depth) try {
  // The library takes it for the end of the text.
  if (text.find('\0') != std::string_view::npos) throw InvalidArgument("JSON: a NUL byte");
  return ReadJson::parse(text.begin(), text.end(), StrictReader(max_depth));
} catch (const ReadJson::exception& error) {
  std::string problem = error.what();
  if (const std::size_t end = problem.find("] "); end != std::string::npos) problem.erase(0, end + 2);
  throw InvalidArgument("JSON: " + problem);
}

double read_number(const ReadJson& value, const std::string& what) {
  if (!value.is_number()) refuse(what, "a number", value);
  return value.get<double>();
}

std::int64_t read_int64(const ReadJson& value, const std::string& what) {
  if (value.is_number_float()) {  // 5.0: whole, as JSON Schema sees it, if no digit can have been lost
    constexpr double kMostExact = 9007199254740992;
    const double number = value.get<double>();
    if (std::abs(number) <= kMostExact && number == std::floor(number))
      return static_cast<std::int64_t>(number);
  }
  if (!value.is_number_integer()) refuse(what, "a whole number without a fraction", value);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX})
    throw InvalidArgument(
        fmt::format("{}: {} is beyond the range of int64", what, value.get<std::uint64_t>()));
  return value.get<std::int64_t>();
}

std::string read_text(const ReadJson& value, const std::string& what) {
  if (!value.is_string()) refuse(what, "a text", value);
  return value.get<std::string>();
}

namespace {

std::int64_t read_number_as_id(const ReadJson& value, const std::string& what, IdType type) {
  if (type == IdType::int64) return read_int64(value, what);
  if (value.is_number_unsigned()) return id_of_uint64(value.get<std::uint64_t>());
  const std::int64_t number = read_int64(value, what);
  if (number < 0) throw InvalidArgument(fmt::format("{}: {} is negative; the ids are uint64", what, number));
  return id_of_uint64(static_cast<std::uint64_t>(number));
}

}  // namespace

void read_id(const ReadJson& value, const std::string& what, NamedIds& ids) {
  if (ids.type == IdType::text) {
    ids.texts.push_back(read_text(value, what));
  } else {
    ids.numbers.push_back(read_number_as_id(value, what, ids.type));
  }
}

NamedIds read_ids(const ReadJson& value, const std::string& what, IdType type) {
  NamedIds ids = {.type = type};
  for (const ReadJson& id : read_array(value, what)) read_id(id, what, ids);
  return ids;
}

std::vector<std::string> read_names(const ReadJson& value, const std::string& what) {
  std::vector<std::string> names;
  for (const ReadJson& name : read_array(value, what)) names.push_back(read_text(name, what));
  return names;
}

const ReadJson::object_t& read_object(const ReadJson& value, const std::string& what) {
  if (!value.is_object()) refuse(what, "an object", value);
  return value.get_ref<const ReadJson::object_t&>();
}

const ReadJson::array_t& read_array(const ReadJson& value, const std::string& what) {
  if (!value.is_array()) refuse(what, "an array", value);
  return value.get_ref<const ReadJson::array_t&>();
}

void check_members(const ReadJson::object_t& object, const std::vector<std::string>& known,
                   const std::string& what) {
  for (const auto& [name, value] : object) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string list;
    for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
    throw InvalidArgument(
        fmt::format("{} has no \"{}\"{}; it may have {}", what, name, did_you_mean(name, known), list));
  }
}

}  // namespace culmen
