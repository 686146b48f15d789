// What a unit of work costs on this machine: the constants of the cost model (query/cost_model.h). Measured
// by query/calibrate.h, kept by query/calibration_file.h.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace culmen {

// The defaults were measured on a 2.5 GHz server core of 2019 with AVX-512, one of two.
struct MachineCosts {
  double search_ns = 400;
  double fork_ns = 6'000;
  double node_ns = 250;
  double bound_ns = 5;
  double range_ns = 280;
  double take_ns = 60;
  double leaf_ns = 60;
  double value_ns = 0.18;
  double tied_ns = 110;
  double corner_ns = 20;
  double candidate_ns = 7;
  double replace_16_ns = 65;
  double replace_256_ns = 110;
  double replace_4096_ns = 200;
  double replace_65536_ns = 580;
  double sort_ns = 10;
  double far_leaf_32mb_ns = 150;
  double far_kb_32mb_ns = 150;
  double far_leaf_256mb_ns = 150;
  double far_kb_256mb_ns = 150;
  double stream_leaf_32mb_ns = 50;
  double stream_kb_32mb_ns = 70;
  double stream_leaf_256mb_ns = 50;
  double stream_kb_256mb_ns = 70;
  double shared_leaf_32mb_ns = 25;
  double shared_kb_32mb_ns = 40;
  double shared_leaf_256mb_ns = 25;
  double shared_kb_256mb_ns = 40;
};

struct CostConstant {
  std::string_view name;
  std::string_view meaning;
  double MachineCosts::*value;
};

// By name, as they stand in the file and are shown to people.
inline constexpr std::array kCostConstants = {
    CostConstant{"search_ns", "a search that finds one row, whatever the engine", &MachineCosts::search_ns},
    CostConstant{"fork_ns", "until all threads that share a work have come to it", &MachineCosts::fork_ns},
    CostConstant{"node_ns", "taking an inner node from the frontier and opening it", &MachineCosts::node_ns},
    CostConstant{"bound_ns", "each row of bounds that a node adds up", &MachineCosts::bound_ns},
    CostConstant{"range_ns", "comparing a node's children with a range", &MachineCosts::range_ns},
    CostConstant{"take_ns", "taking a leaf from the frontier", &MachineCosts::take_ns},
    CostConstant{"leaf_ns", "visiting a leaf", &MachineCosts::leaf_ns},
    CostConstant{"value_ns", "each value that is scored, or compared with a range", &MachineCosts::value_ns},
    CostConstant{"tied_ns", "a leaf that can only tie, among others of its node", &MachineCosts::tied_ns},
    CostConstant{"corner_ns", "the threshold of a leaf", &MachineCosts::corner_ns},
    CostConstant{"candidate_ns", "a row that reaches the k-th best, whether it enters or not",
                 &MachineCosts::candidate_ns},
    CostConstant{"replace_16_ns", "a row that enters the 16 best in another's place, beside that",
                 &MachineCosts::replace_16_ns},
    CostConstant{"replace_256_ns", "the 256 best", &MachineCosts::replace_256_ns},
    CostConstant{"replace_4096_ns", "the 4,096 best", &MachineCosts::replace_4096_ns},
    CostConstant{"replace_65536_ns", "the 65,536 best", &MachineCosts::replace_65536_ns},
    CostConstant{"sort_ns", "each row of the answer and doubling of its length", &MachineCosts::sort_ns},
    CostConstant{"far_leaf_32mb_ns",
                 "of a search that reads leaves of 32 MiB in any order, beside computing: each leaf",
                 &MachineCosts::far_leaf_32mb_ns},
    CostConstant{"far_kb_32mb_ns", "and each kilobyte of values", &MachineCosts::far_kb_32mb_ns},
    CostConstant{"far_leaf_256mb_ns", "the same for 256 MiB: each leaf", &MachineCosts::far_leaf_256mb_ns},
    CostConstant{"far_kb_256mb_ns", "and each kilobyte", &MachineCosts::far_kb_256mb_ns},
    CostConstant{"stream_leaf_32mb_ns", "of one thread that reads leaves of 32 MiB in a row: each leaf",
                 &MachineCosts::stream_leaf_32mb_ns},
    CostConstant{"stream_kb_32mb_ns", "and each kilobyte of values", &MachineCosts::stream_kb_32mb_ns},
    CostConstant{"stream_leaf_256mb_ns", "the same for 256 MiB: each leaf",
                 &MachineCosts::stream_leaf_256mb_ns},
    CostConstant{"stream_kb_256mb_ns", "and each kilobyte", &MachineCosts::stream_kb_256mb_ns},
    CostConstant{"shared_leaf_32mb_ns", "of all threads that share such reading: each leaf",
                 &MachineCosts::shared_leaf_32mb_ns},
    CostConstant{"shared_kb_32mb_ns", "and each kilobyte of values", &MachineCosts::shared_kb_32mb_ns},
    CostConstant{"shared_leaf_256mb_ns", "the same for 256 MiB: each leaf",
                 &MachineCosts::shared_leaf_256mb_ns},
    CostConstant{"shared_kb_256mb_ns", "and each kilobyte", &MachineCosts::shared_kb_256mb_ns},
};

// What reading adds to computing once leaves do not fit a core's own cache: where there are so many of them
// that cores' common cache holds them, or some, and where it does not.
inline constexpr std::array<std::size_t, 2> kReadSizes = {32 << 20, 256 << 20};
struct ReadCosts {
  std::array<double MachineCosts::*, kReadSizes.size()> leaf, kb;
};
inline constexpr ReadCosts kFarRead = {{&MachineCosts::far_leaf_32mb_ns, &MachineCosts::far_leaf_256mb_ns},
                                       {&MachineCosts::far_kb_32mb_ns, &MachineCosts::far_kb_256mb_ns}};
inline constexpr ReadCosts kStreamRead = {
    {&MachineCosts::stream_leaf_32mb_ns, &MachineCosts::stream_leaf_256mb_ns},
    {&MachineCosts::stream_kb_32mb_ns, &MachineCosts::stream_kb_256mb_ns}};
inline constexpr ReadCosts kSharedRead = {
    {&MachineCosts::shared_leaf_32mb_ns, &MachineCosts::shared_leaf_256mb_ns},
    {&MachineCosts::shared_kb_32mb_ns, &MachineCosts::shared_kb_256mb_ns}};

}  // namespace culmen
