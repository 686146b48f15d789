// Names of an enumeration's values, for the command line, files and messages.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "culmen/error.h"

namespace culmen {

template <typename Enum, std::size_t N>
struct EnumNames {
  std::string_view what;  // what a value is called in messages: "engine"
  std::array<std::pair<std::string_view, Enum>, N> names;

  std::optional<Enum> find(std::string_view text) const {
    for (const auto& [known, value] : names)
      if (known == text) return value;
    return std::nullopt;
  }

  // Throws InvalidArgument, which lists the names.
  Enum parse(std::string_view text) const {
    if (const std::optional<Enum> value = find(text)) return *value;
    std::string all;
    for (const auto& [known, value] : names) all.append(all.empty() ? "" : ", ").append(known);
    throw InvalidArgument("unknown " + std::string(what) + " \"" + std::string(text) + "\"; known: " + all);
  }

  // Empty if the value has no name.
  std::string_view name(Enum wanted) const {
    for (const auto& [known, value] : names)
      if (value == wanted) return known;
    return {};
  }
};

}  // namespace culmen
