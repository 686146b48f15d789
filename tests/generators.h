// Random tables and queries, hostile on purpose: ties, constants, denormals, sums that round, values of very
// different sizes. Everything follows from one seed, on every machine.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "culmen/query.h"
#include "culmen/table.h"
#include "tests/oracle.h"

namespace culmen::test {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// splitmix64: the standard library's distributions differ between implementations.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t count) { return next() % count; }
  int between(int lowest, int highest) {
    return lowest + static_cast<int>(below(static_cast<std::uint64_t>(highest - lowest) + 1));
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)
  double uniform(double lowest, double highest) { return lowest + (highest - lowest) * unit(); }
  bool chance(double probability) { return unit() < probability; }
  double sign() { return chance(0.5) ? 1 : -1; }
  template <typename T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }

 private:
  std::uint64_t state_;
};

// How the values of a table's columns are distributed.
enum class ValueClass {
  uniform_f32,
  uniform_f64,
  small_integers,  // ties everywhere
  constant,        // every column one value: all scores equal
  duplicates,      // a few rows, each many times
  denormal_f32,
  denormal_f64,
  huge,             // up to 1e300, both signs
  mixed_magnitude,  // 1e-30 .. 1e30, both signs
  timestamps,       // 1.7e9 and a little
  last_places,      // most are one value, the others a few units in the last place of it away
  signed_zeros,     // -0, 0 and a few small numbers
  negative,
  clustered,
  dyadic,  // multiples of 2^-10: nothing rounds
  peaked,  // one row has every maximum: the bound of its leaf is attained
  correlated,
  anticorrelated,
  mixed,  // each column another class
};
inline constexpr int kNumValueClasses = static_cast<int>(ValueClass::mixed) + 1;

inline std::string_view value_class_name(ValueClass value_class) {
  constexpr std::array<std::string_view, kNumValueClasses> names = {
      "uniform_f32",  "uniform_f64", "small_integers",  "constant",   "duplicates",  "denormal_f32",
      "denormal_f64", "huge",        "mixed_magnitude", "timestamps", "last_places", "signed_zeros",
      "negative",     "clustered",   "dyadic",          "peaked",     "correlated",  "anticorrelated",
      "mixed"};
  return names[static_cast<std::size_t>(value_class)];
}

inline std::vector<ValueClass> all_value_classes() {
  std::vector<ValueClass> classes;
  for (int c = 0; c < kNumValueClasses; ++c) classes.push_back(static_cast<ValueClass>(c));
  return classes;
}

class TableGenerator {
 public:
  TableGenerator(Random& random, ValueClass value_class, std::size_t num_rows, int num_attributes)
      : random_(random), class_(value_class), num_rows_(num_rows), num_attributes_(num_attributes) {
    for (std::size_t row = 0; row < num_rows; ++row) latent_.push_back(random_.unit());
  }

  Table make() {
    Table table;
    table.num_rows = num_rows_;
    std::vector<std::vector<double>> columns;
    for (int i = 0; i < num_attributes_; ++i) {
      std::string name = "a";
      name += std::to_string(i);
      table.attributes.push_back({name, random_.chance(0.3) ? Preference::low : Preference::high});
      columns.push_back(column(i));
    }
    if (random_.chance(0.15)) {
      store_row_major(columns, table);
    } else {
      table.storage.reserve(columns.size());
      for (const std::vector<double>& values : columns) store_column(values, table);
    }
    table.ids = ids();
    if (random_.chance(0.2)) add_labels(table);
    return table;
  }

