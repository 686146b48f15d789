// What a unit of work costs on this machine: the constants of the cost model (query/cost_model.h). Measured
// by query/calibrate.h, kept by query/calibration_file.h.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace culmen {

// The defaults were measured on two cores of a server of 2023 (Sapphire Rapids, AVX-512).
struct MachineCosts {
  double pace_ns = 6'400;
  double search_ns = 594;
  double node_ns = 122;
  double range_ns = 215;
  double leaf_ns = 120;
  double tied_ns = 16;
  double value_ns = 0.098;
  double candidate_ns = 3.7;
  double replace_16_ns = 28;
  double replace_256_ns = 75;
  double replace_4096_ns = 137;
  double replace_65536_ns = 239;
  double hit_16_ns = 37;
  double hit_256_ns = 29;
  double hit_4096_ns = 136;
  double hit_65536_ns = 178;
  double share_ns = 953;
  double fork_ns = 9'300;
  double merge_ns = 164;
  double scan_leaf_ns = 29;
  double gta_leaf_ns = 74;
  double far_leaf_4mb_ns = 230;
  double far_kb_4mb_ns = 0;
  double far_leaf_16mb_ns = 28;
  double far_kb_16mb_ns = 28;
  double far_leaf_64mb_ns = 0;
  double far_kb_64mb_ns = 88;
  double far_leaf_256mb_ns = 165;
  double far_kb_256mb_ns = 46;
  double stream_leaf_4mb_ns = 37;
  double stream_kb_4mb_ns = 0.056;
  double stream_leaf_16mb_ns = 43;
  double stream_kb_16mb_ns = 14;
  double stream_leaf_64mb_ns = 0;
  double stream_kb_64mb_ns = 75;
  double stream_leaf_256mb_ns = 30;
  double stream_kb_256mb_ns = 15;
  double shared_leaf_4mb_ns = 0;
  double shared_kb_4mb_ns = 0;
  double shared_leaf_16mb_ns = 7.6;
  double shared_kb_16mb_ns = 9.1;
  double shared_leaf_64mb_ns = 6.9;
  double shared_kb_64mb_ns = 6.5;
  double shared_leaf_256mb_ns = 58;
  double shared_kb_256mb_ns = 18;
};

using Cost = double MachineCosts::*;

template <typename Costs>
struct NamedCost {
  std::string_view name;
  std::string_view meaning;
  double Costs::*value;
};
using CostConstant = NamedCost<MachineCosts>;

// By name, as they stand in the file and are shown to people.
inline constexpr std::array kCostConstants = {
    CostConstant{"pace_ns", "a fixed search, against which the present speed of the processor is measured",
                 &MachineCosts::pace_ns},
    CostConstant{"search_ns", "a search by bounds that finds one row", &MachineCosts::search_ns},
    CostConstant{"node_ns", "opening an inner node", &MachineCosts::node_ns},
    CostConstant{"range_ns", "comparing a node's children with a range", &MachineCosts::range_ns},
    CostConstant{"leaf_ns", "taking a leaf from the frontier and visiting it", &MachineCosts::leaf_ns},
    CostConstant{"tied_ns", "a leaf that can only tie, among others of its node", &MachineCosts::tied_ns},
    CostConstant{"value_ns", "each value that is scored, or compared with a range", &MachineCosts::value_ns},
    CostConstant{"candidate_ns", "a row that reaches the k-th best, whether it enters or not",
                 &MachineCosts::candidate_ns},
    CostConstant{"replace_16_ns", "a row that enters the 16 best in another's place, beside that",
                 &MachineCosts::replace_16_ns},
    CostConstant{"replace_256_ns", "the 256 best", &MachineCosts::replace_256_ns},
    CostConstant{"replace_4096_ns", "the 4,096 best", &MachineCosts::replace_4096_ns},
    CostConstant{"replace_65536_ns", "the 65,536 best", &MachineCosts::replace_65536_ns},
    CostConstant{"hit_16_ns", "each row of an answer of 16", &MachineCosts::hit_16_ns},
    CostConstant{"hit_256_ns", "of 256", &MachineCosts::hit_256_ns},
    CostConstant{"hit_4096_ns", "of 4,096", &MachineCosts::hit_4096_ns},
    CostConstant{"hit_65536_ns", "of 65,536", &MachineCosts::hit_65536_ns},
    CostConstant{"share_ns", "a scan, or gta, that finds one row", &MachineCosts::share_ns},
    CostConstant{"fork_ns", "until all threads that share it have come", &MachineCosts::fork_ns},
    CostConstant{"merge_ns", "each row of a thread's k best, when they are put together",
                 &MachineCosts::merge_ns},
    CostConstant{"scan_leaf_ns", "visiting a leaf in a scan", &MachineCosts::scan_leaf_ns},
    CostConstant{"gta_leaf_ns", "visiting a leaf in gta, and its threshold", &MachineCosts::gta_leaf_ns},
    CostConstant{"far_leaf_4mb_ns",
                 "of a search that reads leaves of 4 MiB in any order, beside computing: each leaf",
                 &MachineCosts::far_leaf_4mb_ns},
    CostConstant{"far_kb_4mb_ns", "and each kilobyte of values", &MachineCosts::far_kb_4mb_ns},
    CostConstant{"far_leaf_16mb_ns", "the same for 16 MiB: each leaf", &MachineCosts::far_leaf_16mb_ns},
    CostConstant{"far_kb_16mb_ns", "and each kilobyte", &MachineCosts::far_kb_16mb_ns},
    CostConstant{"far_leaf_64mb_ns", "the same for 64 MiB: each leaf", &MachineCosts::far_leaf_64mb_ns},
    CostConstant{"far_kb_64mb_ns", "and each kilobyte", &MachineCosts::far_kb_64mb_ns},
    CostConstant{"far_leaf_256mb_ns", "the same for 256 MiB: each leaf", &MachineCosts::far_leaf_256mb_ns},
    CostConstant{"far_kb_256mb_ns", "and each kilobyte", &MachineCosts::far_kb_256mb_ns},
    CostConstant{"stream_leaf_4mb_ns", "of one thread that reads leaves of 4 MiB in a row: each leaf",
                 &MachineCosts::stream_leaf_4mb_ns},
    CostConstant{"stream_kb_4mb_ns", "and each kilobyte of values", &MachineCosts::stream_kb_4mb_ns},
    CostConstant{"stream_leaf_16mb_ns", "the same for 16 MiB: each leaf", &MachineCosts::stream_leaf_16mb_ns},
    CostConstant{"stream_kb_16mb_ns", "and each kilobyte", &MachineCosts::stream_kb_16mb_ns},
    CostConstant{"stream_leaf_64mb_ns", "the same for 64 MiB: each leaf", &MachineCosts::stream_leaf_64mb_ns},
    CostConstant{"stream_kb_64mb_ns", "and each kilobyte", &MachineCosts::stream_kb_64mb_ns},
    CostConstant{"stream_leaf_256mb_ns", "the same for 256 MiB: each leaf",
                 &MachineCosts::stream_leaf_256mb_ns},
    CostConstant{"stream_kb_256mb_ns", "and each kilobyte", &MachineCosts::stream_kb_256mb_ns},
    CostConstant{"shared_leaf_4mb_ns", "of all threads that share such reading: each leaf",
                 &MachineCosts::shared_leaf_4mb_ns},
    CostConstant{"shared_kb_4mb_ns", "and each kilobyte of values", &MachineCosts::shared_kb_4mb_ns},
    CostConstant{"shared_leaf_16mb_ns", "the same for 16 MiB: each leaf", &MachineCosts::shared_leaf_16mb_ns},
    CostConstant{"shared_kb_16mb_ns", "and each kilobyte", &MachineCosts::shared_kb_16mb_ns},
    CostConstant{"shared_leaf_64mb_ns", "the same for 64 MiB: each leaf", &MachineCosts::shared_leaf_64mb_ns},
    CostConstant{"shared_kb_64mb_ns", "and each kilobyte", &MachineCosts::shared_kb_64mb_ns},
    CostConstant{"shared_leaf_256mb_ns", "the same for 256 MiB: each leaf",
                 &MachineCosts::shared_leaf_256mb_ns},
    CostConstant{"shared_kb_256mb_ns", "and each kilobyte", &MachineCosts::shared_kb_256mb_ns},
};

