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
  double leaf_ns = 120;
  double value_ns = 0.18;
  double tied_ns = 110;
  double candidate_ns = 7;
  double replace_16_ns = 65;
  double replace_256_ns = 110;
  double replace_4096_ns = 200;
  double replace_65536_ns = 580;
  double sort_ns = 10;
  double far_leaf_ns_per_kb = 65;
  double stream_ns_per_kb = 130;
  double shared_stream_ns_per_kb = 70;
};

struct CostConstant {
  std::string_view name;
  std::string_view meaning;
  double MachineCosts::*value;
};

// By name, as they stand in the file and are shown to people.
inline constexpr std::array kCostConstants = {
    CostConstant{"search_ns", "a search that finds one row, whatever the engine", &MachineCosts::search_ns},
    CostConstant{"fork_ns", "sharing work out to all threads and waiting for them", &MachineCosts::fork_ns},
    CostConstant{"node_ns", "opening an inner node", &MachineCosts::node_ns},
    CostConstant{"bound_ns", "each row of bounds that a node adds up", &MachineCosts::bound_ns},
    CostConstant{"range_ns", "comparing a node's children with a range", &MachineCosts::range_ns},
    CostConstant{"leaf_ns", "taking a leaf from the frontier and visiting it", &MachineCosts::leaf_ns},
    CostConstant{"value_ns", "each value that is scored, or compared with a range", &MachineCosts::value_ns},
    CostConstant{"tied_ns", "taking a leaf that can only tie from the frontier", &MachineCosts::tied_ns},
    CostConstant{"candidate_ns", "a row that reaches the k-th best, whether it enters or not",
                 &MachineCosts::candidate_ns},
    CostConstant{"replace_16_ns", "a row that enters the 16 best in another's place, beside that",
                 &MachineCosts::replace_16_ns},
    CostConstant{"replace_256_ns", "the 256 best", &MachineCosts::replace_256_ns},
    CostConstant{"replace_4096_ns", "the 4,096 best", &MachineCosts::replace_4096_ns},
    CostConstant{"replace_65536_ns", "the 65,536 best", &MachineCosts::replace_65536_ns},
    CostConstant{"sort_ns", "each row of the answer and doubling of its length", &MachineCosts::sort_ns},
    CostConstant{"far_leaf_ns_per_kb", "a kilobyte of leaves beyond the first megabyte, in any order",
                 &MachineCosts::far_leaf_ns_per_kb},
    CostConstant{"stream_ns_per_kb", "a kilobyte of leaves in a row, scored by one thread",
                 &MachineCosts::stream_ns_per_kb},
    CostConstant{"shared_stream_ns_per_kb", "a kilobyte of leaves in a row, scored by all threads",
                 &MachineCosts::shared_stream_ns_per_kb},
};

}  // namespace culmen