 private:
  std::vector<double> column(int attribute) {
    const ValueClass value_class =
        class_ == ValueClass::mixed ? static_cast<ValueClass>(random_.below(kNumValueClasses - 1)) : class_;
    std::vector<double> values(num_rows_);
    // What all values of the column have in common.
    const double base = random_.uniform(-10, 10);
    const double spread = random_.pick({1e-3, 1.0, 1e4});
    const std::uint64_t count = 1 + random_.below(5);
    const std::uint64_t salt = random_.next();
    const bool falls = random_.chance(0.5);
    const std::size_t peak = num_rows_ == 0 ? 0 : peak_row();
    for (std::size_t row = 0; row < num_rows_; ++row) {
      double& value = values[row];
      const double u = latent_[row];
      switch (value_class) {
        case ValueClass::uniform_f32:
          value = static_cast<float>(random_.unit());
          break;
        case ValueClass::uniform_f64:
          value = random_.unit();
          break;
        case ValueClass::small_integers:
          value = static_cast<double>(random_.below(count + 1));
          break;
        case ValueClass::constant:
          value = base;
          break;
        case ValueClass::duplicates:
          value = Random(salt + static_cast<std::uint64_t>(u * 4)).uniform(-1, 1);
          break;
        case ValueClass::denormal_f32:
          value = static_cast<double>(random_.below(1 << 20)) * 0x1p-149;
          break;
        case ValueClass::denormal_f64:
          value = static_cast<double>(random_.below(64)) * 0x1p-1074 * random_.sign();
          break;
        case ValueClass::huge:
          value = random_.sign() * std::pow(10.0, random_.uniform(280, 300));
          break;
        case ValueClass::mixed_magnitude:
          value = random_.sign() * std::pow(10.0, random_.uniform(-30, 30));
          break;
        case ValueClass::timestamps:
          value = 1.7e9 + std::floor(random_.unit() * spread * 1000) / 1000;
          break;
        case ValueClass::last_places:
          value = falls ? -last_place_value(salt) : last_place_value(salt);
          break;
        case ValueClass::signed_zeros:
          value = random_.pick({-0.0, 0.0, -0.0, 0.25, -0.25, 1e-40});
          break;
        case ValueClass::negative:
          value = -1 - random_.unit() * spread;
          break;
        case ValueClass::clustered:
          value = std::floor(u * 5) + random_.uniform(-1e-3, 1e-3);
          break;
        case ValueClass::dyadic:
          value = std::floor(random_.uniform(-1024, 1024)) * 0x1p-10;
          break;
        case ValueClass::peaked:
          value = base + (row == peak ? 1.0 : random_.unit()) * spread;
          break;
        case ValueClass::correlated:
          value = u + random_.uniform(-0.05, 0.05);
          break;
        case ValueClass::anticorrelated:
          value = (falls ? 1 - u : u) + random_.uniform(-0.05, 0.05);
          break;
        case ValueClass::mixed:
          break;
      }
    }
    static_cast<void>(attribute);
    return values;
  }

  // `salt`: of the column. As many digits as a float32 has, or a float64.
  double last_place_value(std::uint64_t salt) {
    Random column(salt);
    const std::uint64_t least = std::uint64_t{1} << column.pick({23, 52});
    const std::uint64_t common = 1 + column.below(62);
    const int exponent = column.pick({0, 0, -60, 70});
    const std::uint64_t digits = least + (random_.chance(0.98) ? common : random_.below(64));
    return std::ldexp(static_cast<double>(digits), exponent);
  }

  // The same row for every column.
  std::size_t peak_row() const {
    return static_cast<std::size_t>(latent_[0] * static_cast<double>(num_rows_));
  }

  template <Element T>
  static bool holds(const std::vector<double>& values) {
    if constexpr (std::is_same_v<T, double>) return true;
    const double limit = std::is_same_v<T, float> ? 3e38 : std::is_same_v<T, std::int32_t> ? 2e9 : 0x1p53;
    return std::all_of(values.begin(), values.end(), [limit](double value) {
      return std::fabs(value) <= limit && static_cast<double>(static_cast<T>(value)) == value;
    });
  }

  template <Element T>
  static bool store_as(const std::vector<double>& values, Table& table) {
    if (!holds<T>(values)) return false;
    Array<T> stored(values.size());
    std::transform(values.begin(), values.end(), stored.begin(),
                   [](double value) { return static_cast<T>(value); });
    table.columns.emplace_back(stored);
    table.storage.emplace_back(std::move(stored));
    return true;
  }

  // As one of the element types that hold every value exactly.
  void store_column(const std::vector<double>& values, Table& table) {
    bool stored = false;
    while (!stored) {
      switch (random_.below(4)) {
        case 0:
          stored = store_as<float>(values, table);
          break;
        case 1:
          stored = store_as<std::int32_t>(values, table);
          break;
        case 2:
          stored = store_as<std::int64_t>(values, table);
          break;
        default:
          stored = store_as<double>(values, table);
          break;
      }
    }
  }

  static void store_row_major(const std::vector<std::vector<double>>& columns, Table& table) {
    Array<double> matrix(columns.size() * table.num_rows);
    for (std::size_t i = 0; i < columns.size(); ++i)
      for (std::size_t row = 0; row < table.num_rows; ++row)
        matrix[row * columns.size() + i] = columns[i][row];
    for (std::size_t i = 0; i < columns.size(); ++i)  // no rows: no matrix to point into
      table.columns.emplace_back(matrix.data() + (matrix.empty() ? 0 : i), table.num_rows,
                                 static_cast<std::ptrdiff_t>(columns.size()));
    table.storage.emplace_back(std::move(matrix));
  }

