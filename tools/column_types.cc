#include "tools/column_types.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "base/suggestion.h"
#include "culmen/error.h"
#include "tools/item_list.h"

namespace culmen::tools {

std::vector<GivenType> parse_column_types(std::string_view text) {
  std::vector<std::string> known;
  for (const auto& [name, type] : kColumnTypes.names) known.emplace_back(name);
  std::vector<GivenType> types;
  if (text.empty()) return types;
  for (const std::string_view item : split_items(text)) {
    const auto [column, word] = split_setting(item);
    if (column.empty() || word.empty())
      throw InvalidArgument(fmt::format("--types: expected COLUMN=TYPE as in zip=text, found '{}'", item));
    const std::optional<ColumnType> type = kColumnTypes.find(word);
    if (!type)
      throw InvalidArgument(fmt::format("--types: no type is called '{}'{}; known: {}", word,
                                        did_you_mean(word, known), fmt::join(known, ", ")));
    types.push_back({column, *type});
  }
  return types;
}

}  // namespace culmen::tools
