// Synthetic tables. The independent, correlated and anticorrelated kinds follow the recipes of Börzsönyi,
// Kossmann and Stocker ("The skyline operator", ICDE 2001), on which skyline and top-k work is usually
// measured; the others have what those lack: ties, heavy tails, clusters, zeros, neighbours in time.
#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "base/enum_names.h"
#include "base/floating_point_scope.h"
#include "base/with_threads.h"
#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/hotels.h"
#include "table/row_random.h"

namespace culmen {
namespace {

constexpr int kMaxAttributes = 1024;
// A row is redrawn until all its values lie in [0, 1], which about 0.87^attributes of the draws do.
constexpr int kMaxAnticorrelatedAttributes = 32;
constexpr std::uint64_t kMaxRows = std::uint64_t{1} << 40;
constexpr std::size_t kGrainRows = 4096;

constexpr EnumNames<TableKind, 13> kKinds = {"kind of table",
                                             {{{"independent", TableKind::independent},
                                               {"correlated", TableKind::correlated},
                                               {"anticorrelated", TableKind::anticorrelated},
                                               {"ratings", TableKind::ratings},
                                               {"zipf", TableKind::zipf},
                                               {"clusters", TableKind::clusters},
                                               {"hotels", TableKind::hotels},
                                               {"gaussian", TableKind::gaussian},
                                               {"weather", TableKind::weather},
                                               {"heavytailed", TableKind::heavytailed},
                                               {"sparse", TableKind::sparse},
                                               {"series", TableKind::series},
                                               {"compositional", TableKind::compositional}}}};

constexpr std::uint32_t stream_of(TableKind kind) {
  return static_cast<std::uint32_t>(kind);
}

// Of what holds for a whole table, apart from the streams of rows.
constexpr std::uint32_t kSettingsStream = 0x80000000u;

void make_independent(RowRandom& random, std::span<double> row) {
  for (double& value : row) value = random.uniform();
}

bool in_unit_cube(std::span<const double> row) {
  return std::all_of(row.begin(), row.end(), [](double value) { return value >= 0 && value <= 1; });
}

// Moves the row off the diagonal point (centre, ..., centre) without changing its sum: what one attribute
// gains its neighbour loses. `draw_shift(reach)` says how much, with reach the distance to the nearer end of
// [0, 1].
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

// Points far apart along the diagonal, close to it.
void make_correlated(RowRandom& random, std::span<double> row) {
  do {
    const double centre = random.peak(0, 1, static_cast<int>(row.size()));
    scatter_around(centre, row, [&](double reach) { return random.normal(0, reach); });
  } while (!in_unit_cube(row));
}

// Points near one plane across the diagonal, spread out on it: what is good in one attribute is bad in
// another.
void make_anticorrelated(RowRandom& random, std::span<double> row) {
  do {
    const double centre = random.normal(0.5, 0.25);
    scatter_around(centre, row, [&](double reach) { return random.uniform(-reach, reach); });
  } while (!in_unit_cube(row));
}

// Review scores 1.0, 1.5, ..., 5.0: mostly good, some at the very bottom, all attributes following the
// quality of the product. Nine levels make ties the rule.
void make_ratings(RowRandom& random, std::span<double> row) {
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
void make_zipf(RowRandom& random, std::span<double> row) {
  constexpr std::size_t kNumSkews = 6;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double root_8 = std::sqrt(std::sqrt(std::sqrt(random.uniform_above_zero())));
    double power = 1;
    for (std::size_t m = 8 - i % kNumSkews; m > 0; --m) power *= root_8;
    row[i] = std::floor(1 / power);
  }
}

// Clouds of different widths around centres that the seed places.
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
void make_gaussian(RowRandom& random, std::span<double> row) {
  for (double& value : row) value = random.normal(0, 6);
}

// Readings in tenths, so that many tie, in pairs that go together, as temperature and dew point do.
void make_weather(RowRandom& random, std::span<double> row) {
  const auto in_tenths = [](double value) { return std::floor(value * 10 + 0.5) / 10; };
  double reading = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    reading = i % 2 == 0 ? random.normal(10, 48) : reading - 6 * random.uniform() * random.uniform();
    row[i] = in_tenths(reading);
  }
}

// A normal number over a uniform one ("slash"): tails like 1/x of both signs, up to 10^8 where the middle half is
// between -1.5 and 1.5.
void make_heavytailed(RowRandom& random, std::span<double> row) {
  for (double& value : row) value = random.normal(0, 6) / random.uniform_above_zero();
}

// 19 of 20 are 0.
void make_sparse(RowRandom& random, std::span<double> row) {
  for (double& value : row) value = random.below(20) == 0 ? random.uniform_above_zero() : 0;
}

// Shares of a whole, all divisions equally likely: the gaps between sorted points of [0, 1].
void make_compositional(RowRandom& random, std::span<double> row) {
  for (double& value : row) value = random.uniform();
  row.back() = 1;
  std::sort(row.begin(), row.end());
  for (std::size_t i = row.size() - 1; i > 0; --i) row[i] -= row[i - 1];
}

// Sensors read one row after the other: each attribute is a sum of waves over the rows, the longest of a few million of
// them, and a little noise.
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

