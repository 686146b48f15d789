// Names of partitions for people: the kind, without shells or with, and the order of rows.
#pragma once

#include <array>
#include <string_view>

#include "base/enum_names.h"
#include "culmen/build.h"
#include "culmen/info.h"

namespace culmen {

struct PartitionWish {
  Partitioning partitioning = Partitioning::automatic;
  Shells shells = Shells::automatic;
  RowOrder row_order = RowOrder::automatic;

  friend bool operator==(const PartitionWish&, const PartitionWish&) = default;
};

// What is not automatic. A name without "flat" and "sum" stands for what is usual.
inline constexpr EnumNames<PartitionWish, 9> kPartitionNames = {
    "partitioning",
    {{{"kd", {Partitioning::kd, Shells::automatic, RowOrder::automatic}},
      {"kd-sum", {Partitioning::kd, Shells::automatic, RowOrder::sum}},
      {"kd-flat", {Partitioning::kd, Shells::none, RowOrder::automatic}},
      {"kd-flat-sum", {Partitioning::kd, Shells::none, RowOrder::sum}},
      {"angle", {Partitioning::angle, Shells::automatic, RowOrder::automatic}},
      {"angle-sum", {Partitioning::angle, Shells::automatic, RowOrder::sum}},
      {"angle-flat", {Partitioning::angle, Shells::none, RowOrder::automatic}},
      {"angle-flat-sum", {Partitioning::angle, Shells::none, RowOrder::sum}},
      {"random", {Partitioning::random, Shells::automatic, RowOrder::automatic}}}}};

inline void set_partitions(const PartitionWish& wish, BuildOptions& options) {
  options.partitioning = wish.partitioning;
  options.shells = wish.shells;
  options.row_order = wish.row_order;
}

inline std::string_view partition_name(const IndexInfo& info) {
  const bool is_random = info.partitioning == Partitioning::random;
  const bool is_by_sum = info.row_order == RowOrder::sum && !is_random;
  return kPartitionNames.name({info.partitioning,
                               info.shells == Shells::none ? Shells::none : Shells::automatic,
                               is_by_sum ? RowOrder::sum : RowOrder::automatic});
}

}  // namespace culmen
