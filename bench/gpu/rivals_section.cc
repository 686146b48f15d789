#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/gpu/rivals.h"
#include "bench/gpu/sections.h"
#include "bench/gpu/tables.h"
#include "bench/timing.h"

namespace culmen::bench {
namespace {

constexpr int kRepeats = 5;
constexpr double kTolerance = 1e-5;  // of a float32 score from weights and values above zero

double score_of(const TableView& table, const Weights& weights, std::uint32_t row) {
  double score = 0;
  for (std::size_t i = 0; i < weights.size(); ++i)
    score += weights[i] * static_cast<double>(float_column(table, i)[row]);
  return score;
}

// Whether these rows are the best, up to the rounding of float32: the exact score of each row is that of the exact
// answer at its rank.
bool agrees(const TableView& table, const Weights& weights, const std::vector<ScoredRow>& rows,
            const std::vector<Hit>& hits) {
  const auto is_near = [&](const ScoredRow& row, const Hit& hit) {
    return std::abs(score_of(table, weights, row.row) - hit.score) <= kTolerance * std::abs(hit.score);
  };
  return std::equal(rows.begin(), rows.end(), hits.begin(), hits.end(), is_near);
}

void print_line(const std::string& name, double us, double reading_us) {
  std::printf("%-26s %9.0f us = %.2f x reading\n", name.c_str(), us, us / reading_us);
}

}  // namespace

int measure_rivals(const TableView& table, const Index& index, const Weights& weights, const Reading& reading,
                   const Ks& ks) try {
  Rivals rivals(table);
  int wrong = 0;
  // False if there is no such rival.
  const auto measure = [&](const std::string& name, std::size_t k, auto rival) {
    std::vector<ScoredRow> rows;
    const double us = median(times_us(kRepeats, [&] { rows = (rivals.*rival)(weights, k); }));
    if (rows.empty()) return false;
    print_line(name + ", k = " + std::to_string(k), us, reading.us(weights));
    if (!agrees(table, weights, rows, index.search({.weights = weights, .k = k}).hits)) ++wrong;
    return true;
  };
  print_line("scores alone", median(times_us(kRepeats, [&] { rivals.score(weights); })), reading.us(weights));
  bool has_top_k = true;
  for (const std::size_t k : ks) {
    measure("scores + sort", k, &Rivals::sort);
    has_top_k = measure("scores + DeviceTopK", k, &Rivals::top_k);
  }
  if (!has_top_k) std::printf("scores + DeviceTopK: not in this CUB\n");
  return wrong;
} catch (const OutOfDeviceMemory&) {
  std::printf("rivals skipped: columns and scores do not fit on the card\n");
  return 0;
}

}  // namespace culmen::bench
