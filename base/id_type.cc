#include "culmen/id_type.h"

#include <charconv>
#include <system_error>

#include "base/enum_names.h"
#include "culmen/error.h"

namespace culmen {
namespace {

constexpr EnumNames<IdType, 3> kIdTypes = {
    "type of ids", {{{"int64", IdType::int64}, {"uint64", IdType::uint64}, {"text", IdType::text}}}};

// So that nobody shows a number in place of a text.
void require_numbers(IdType type) {
  if (type == IdType::text) throw InvalidArgument("the ids are texts, which numbers only stand in for");
}

template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || after != end) return std::nullopt;
  return number;
}

}  // namespace

std::string id_text(std::int64_t id, IdType type) {
  require_numbers(type);
  return type == IdType::uint64 ? std::to_string(uint64_of_id(id)) : std::to_string(id);
}

std::optional<std::int64_t> parse_id(std::string_view text, IdType type) {
  require_numbers(type);
  if (type == IdType::int64) return whole_number<std::int64_t>(text);
  const std::optional<std::uint64_t> number = whole_number<std::uint64_t>(text);
  return number ? std::optional(id_of_uint64(*number)) : std::nullopt;
}

IdType parse_id_type(std::string_view name) {
  return kIdTypes.parse(name);
}

std::string_view id_type_name(IdType type) {
  return kIdTypes.name(type);
}

}  // namespace culmen
