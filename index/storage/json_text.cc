#include "index/storage/json_text.h"

#include <nlohmann/json.hpp>

#include "culmen/error.h"

namespace culmen::storage {
namespace {

std::string block_text(char open, char close, const std::vector<std::string>& items, std::size_t indent) {
  std::string text(1, open);
  for (const std::string& item : items) {
    text += text.size() > 1 ? ",\n" : "\n";
    text.append(indent + 1, ' ').append(item);
  }
  if (!items.empty()) text.append(1, '\n').append(indent, ' ');
  return text + close;
}

}  // namespace

std::string json_string(std::string_view text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    throw InvalidArgument("the name of a column is not UTF-8");
  }
}

std::string json_array(const std::vector<std::string>& items, std::size_t indent) {
  return block_text('[', ']', items, indent);
}

std::string json_object(const JsonPairs& members, std::size_t indent) {
  std::vector<std::string> items;
  for (const auto& [key, value] : members) items.push_back(std::string("\"") + key + "\": " + value);
  return block_text('{', '}', items, indent);
}

}  // namespace culmen::storage
