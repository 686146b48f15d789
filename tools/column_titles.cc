#include "tools/column_titles.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace culmen::tools {

std::vector<std::string> attribute_titles(const IndexInfo& info) {
  std::set<std::string, std::less<>> taken = {"query", "rank", "id", "score", "label"};
  const std::set<std::string, std::less<>> own = taken;
  for (const AttributeInfo& attribute : info.attributes) taken.insert(attribute.name);
  std::vector<std::string> titles;
  for (const AttributeInfo& attribute : info.attributes) {
    std::string title = attribute.name;
    if (own.contains(title)) {
      do title.insert(0, "attribute.");
      while (taken.contains(title));
      taken.insert(title);
    }
    titles.push_back(std::move(title));
  }
  return titles;
}

std::string known_names(const IndexInfo& info) {
  std::string names;
  for (const AttributeInfo& attribute : info.attributes)
    names += (names.empty() ? "" : ", ") + attribute.name;
  return names;
}

}  // namespace culmen::tools