  Array<std::int64_t> ids() {
    constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
    constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
    const auto n = static_cast<std::int64_t>(num_rows_);
    Array<std::int64_t> ids;
    const std::uint64_t kind = random_.below(6);
    if (kind == 0) return ids;  // assigned: 0, 1, 2, ...
    for (std::int64_t i = 0; i < n; ++i) {
      if (kind == 1) ids.push_back(i + 1000);
      if (kind == 2) ids.push_back(-i);
      if (kind == 3) ids.push_back(i * 1'000'003 - n);
      if (kind == 4) ids.push_back(i);
      if (kind == 5) ids.push_back(i % 2 == 0 ? kLowest + i : kHighest - i);
    }
    if (kind >= 4)
      for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[random_.below(i)]);
    return ids;
  }

  void add_labels(Table& table) {
    table.label_name = "name";
    table.labels.offsets.push_back(0);
    for (std::size_t row = 0; row < num_rows_; ++row) {
      const std::string label = row % 7 == 3 ? "" : std::string("Zeile № ") + std::to_string(row);
      table.labels.bytes.insert(table.labels.bytes.end(), label.begin(), label.end());
      table.labels.offsets.push_back(table.labels.bytes.size());
    }
  }

  Random& random_;
  ValueClass class_;
  std::size_t num_rows_;
  int num_attributes_;
  std::vector<double> latent_;  // [num_rows] what the columns of one row have in common
};

inline Table random_table(Random& random, ValueClass value_class, std::size_t num_rows, int num_attributes) {
  return TableGenerator(random, value_class, num_rows, num_attributes).make();
}

// A column whose values move: all values drawn between two moves have one magnitude, 2^exponent, anywhere in the range
// of the type, and one distribution.
class MovingColumn {
 public:
  MovingColumn(Random& random, bool float32) : random_(random), float32_(float32) { move(); }

  void move() {
    const int lowest = float32_ ? -149 : -1074, highest = float32_ ? 127 : 1023;
    switch (random_.below(5)) {
      case 0:
      case 1:
        exponent_ = random_.between(-3, 3);
        break;
      case 2:
        exponent_ = random_.chance(0.5) ? lowest + random_.between(0, 60) : highest - random_.between(0, 60);
        break;
      default:
        exponent_ = random_.between(lowest, highest);
        break;
    }
    look_ = random_.below(4);
  }

  double value() {
    double value = 0;
    switch (look_) {
      case 0:
        value = random_.uniform(0.5, 1);
        break;
      case 1:
        value = random_.uniform(-1, 1);
        break;
      case 2:
        value = random_.between(-8, 8) * 0.125;  // ties, and little that rounds
        break;
      default:
        value = 0.75;
        break;
    }
    value = std::ldexp(value, exponent_);
    return float32_ ? static_cast<double>(static_cast<float>(value)) : value;
  }

 private:
  Random& random_;
  bool float32_;
  int exponent_ = 0;
  std::uint64_t look_ = 0;
};

// Sizes 0 .. 5,000, most of them small, many around the edges of a leaf.
inline std::size_t random_num_rows(Random& random) {
  const std::uint64_t kind = random.below(100);
  if (kind < 3) return random.below(2);
  if (kind < 30) return static_cast<std::size_t>(random.pick({16, 48, 128, 256})) + random.below(3) - 1;
  if (kind < 85) return 2 + random.below(300);
  if (kind < 97) return 300 + random.below(1200);
  return 1500 + random.below(3501);
}

// Mostly 1 to `usual`; now and then a width without subset bounds.
inline int random_width(Random& random, int usual) {
  if (!random.chance(1.0 / 64)) return random.between(1, usual);
  return random.chance(0.25) ? random.between(65, kMaxAttributes) : random.between(65, 200);
}

// At least one weight is not zero.
inline std::vector<double> random_weights(Random& random, std::size_t num_attributes) {
  std::vector<double> weights(num_attributes);
  const std::uint64_t kind = random.below(13);
  const double common = random.sign() * random.uniform(0.1, 10);
  const double spread = std::pow(10.0, random.uniform(-300, 7));
  for (std::size_t i = 0; i < num_attributes; ++i) {
    double& weight = weights[i];
    switch (kind) {
      case 0:
        weight = random.unit();
        break;
      case 1:
        weight = random.uniform(-1, 1);
        break;
      case 2:
        weight = -random.unit();
        break;
      case 3:
        weight = random.chance(0.5) ? 0 : random.uniform(-1, 1);
        break;
      case 4:
        weight = random.chance(0.5) ? 0 : random.unit();
        break;
      case 5:
        break;  // one-hot, below
      case 6:
        weight = common;
        break;
      case 7:
        weight = std::ldexp(1.0, random.between(-8, 8)) * (random.chance(0.2) ? -1 : 1);
        break;
      case 8:
        weight = 0.1 * static_cast<double>(random.between(-9, 9));
        break;
      case 9:
        weight = 0.1 * static_cast<double>(i + 1);
        break;
      case 10:
        weight = random.uniform(-1, 1) * spread;
        break;
      case 11:
        weight = static_cast<double>(random.between(-3, 3));
        break;
      default:
        weight = random.pick({1e-320, 1e-200, 1e-10, 1.0, 1e5}) * random.uniform(-1, 1);
        break;
    }
  }
  if (std::all_of(weights.begin(), weights.end(), [](double w) { return w == 0; }))
    weights[random.below(num_attributes)] = common;
  return weights;
}

