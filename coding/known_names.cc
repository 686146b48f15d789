#include "coding/known_names.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace culmen {
namespace {

std::vector<std::string> attribute_names(const IndexInfo& info) {
  std::vector<std::string> names;
  for (const AttributeInfo& attribute : info.attributes) names.push_back(attribute.name);
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 64;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) list += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMost) list += " and " + std::to_string(names.size() - kMost) + " others";
  return list;
}

}  // namespace

std::string known_names(const IndexInfo& info) {
  return listed(attribute_names(info));
}

std::string known_columns(const IndexInfo& info) {
  std::vector<std::string> names = attribute_names(info);
  for (const FieldInfo& field : info.fields) names.push_back(field.field.name);
  return listed(names);
}

}  // namespace culmen
