// Plans: what a search would do and how long it would take, on the CPU or on a GPU.
#pragma once

#include <string>
#include <vector>

#include "culmen/resources.h"
#include "culmen/search.h"

namespace culmen {

// How long an engine would take by the cost model (docs/how-it-works.md), on a warm index and an idle
// machine.
struct Prediction {
  Engine engine = Engine::automatic;
  double elapsed_us = 0;
  int device = kNoDevice;  // the GPU that would answer, from a copy that is there already
};

// The plan of a query, for people: the engine, why it was chosen, and the bound that prunes.
struct Explanation {
  Engine engine = Engine::automatic;
  std::string reason;
  // Of `bounded` and `scan`, the chosen one first, those of a GPU last; there are none for an empty index.
  std::vector<Prediction> predictions;
  std::string text;  // several lines, ready to print
};

struct PlacementOptions {
  int num_threads = kAllCores;  // as in SearchOptions
  bool has_copy = false;        // the index is on GPU 0 already
};

// Where queries would be answered sooner by the cost model: on the CPU, or on GPU 0 after copying the index.
struct Placement {
  int device = kNoDevice;
  std::string reason;
  double cpu_us = 0;
  double device_us = 0;  // 0 without a GPU, like copy_us
  double copy_us = 0;    // copying the index first
};

}  // namespace culmen
