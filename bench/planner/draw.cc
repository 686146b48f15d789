#include "bench/planner/draw.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace culmen::bench {
namespace {

double uniform(std::mt19937_64& random) {
  return std::uniform_real_distribution<double>(0, 1)(random);
}

std::size_t below(std::mt19937_64& random, std::size_t limit) {
  return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
}

std::size_t log_uniform(std::mt19937_64& random, double largest) {
  return static_cast<std::size_t>(std::exp(uniform(random) * std::log(largest)));
}

void draw_weights(std::mt19937_64& random, int dims, Question& question) {
  std::vector<std::size_t> order(static_cast<std::size_t>(dims));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  const std::size_t used = below(random, 2) == 0 ? order.size() : 1 + below(random, order.size());
  const bool mixed = below(random, 2) == 0;
  const bool skewed = below(random, 4) == 0;
  question.query.weights.assign(order.size(), 0.0);
  for (std::size_t i = 0; i < used; ++i) {
    double weight = skewed ? std::ldexp(8.0, -static_cast<int>(i)) : 1 - uniform(random);
    if (mixed && below(random, 2) == 0) weight = -weight;
    question.query.weights[order[i]] = weight;
    question.num_negative += weight < 0 ? 1 : 0;
  }
  question.num_used = static_cast<int>(used);
}

Range draw_range(std::mt19937_64& random, const std::vector<std::vector<double>>& sample) {
  const std::vector<double>& one = sample[below(random, sample.size())];
  const std::vector<double>& other = sample[below(random, sample.size())];
  const std::size_t attribute = below(random, one.size());
  Range range{.attribute = static_cast<int>(attribute)};
  const std::size_t sides = below(random, 3);  // from, up to, or both
  if (sides != 1) range.minimum = std::min(one[attribute], other[attribute]);
  if (sides != 0) range.maximum = std::max(one[attribute], other[attribute]);
  return range;
}

}  // namespace

std::vector<TableCase> table_cases(std::uint64_t max_values) {
  std::vector<TableCase> cases;
  for (const char* kind : {"independent", "correlated", "anticorrelated", "ratings", "zipf", "clusters"})
    for (const std::uint64_t rows : {2'000, 30'000, 300'000, 2'000'000, 8'000'000})
      for (const int dims : {2, 4, 8, 12})
        if (rows * static_cast<std::uint64_t>(dims) <= max_values) cases.push_back({kind, rows, dims});
  return cases;
}

Question draw_question(std::mt19937_64& random, const TableCase& table,
                       const std::vector<std::vector<double>>& sample) {
  Question question;
  draw_weights(random, table.dims, question);
  const bool large_k = below(random, 10) == 0;
  const double largest =
      static_cast<double>(large_k ? table.rows : std::min<std::uint64_t>(table.rows, 1'000));
  question.query.k = log_uniform(random, largest);
  const std::size_t ranges = below(random, 10) < 6 ? 0 : 1 + below(random, 2);
  for (std::size_t r = 0; r < ranges; ++r)
    question.query.where = question.query.where && draw_range(random, sample);
  return question;
}

}  // namespace culmen::bench
