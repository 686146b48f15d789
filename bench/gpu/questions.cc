#include "bench/gpu/questions.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>

#include "bench/weights.h"

namespace culmen::bench {
namespace {

std::vector<Weights> make_shapes(std::size_t d) {
  const std::size_t half = (d + 1) / 2;
  Weights rising(d), falling(d), hill(d), valley(d);
  for (std::size_t i = 0; i < d; ++i) {
    const auto middle = static_cast<double>(std::min(i, d - 1 - i));
    rising[i] = 0.1 * static_cast<double>(i + 1);
    falling[i] = 0.1 * static_cast<double>(d - i);
    hill[i] = 0.1 * (middle + 1);
    valley[i] = 0.1 * (static_cast<double>(half) - middle);
  }
  return {Weights(d, 1.0), rising, falling, hill, valley};
}

std::vector<Weights> make_parts(std::size_t d) {
  std::vector<Weights> parts;
  for (std::size_t m = 2; m <= d; ++m) {
    Weights first(d), last(d);
    std::fill_n(first.begin(), m, 1.0);
    std::fill_n(last.rbegin(), m, 1.0);
    parts.push_back(first);
    parts.push_back(last);
  }
  return parts;
}

Weights make_skewed(std::size_t d, std::mt19937_64& random) {
  Weights skewed(d);
  for (std::size_t i = 0; i < d; ++i) skewed[i] = std::ldexp(8.0, -static_cast<int>(i));
  std::shuffle(skewed.begin(), skewed.end(), random);
  return skewed;
}

Weights make_mixed(int dims, std::mt19937_64& random) {
  Weights mixed = random_weights(random, dims);
  for (double& weight : mixed) weight = random() % 2 == 0 ? weight : -weight;
  return mixed;
}

}  // namespace

std::vector<Family> make_families(int dims) {
  const auto d = static_cast<std::size_t>(dims);
  std::mt19937_64 random(7);
  std::vector<Weights> uniform, skewed, mixed;
  for (int i = 0; i < 50; ++i) uniform.push_back(random_weights(random, dims));
  for (int i = 0; i < 20; ++i) {
    skewed.push_back(make_skewed(d, random));
    mixed.push_back(make_mixed(dims, random));
  }
  return {{"Q0-Q4", make_shapes(d)},
          {"first/last m", make_parts(d)},
          {"random", uniform},
          {"skewed", skewed},
          {"mixed signs", mixed, true}};
}

const Family& find_family(const std::vector<Family>& families, const std::string& name) {
  return *std::find_if(families.begin(), families.end(),
                       [&](const Family& family) { return family.name == name; });
}

}  // namespace culmen::bench
