// Random weight vectors, uniform in (0, 1]^D.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

namespace culmen::bench {

inline std::vector<double> random_weights(std::mt19937_64& random, int dims) {
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> weights(static_cast<std::size_t>(dims));
  for (double& weight : weights) weight = 1 - uniform(random);
  return weights;
}

}  // namespace culmen::bench
