// Names of partitionings for people.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "coding/printable.h"
#include "culmen/info.h"

namespace culmen {

inline constexpr std::array<std::pair<std::string_view, Partitioning>, 4> kPartitionings = {
    {{"auto", Partitioning::automatic},
     {"kd", Partitioning::kd},
     {"angle", Partitioning::angle},
     {"random", Partitioning::random}}};

inline std::string_view partitioning_name(Partitioning wanted) {
  for (const auto& [name, partitioning] : kPartitionings)
    if (partitioning == wanted) return name;
  return "";
}

// Parses one of these names.
// "kd, clustered by city".
inline std::string partitioning_text(const IndexInfo& info) {
  std::string text(partitioning_name(info.partitioning));
  if (!info.cluster.empty()) text += ", clustered by " + printable(info.cluster);
  return text;
}

inline Partitioning parse_partitioning(std::string_view wanted) {
  for (const auto& [name, partitioning] : kPartitionings)
    if (name == wanted) return partitioning;
  return Partitioning::automatic;
}

}  // namespace culmen