// Weights that give attributes of any magnitude about the same influence; scores may be of any magnitude.
inline std::vector<double> balancing_weights(Random& random, const Oracle& oracle) {
  const int size = random.pick({random.between(-4, 4), random.between(-1070, 1020)});
  const int spread = random.pick({0, 4, 60});
  const bool mixed_signs = random.chance(0.5), round = random.chance(0.3);
  std::vector<double> weights(oracle.num_attributes());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (random.chance(0.15)) continue;
    const double largest = oracle.largest_size(i);
    const int exponent = largest > 0 && std::isfinite(largest) ? std::ilogb(largest) : 0;
    const double share = round ? 1 : random.uniform(0.5, 1);
    const double weight = std::ldexp(share, size + random.between(-spread, spread) - exponent);
    if (std::isfinite(weight)) weights[i] = mixed_signs ? weight * random.sign() : weight;
  }
  if (std::all_of(weights.begin(), weights.end(), [](double w) { return w == 0; }))
    weights[random.below(weights.size())] = random.sign();
  return weights;
}

// A range with its ends at, next to or far from existing values: all, no, few rows or one pass.
inline Range random_range(Random& random, const Oracle& oracle) {
  const auto attribute = random.below(oracle.num_attributes());
  const auto some_value = [&] {
    const double value =
        oracle.num_rows() == 0 ? 0.5 : oracle.value(random.below(oracle.num_rows()), attribute);
    return random.chance(0.8) ? value : std::nextafter(value, random.sign() * kInfinity);
  };
  Range range{.attribute = static_cast<int>(attribute)};
  const double a = some_value(), b = some_value();
  switch (random.below(6)) {
    case 0:
      range.minimum = a;
      break;
    case 1:
      range.maximum = a;
      break;
    case 2:
      range.minimum = range.maximum = a;
      break;
    case 3:
      range.minimum = std::max(a, b), range.maximum = std::min(a, b);
      break;  // mostly empty
    default:
      range.minimum = std::min(a, b), range.maximum = std::max(a, b);
      break;
  }
  return range;
}

inline Query random_query(Random& random, const Oracle& oracle, std::vector<double> weights) {
  const std::size_t n = oracle.num_rows();
  Query query;
  query.weights = std::move(weights);
  const auto k =
      random.pick<std::size_t>({1, 1, 2, 3, 5, 10, 16, 100, n / 2, n - (n > 0), n, n + 1, n + 100});
  query.k = std::max<std::size_t>(k, 1);
  if (random.chance(0.3)) query.scale = random.pick({Scale::minmax, Scale::zscore});
  for (std::uint64_t ranges = random.chance(0.3) ? 1 + random.below(3) : 0; ranges > 0; --ranges)
    query.where = query.where && random_range(random, oracle);
  if (random.chance(0.2) && !oracle.refuses(query)) {
    // Exactly the score of a row, or the next number above it.
    const double score = n == 0 ? 0.5 : oracle.score_of(random.below(n), query);
    query.min_score =
        random.chance(0.7) ? score : std::nextafter(score, std::numeric_limits<double>::infinity());
    if (random.chance(0.2)) query.k.reset();
  }
  return query;
}

inline Query random_query(Random& random, const Oracle& oracle) {
  return random_query(random, oracle, random_weights(random, oracle.num_attributes()));
}

