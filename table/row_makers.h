// How a row of each kind of synthetic table is drawn. The independent, correlated and anticorrelated kinds follow the
// recipes of Börzsönyi, Kossmann and Stocker ("The skyline operator", ICDE 2001), on which skyline and top-k work is
// usually measured. The others have what those lack: ties, heavy tails, clusters, zeros, time series.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "culmen/table_io.h"
#include "table/row_random.h"

namespace culmen {

constexpr std::uint32_t stream_of(TableKind kind) {
  return static_cast<std::uint32_t>(kind);
}

// Added to the stream of a kind: the random numbers of a whole table, disjoint from the streams of rows.
inline constexpr std::uint32_t kSettingsStream = 0x80000000u;

inline void make_independent(RowRandom& random, std::span<double> row) {
  for (double& value : row) value = random.uniform();
}

inline bool in_unit_cube(std::span<const double> row) {
  return std::all_of(row.begin(), row.end(), [](double value) { return value >= 0 && value <= 1; });
}

// Moves the row off the diagonal point (centre, ..., centre) without changing its sum: what one attribute gains, its
// neighbour loses. draw_shift(reach) draws the amount; reach is the distance to the nearer end of [0, 1].
template <typename DrawShift>
void scatter_around(double centre, std::span<double> row, DrawShift draw_shift) {
  const double reach = std::min(centre, 1 - centre);
  std::fill(row.begin(), row.end(), centre);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double shift = draw_shift(reach);
    row[i] += shift;
    row[i + 1 < row.size() ? i + 1 : 0] -= shift;
  }
}

// Points close to the diagonal, spread along it.
inline void make_correlated(RowRandom& random, std::span<double> row) {
  do {
    const double centre = random.peak(0, 1, static_cast<int>(row.size()));
    scatter_around(centre, row, [&](double reach) { return random.normal(0, reach); });
  } while (!in_unit_cube(row));
}

// Points near a plane across the diagonal, spread on it: a row that is good in one attribute is bad in another.
inline void make_anticorrelated(RowRandom& random, std::span<double> row) {
  do {
    const double centre = random.normal(0.5, 0.25);
    scatter_around(centre, row, [&](double reach) { return random.uniform(-reach, reach); });
  } while (!in_unit_cube(row));
}

// Review scores 1.0, 1.5, ..., 5.0: mostly good, some very bad, all attributes correlated with the quality of the
// product. With nine levels most rows tie.
inline void make_ratings(RowRandom& random, std::span<double> row) {
  const double flaw = random.uniform();
  const double quality = 1 - flaw * flaw;
  for (double& value : row) {
    const bool angry = random.below(32) == 0;
    const double opinion = std::clamp(quality + random.peak(-0.35, 0.35, 3), 0.0, 1.0);
    const double level = angry ? 0 : std::min(std::floor(opinion * 9), 8.0);
    value = 1 + level / 2;
  }
}

// Counts 1, 2, ... with P(count >= x) = x^(-8/m): m = 8 (the heaviest), 7, ..., 3 in turn. At most 2^24, so a
// float32 holds every count.
inline void make_zipf(RowRandom& random, std::span<double> row) {
  constexpr std::size_t kNumSkews = 6;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double root_8 = std::sqrt(std::sqrt(std::sqrt(random.uniform_above_zero())));
    double power = 1;
    for (std::size_t m = 8 - i % kNumSkews; m > 0; --m) power *= root_8;
    row[i] = std::floor(1 / power);
  }
}

// Clusters of different widths around centres that follow from the seed.
class ClusterMaker {
 public:
  ClusterMaker(std::uint64_t seed, std::size_t num_attributes) : num_attributes_(num_attributes) {
    for (std::uint32_t cluster = 0; cluster < kNumClusters; ++cluster) {
      RowRandom random(seed, stream_of(TableKind::clusters) | kSettingsStream, cluster);
      reach_[cluster] = random.uniform(0.02, 0.2);
      for (std::size_t i = 0; i < num_attributes; ++i) centres_.push_back(random.uniform());
    }
  }

  void operator()(RowRandom& random, std::span<double> row) const {
    const std::uint32_t cluster = random.below(kNumClusters);
    const double* centre = centres_.data() + cluster * num_attributes_;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double reach = reach_[cluster];
      row[i] = std::clamp(centre[i] + random.peak(-reach, reach, 4), 0.0, 1.0);
    }
  }

 private:
  static constexpr std::uint32_t kNumClusters = 64;

  std::size_t num_attributes_;
  std::vector<double> centres_;  // [kNumClusters, num_attributes]
  std::array<double, kNumClusters> reach_{};
};

// Mean 0, deviation 1, the same in all directions.
inline void make_gaussian(RowRandom& random, std::span<double> row) {
  for (double& value : row) value = random.normal(0, 6);
}

// Readings in tenths, so many tie, in correlated pairs like temperature and dew point.
inline void make_weather(RowRandom& random, std::span<double> row) {
  const auto in_tenths = [](double value) { return std::floor(value * 10 + 0.5) / 10; };
  double reading = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    reading = i % 2 == 0 ? random.normal(10, 48) : reading - 6 * random.uniform() * random.uniform();
    row[i] = in_tenths(reading);
  }
}

// A normal number over a uniform one (the slash distribution): tails like 1/x of both signs, up to 10^8, while the
// middle half is between -1.5 and 1.5.
inline void make_heavytailed(RowRandom& random, std::span<double> row) {
  for (double& value : row) value = random.normal(0, 6) / random.uniform_above_zero();
}

// 19 of 20 values are 0.
inline void make_sparse(RowRandom& random, std::span<double> row) {
  for (double& value : row) value = random.below(20) == 0 ? random.uniform_above_zero() : 0;
}

// Shares of a whole, all divisions equally likely: the gaps between sorted points of [0, 1].
inline void make_compositional(RowRandom& random, std::span<double> row) {
  for (double& value : row) value = random.uniform();
  row.back() = 1;
  std::sort(row.begin(), row.end());
  for (std::size_t i = row.size() - 1; i > 0; --i) row[i] -= row[i - 1];
}

// Sensor readings in time order: each attribute is a sum of waves over the rows, the longest a few million rows long,
// and a little noise.
class SeriesMaker {
 public:
  SeriesMaker(std::uint64_t seed, std::size_t num_attributes) : waves_(num_attributes) {
    for (std::size_t i = 0; i < num_attributes; ++i) {
      RowRandom random(seed, stream_of(TableKind::series) | kSettingsStream, i);
      double longest = random.uniform(1e6, 4e6);
      for (Wave& wave : waves_[i]) {
        wave = {longest, random.uniform(), random.uniform(0.5, 1)};
        longest /= random.uniform(10, 40);
      }
    }
  }

  void operator()(std::uint64_t number, RowRandom& random, std::span<double> row) const {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = random.normal(0, 0.05);
      double height = 1;
      for (const Wave& wave : waves_[i]) {
        row[i] += height * wave.height * parabola(static_cast<double>(number) / wave.length + wave.start);
        height /= 3;
      }
    }
  }

 private:
  struct Wave {
    double length, start, height;
  };
  static constexpr std::size_t kNumWaves = 3;

  // A smooth wave of period 1 between -1 and 1, made from parabolas, because sin() differs between C libraries.
  static double parabola(double turns) {
    const double phase = turns - std::floor(turns);
    const double half = phase < 0.5 ? phase : phase - 0.5;
    const double arch = 16 * half * (0.5 - half);
    return phase < 0.5 ? arch : -arch;
  }

  std::vector<std::array<Wave, kNumWaves>> waves_;
};

}  // namespace culmen
