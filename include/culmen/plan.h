// Plans: which engine a search would use and how long it would take, on the CPU or on a GPU.
#pragma once

#include <string>
#include <vector>

#include "culmen/resources.h"
#include "culmen/search.h"

namespace culmen {

// The time of an engine by the cost model (docs/how-it-works.md), on a warm index and an idle machine.
struct Prediction {
  Engine engine = Engine::automatic;
  double elapsed_us = 0;
  int device = kNoDevice;  // the GPU that would answer, if the index is there already
};

// The plan of a query: the engine that a search uses, why, and the bound that prunes.
struct Explanation {
  Engine engine = Engine::automatic;  // automatic: none, as few ids are looked up
  std::string reason;
  // For `bounded` and `scan`, the chosen one first and those of a GPU last. Empty for an empty index, and where few ids
  // are looked up.
  std::vector<Prediction> predictions;
  std::string text;  // several lines, ready to print
};

struct PlacementOptions {
  int num_threads = kAllCores;  // as in SearchOptions
  bool has_copy = false;        // the index is on a GPU already
};

// Where the cost model expects the answers sooner: on the CPU, or on a GPU after copying the index. If there are several,
// the one with the most free memory.
struct Placement {
  int device = kNoDevice;
  std::string reason;
  double cpu_us = 0;
  double device_us = 0;  // 0 without a GPU, like copy_us
  double copy_us = 0;    // copying the index first
};

}  // namespace culmen
