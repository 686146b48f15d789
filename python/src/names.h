// What Python calls the values of enumerations, where the library itself has no names for them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "culmen/error.h"
#include "culmen/index.h"

namespace culmen::python {

template <typename Enum, std::size_t N>
struct Names {
  std::string_view what;
  std::array<std::pair<std::string_view, Enum>, N> names;

  // Throws InvalidArgument, which says what there is.
  Enum parse(std::string_view text) const {
    std::string known;
    for (std::size_t i = 0; i < N; ++i) {
      if (names[i].first == text) return names[i].second;
      known.append(i == 0 ? "" : i + 1 < N ? ", " : " or ").append("\"").append(names[i].first).append("\"");
    }
    throw InvalidArgument(std::string(what) + " is " + known + ", not \"" + std::string(text) + "\"");
  }

  std::string_view name(Enum wanted) const {
    for (const auto& [name, value] : names)
      if (value == wanted) return name;
    return {};
  }
};

inline constexpr Names<ValueType, 3> kValueTypes = {"value_type",
                                                    {{{"automatic", ValueType::automatic},
                                                      {"float32", ValueType::float32},
                                                      {"float64", ValueType::float64}}}};

inline constexpr Names<Preference, 2> kPreferences = {
    "the preference of an attribute", {{{"high", Preference::high}, {"low", Preference::low}}}};

inline constexpr Names<StandIn, 5> kStandIns = {"what stands in for missing values",
                                                {{{"worst", StandIn::worst},
                                                  {"median", StandIn::median},
                                                  {"mean", StandIn::mean},
                                                  {"refuse", StandIn::refuse},
                                                  {"number", StandIn::number}}}};

inline constexpr Names<ColumnType, 6> kColumnTypes = {"the type of a column",
                                                      {{{"float", ColumnType::floating},
                                                        {"int", ColumnType::integer},
                                                        {"bool", ColumnType::boolean},
                                                        {"date", ColumnType::date},
                                                        {"timestamp", ColumnType::timestamp},
                                                        {"text", ColumnType::text}}}};

inline constexpr Names<TimeUnit, 4> kTimeUnits = {"the unit of timestamps",
                                                  {{{"s", TimeUnit::second},
                                                    {"ms", TimeUnit::millisecond},
                                                    {"us", TimeUnit::microsecond},
                                                    {"ns", TimeUnit::nanosecond}}}};

inline constexpr Names<FieldRole, 2> kFieldRoles = {
    "the role of a column", {{{"filter", FieldRole::filter}, {"stored", FieldRole::stored}}}};

inline constexpr Names<Missing, 2> kMissing = {"missing",
                                               {{{"skip", Missing::skip}, {"fill", Missing::fill}}}};

inline constexpr Names<Scale, 4> kScales = {
    "scale",
    {{{"none", Scale::none}, {"minmax", Scale::minmax}, {"zscore", Scale::zscore}, {"rank", Scale::rank}}}};

inline constexpr Names<Refreshed, 3> kRefreshed = {"what refresh found",
                                                   {{{"unchanged", Refreshed::unchanged},
                                                     {"advanced", Refreshed::advanced},
                                                     {"replaced", Refreshed::replaced}}}};

}  // namespace culmen::python
