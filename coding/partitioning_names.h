// Names of partitionings for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/partition_names.h"
#include "coding/printable.h"
#include "culmen/info.h"

namespace culmen {

// "kd, clustered by city".
inline std::string partitioning_text(const IndexInfo& info) {
  std::string text(partition_name(info));
  if (!info.cluster.empty()) text += ", clustered by " + printable(info.cluster);
  return text;
}

inline constexpr std::string_view kAutomatic = "auto";

inline std::vector<std::string> partitioning_names() {
  std::vector<std::string> names = {std::string(kAutomatic)};
  for (const auto& [name, wish] : kPartitionNames.names) names.emplace_back(name);
  return names;
}

// One of these names.
inline void set_partitioning(std::string_view name, BuildOptions& options) {
  if (name != kAutomatic) set_partitions(kPartitionNames.parse(name), options);
}

}  // namespace culmen