// Costs that rise with k, for k = 16 and each time 16 times as many.
using CostsByK = std::array<Cost, 4>;
inline constexpr CostsByK kReplaceCosts = {&MachineCosts::replace_16_ns, &MachineCosts::replace_256_ns,
                                           &MachineCosts::replace_4096_ns, &MachineCosts::replace_65536_ns};
inline constexpr CostsByK kHitCosts = {&MachineCosts::hit_16_ns, &MachineCosts::hit_256_ns,
                                       &MachineCosts::hit_4096_ns, &MachineCosts::hit_65536_ns};

// What reading adds to computing once leaves do not fit a core's own cache: where there are so many of them
// that the cache which cores share holds them, or some, and where it does not.
inline constexpr std::array<std::size_t, 4> kReadSizes = {4 << 20, 16 << 20, 64 << 20, 256 << 20};
struct ReadCosts {
  std::array<Cost, kReadSizes.size()> leaf, kb;
};
inline constexpr ReadCosts kFarRead = {{&MachineCosts::far_leaf_4mb_ns, &MachineCosts::far_leaf_16mb_ns,
                                        &MachineCosts::far_leaf_64mb_ns, &MachineCosts::far_leaf_256mb_ns},
                                       {&MachineCosts::far_kb_4mb_ns, &MachineCosts::far_kb_16mb_ns,
                                        &MachineCosts::far_kb_64mb_ns, &MachineCosts::far_kb_256mb_ns}};
inline constexpr ReadCosts kStreamRead = {
    {&MachineCosts::stream_leaf_4mb_ns, &MachineCosts::stream_leaf_16mb_ns,
     &MachineCosts::stream_leaf_64mb_ns, &MachineCosts::stream_leaf_256mb_ns},
    {&MachineCosts::stream_kb_4mb_ns, &MachineCosts::stream_kb_16mb_ns, &MachineCosts::stream_kb_64mb_ns,
     &MachineCosts::stream_kb_256mb_ns}};
inline constexpr ReadCosts kSharedRead = {
    {&MachineCosts::shared_leaf_4mb_ns, &MachineCosts::shared_leaf_16mb_ns,
     &MachineCosts::shared_leaf_64mb_ns, &MachineCosts::shared_leaf_256mb_ns},
    {&MachineCosts::shared_kb_4mb_ns, &MachineCosts::shared_kb_16mb_ns, &MachineCosts::shared_kb_64mb_ns,
     &MachineCosts::shared_kb_256mb_ns}};

}  // namespace culmen