  // A smooth wave of period 1 between -1 and 1, of parabolas instead of a sine.
  static double parabola(double turns) {
    const double phase = turns - std::floor(turns);
    const double half = phase < 0.5 ? phase : phase - 0.5;
    const double arch = 16 * half * (0.5 - half);
    return phase < 0.5 ? arch : -arch;
  }

  std::vector<std::array<Wave, kNumWaves>> waves_;
};

template <Element T>
T* column_values(Table& table, std::size_t column) {
  return std::get<std::vector<T>>(table.storage[column]).data();
}

template <Element T>
Table make_empty_table(std::size_t num_rows, std::vector<Attribute> attributes) {
  Table table;
  table.num_rows = num_rows;
  table.attributes = std::move(attributes);
  table.storage.assign(table.attributes.size(), std::vector<T>());
  // Clearing fresh memory is a good part of the work, hence by all threads.
  tbb::parallel_for(std::size_t{0}, table.storage.size(), [&](std::size_t column) {
    std::get<std::vector<T>>(table.storage[column]).resize(num_rows);
  });
  for (std::size_t column = 0; column < table.storage.size(); ++column) {
    table.columns.emplace_back(column_values<T>(table, column), num_rows);
  }
  return table;
}

// Calls make_row(row number, values of the row) for every row and stores the values as T.
template <Element T, typename MakeRow>
void fill_table(Table& table, const MakeRow& make_row) {
  std::vector<T*> columns;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    columns.push_back(column_values<T>(table, column));
  }
  const tbb::blocked_range<std::size_t> all_rows(0, table.num_rows, kGrainRows);
  tbb::parallel_for(all_rows, [&](const tbb::blocked_range<std::size_t>& rows) {
    const FloatingPointScope floating_point;
    std::vector<double> values(columns.size());
    for (std::size_t row = rows.begin(); row < rows.end(); ++row) {
      make_row(row, std::span<double>(values));
      for (std::size_t i = 0; i < values.size(); ++i) columns[i][row] = static_cast<T>(values[i]);
    }
  });
}

std::vector<Attribute> numbered_attributes(int num_attributes) {
  std::vector<Attribute> attributes;
  for (int i = 0; i < num_attributes; ++i) {
    attributes.push_back({std::string("a").append(std::to_string(i)), Preference::high});
  }
  return attributes;
}

// make_row(random numbers of the row, its values), or with the row's number before them.
template <typename MakeRow>
Table generate_numbers(const GenerateOptions& options, const MakeRow& make_row) {
  Table table = make_empty_table<float>(options.num_rows, numbered_attributes(options.num_attributes));
  fill_table<float>(table, [&](std::uint64_t row, std::span<double> values) {
    RowRandom random(options.seed, stream_of(options.kind), row);
    if constexpr (std::invocable<const MakeRow&, std::uint64_t, RowRandom&, std::span<double>>) {
      make_row(row, random, values);
    } else {
      make_row(random, values);
    }
  });
  return table;
}

