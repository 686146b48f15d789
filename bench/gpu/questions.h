// The questions of the GPU benchmarks, by family. Every attribute prefers high values, so only mixed signs have weights
// against a preference.
#pragma once

#include <string>
#include <vector>

namespace culmen::bench {

using Weights = std::vector<double>;

struct Family {
  std::string name;
  std::vector<Weights> questions;
  bool mixed_signs = false;
};

//   Q0-Q4          equal, rising, falling, highest in the middle, lowest in the middle
//   first/last m   1 for the first or the last m attributes, m = 2 .. dims
//   random         50, uniform in (0, 1]
//   skewed         20 orders of 8, 4, 2, 1, 1/2, ...
//   mixed signs    20 random ones with random signs
// dims >= 2
std::vector<Family> make_families(int dims);

const Family& find_family(const std::vector<Family>& families, const std::string& name);

}  // namespace culmen::bench
