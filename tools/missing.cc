#include "tools/missing.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>

#include "base/suggestion.h"
#include "coding/columns.h"
#include "culmen/error.h"
#include "tools/item_list.h"
#include "tools/numbers.h"

namespace culmen::tools {
namespace {

void set_stand_in(std::string_view policy, Attribute& attribute) {
  if (const std::optional<StandIn> known = kStandIns.find(policy)) {
    attribute.stand_in = *known;
    return;
  }
  const bool is_number = !policy.empty() && policy.find_first_of("0123456789") != std::string_view::npos;
  if (!is_number)
    throw InvalidArgument(
        fmt::format("--missing: expected worst, median, mean, refuse or a number, found '{}'", policy));
  attribute.number = parse_number(policy, "--missing");
  attribute.stand_in = StandIn::number;
}

}  // namespace

void set_stand_ins(std::string_view text, std::vector<Attribute>& attributes) {
  std::vector<std::string_view> settings;
  std::optional<std::string_view> general;
  for (const std::string_view item : split_items(text)) {
    if (item.find('=') != std::string_view::npos) {
      settings.push_back(item);
      continue;
    }
    if (general)
      throw InvalidArgument(
          fmt::format("--missing: '{}' and '{}' are both for all attributes", *general, item));
    general = item;
    for (Attribute& attribute : attributes) set_stand_in(item, attribute);
  }
  std::unordered_set<std::string> seen;
  for (const std::string_view item : settings) {
    const auto [name, policy] = split_setting(item);
    const auto found = std::ranges::find(attributes, name, &Attribute::name);
    if (found == attributes.end()) {
      std::vector<std::string> known;
      for (const Attribute& attribute : attributes) known.push_back(attribute.name);
      throw InvalidArgument(
          fmt::format("--missing: no attribute is called '{}'{}; only ranked columns have stand-ins", name,
                      did_you_mean(name, known)));
    }
    if (!seen.insert(name).second)
      throw InvalidArgument(fmt::format("--missing: attribute '{}' is named twice", name));
    set_stand_in(policy, *found);
  }
}

}  // namespace culmen::tools