// Names have different lengths: the first pass measures them, the second writes each where it belongs.
void add_names(const HotelGenerator& hotels, Table& table) {
  const tbb::blocked_range<std::size_t> all_rows(0, table.num_rows, kGrainRows);
  const auto for_each_name = [&](const auto& use) {
    tbb::parallel_for(all_rows, [&](const tbb::blocked_range<std::size_t>& rows) {
      std::string name;
      for (std::size_t row = rows.begin(); row < rows.end(); ++row) {
        name.clear();
        hotels.append_name(row, name);
        use(row, name);
      }
    });
  };
  table.label_name = "name";
  std::vector<std::uint64_t>& offsets = table.labels.offsets;
  offsets.resize(table.num_rows + 1);
  for_each_name([&](std::size_t row, const std::string& name) { offsets[row + 1] = name.size(); });
  for (std::size_t row = 0; row < table.num_rows; ++row) offsets[row + 1] += offsets[row];
  table.labels.bytes.resize(offsets.back());
  for_each_name([&](std::size_t row, const std::string& name) {
    std::copy(name.begin(), name.end(), table.labels.bytes.data() + offsets[row]);
  });
}

Table generate_hotels(const GenerateOptions& options) {
  const HotelGenerator hotels(options.seed, stream_of(TableKind::hotels));
  Table table = make_empty_table<double>(options.num_rows, HotelGenerator::attributes());
  fill_table<double>(table,
                     [&](std::uint64_t row, std::span<double> values) { hotels.make_row(row, values); });
  table.ids.resize(table.num_rows);
  for (std::size_t row = 0; row < table.num_rows; ++row) {
    table.ids[row] = HotelGenerator::kFirstId + static_cast<std::int64_t>(row);
  }
  add_names(hotels, table);
  return table;
}

Table generate(const GenerateOptions& options) {
  const auto num_attributes = static_cast<std::size_t>(options.num_attributes);
  switch (options.kind) {
    case TableKind::independent:
      return generate_numbers(options, make_independent);
    case TableKind::correlated:
      return generate_numbers(options, make_correlated);
    case TableKind::anticorrelated:
      return generate_numbers(options, make_anticorrelated);
    case TableKind::ratings:
      return generate_numbers(options, make_ratings);
    case TableKind::zipf:
      return generate_numbers(options, make_zipf);
    case TableKind::clusters:
      return generate_numbers(options, ClusterMaker(options.seed, num_attributes));
    case TableKind::hotels:
      return generate_hotels(options);
    case TableKind::gaussian:
      return generate_numbers(options, make_gaussian);
    case TableKind::weather:
      return generate_numbers(options, make_weather);
    case TableKind::heavytailed:
      return generate_numbers(options, make_heavytailed);
    case TableKind::sparse:
      return generate_numbers(options, make_sparse);
    case TableKind::series:
      return generate_numbers(options, SeriesMaker(options.seed, num_attributes));
    case TableKind::compositional:
      return generate_numbers(options, make_compositional);
  }
  throw InvalidArgument("unknown table kind " + std::to_string(static_cast<int>(options.kind)));
}

void check(const GenerateOptions& options) {
  if (options.num_rows > kMaxRows) {
    throw InvalidArgument("cannot generate " + std::to_string(options.num_rows) + " rows: at most " +
                          std::to_string(kMaxRows));
  }
  if (options.kind == TableKind::hotels) return;
  const int limit = options.kind == TableKind::anticorrelated ? kMaxAnticorrelatedAttributes : kMaxAttributes;
  if (options.num_attributes < 1 || options.num_attributes > limit) {
    throw InvalidArgument("cannot generate " + std::to_string(options.num_attributes) +
                          " attributes: expected 1 to " + std::to_string(limit) + " for this kind of table");
  }
}

}  // namespace

Table generate_table(const GenerateOptions& options) {
  const FloatingPointScope floating_point;
  check(options);
  return with_threads(options.num_threads, [&] { return generate(options); });
}

TableKind parse_table_kind(std::string_view name) {
  return kKinds.parse(name);
}

}  // namespace culmen
