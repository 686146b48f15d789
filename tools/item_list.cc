#include "tools/item_list.h"

#include <algorithm>

namespace culmen::tools {
namespace {

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Removes the next item from `rest`: the text up to a comma outside of quoted names.
std::string_view next_item(std::string_view& rest) {
  bool quoted = false;
  std::size_t end = 0;
  for (; end < rest.size() && (quoted || rest[end] != ','); ++end)
    if (rest[end] == '"') quoted = !quoted;
  const std::string_view item = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return without_blanks(item);
}

}  // namespace

std::vector<std::string_view> split_items(std::string_view text) {
  std::vector<std::string_view> items;
  std::string_view rest = text;
  while (!rest.empty()) items.push_back(next_item(rest));
  if (text.empty() || text.back() == ',') items.emplace_back();
  return items;
}

std::string unquoted(std::string_view name) {
  if (name.size() < 2 || name.front() != '"' || name.back() != '"') return std::string(name);
  std::string plain;
  for (std::size_t i = 1; i + 1 < name.size(); ++i) {
    plain += name[i];
    if (name[i] == '"') ++i;
  }
  return plain;
}

std::pair<std::string, std::string_view> split_setting(std::string_view item) {
  const std::size_t equals = item.rfind('=');
  if (equals == std::string_view::npos) return {unquoted(item), {}};
  return {unquoted(without_blanks(item.substr(0, equals))), without_blanks(item.substr(equals + 1))};
}

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  if (without_blanks(text).empty()) return names;
  for (const std::string_view item : split_items(text)) names.push_back(unquoted(item));
  return names;
}

}  // namespace culmen::tools