// A number at, beside or far from one of the column: of the type that it has, or of the other.
inline Literal random_literal(Random& random, const Oracle& oracle, const Column& column) {
  const std::size_t n = oracle.num_rows();
  if (random.chance(0.05)) return random.sign() * kInfinity;
  if (random.chance(0.05))
    return random.sign() > 0 ? std::numeric_limits<std::int64_t>::max() - 1 : -(std::int64_t{1} << 53) - 1;
  Literal literal = 0.5;
  if (n > 0 && !column.attribute()) literal = oracle.id(random.below(n));
  if (n > 0 && column.attribute())
    literal = oracle.value(random.below(n), static_cast<std::size_t>(std::get<int>(*column.attribute())));
  const auto* integer = std::get_if<std::int64_t>(&literal);
  const double value = integer != nullptr ? static_cast<double>(*integer) : std::get<double>(literal);
  if (random.chance(0.7)) return literal;
  if (random.chance(0.5)) return std::nextafter(value, random.sign() * kInfinity);
  if (std::fabs(value) >= 0x1p62) return value;
  return static_cast<std::int64_t>(value) + random.between(-1, 1);
}

// Some of `num_rows` ids, and others near and far.
template <typename IdOfRow>
IdSet random_id_set(Random& random, std::size_t num_rows, const IdOfRow& id_of_row) {
  std::vector<std::int64_t> ids;
  const double share = random.pick({0.0, 0.01, 0.1, 0.5, 0.9, 1.0});
  for (std::size_t row = 0; row < num_rows; ++row)
    if (random.chance(share)) ids.push_back(id_of_row(row));
  for (std::uint64_t others = random.below(4); others > 0; --others)
    ids.push_back(static_cast<std::int64_t>(random.chance(0.5) ? random.next() : random.below(1000)));
  const IdSet set(ids);
  return random.chance(0.2) ? IdSet::from_bytes(set.to_bytes()) : set;
}

inline Filter random_condition(Random& random, const Oracle& oracle) {
  if (random.chance(0.05))
    return Filter::ids_in(
        random_id_set(random, oracle.num_rows(), [&](std::size_t row) { return oracle.id(row); }));
  const auto attribute = static_cast<int>(random.below(oracle.num_attributes()));
  const Column column = random.chance(0.2) ? id_col() : col(attribute);
  const Comparison comparison =
      random.pick({Comparison::equal, Comparison::not_equal, Comparison::less, Comparison::less_equal,
                   Comparison::greater, Comparison::greater_equal, Comparison::between, Comparison::in,
                   Comparison::is_null, Comparison::is_not_null});
  const bool is_null_test = comparison == Comparison::is_null || comparison == Comparison::is_not_null;
  std::size_t count = comparison == Comparison::between ? 2 : is_null_test ? 0 : 1;
  if (comparison == Comparison::in) count = random.below(random.chance(0.2) ? 40 : 6);
  std::vector<Literal> values;
  while (values.size() < count) values.push_back(random_literal(random, oracle, column));
  return Filter(Condition{column, comparison, values});
}

// A tree of at most so many levels of `and`, `or` and `not` over conditions.
inline Filter random_filter(Random& random, const Oracle& oracle, int depth = 5) {
  if (depth == 0 || random.chance(0.3)) return random_condition(random, oracle);
  Filter filter = random_filter(random, oracle, depth - 1);
  if (random.chance(0.25)) return !filter;
  const bool is_conjunction = random.chance(0.5);
  for (std::uint64_t parts = 1 + random.below(2); parts > 0; --parts) {
    const Filter part = random_filter(random, oracle, depth - 1);
    filter = is_conjunction ? filter && part : filter || part;
  }
  return filter;
}

// For CPU engines, which take any filter.
inline Query random_filtered_query(Random& random, const Oracle& oracle, std::vector<double> weights) {
  Query query = random_query(random, oracle, std::move(weights));
  if (random.chance(0.4)) query.where = random_filter(random, oracle);
  return query;
}

inline Query random_filtered_query(Random& random, const Oracle& oracle) {
  return random_filtered_query(random, oracle, random_weights(random, oracle.num_attributes()));
}

// For failure messages: numbers in hexadecimal, so that none is rounded.
inline std::string describe(const Query& query) {
  char buffer[64];
  const auto number = [&buffer](double value) {
    std::snprintf(buffer, sizeof(buffer), "%a", value);
    return std::string(buffer);
  };
  std::string text = (query.k ? "k " + std::to_string(*query.k) : std::string("no k")) + ", weights [";
  for (double weight : query.weights) text += std::string(" ") + number(weight);
  text += " ]";
  if (query.scale == Scale::minmax) text += ", minmax";
  if (query.scale == Scale::zscore) text += ", zscore";
  if (query.scale == Scale::rank) text += ", rank";
  if (query.missing == Missing::fill) text += ", fill";
  for (const ScoreTerm& term : query.terms) text += ", " + term.text();
  if (query.min_score) text += std::string(", min_score ") + number(*query.min_score);
  return text + ", where " + query.where.text();
}

}  // namespace culmen::test
