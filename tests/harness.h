// What the tests of engines share: the engines, ways to build an index, and the comparison with the oracle.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/simd/kernels.h"
#include "culmen/index.h"
#include "tests/generators.h"
#include "tests/oracle.h"

namespace culmen::test {

inline constexpr std::array kEngines = {Engine::scan, Engine::ta, Engine::gta, Engine::bounded,
                                        Engine::automatic};

// Forces a SIMD target for its own lifetime, and checks that it is the one that runs.
class ForcedTarget {
 public:
  explicit ForcedTarget(const std::string& name) {
    simd::force_target(name);
    EXPECT_EQ(simd::current_target(), name);
  }
  ~ForcedTarget() { simd::force_target(""); }
  ForcedTarget(const ForcedTarget&) = delete;
  ForcedTarget& operator=(const ForcedTarget&) = delete;
};

// A directory that the destructor removes.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "culmen-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Empty if the answers are the same: ids, order and every bit of the scores. Else the first difference.
inline std::string difference(const std::vector<Hit>& found, const std::vector<Answer>& expected) {
  char text[256];
  const auto bits = [](double score) { return std::bit_cast<std::uint64_t>(score); };
  for (std::size_t rank = 0; rank < std::min(found.size(), expected.size()); ++rank) {
    const Hit& hit = found[rank];
    const Answer& answer = expected[rank];
    if (hit.id == answer.id && bits(hit.score) == bits(answer.score)) continue;
    std::snprintf(text, sizeof text, "rank %zu is id %lld with %a, expected id %lld with %a", rank + 1,
                  static_cast<long long>(hit.id), hit.score, static_cast<long long>(answer.id), answer.score);
    return text;
  }
  if (found.size() == expected.size()) return "";
  std::snprintf(text, sizeof text, "%zu hits, expected %zu", found.size(), expected.size());
  return text;
}

inline std::string name_of(Partitioning partitioning) {
  return partitioning == Partitioning::kd ? "kd" : partitioning == Partitioning::angle ? "angle" : "random";
}

// Random partitions, leaf sizes and thread counts. The caller chooses `value_type`, because the oracle needs it too.
inline BuildOptions random_build_options(Random& random, Partitioning partitioning, ValueType value_type,
                                         std::size_t num_attributes) {
  BuildOptions options{.partitioning = partitioning, .value_type = value_type};
  options.leaf_rows = random.pick({16, 48, 128, 256});
  options.num_threads = random.between(1, 2);
  const int splits = random.pick({0, 0, 1, 2, 3});
  const bool few_partitions = std::pow(splits, static_cast<double>(num_attributes) - 1) <= 1024;
  if (partitioning == Partitioning::angle && splits > 0 && few_partitions)
    options.num_splits = splits;
  else
    options.num_partitions = random.pick({0, 1, 2, 7, 40});
  if (partitioning != Partitioning::random && options.num_splits == 0)
    options.shells = random.pick({Shells::automatic, Shells::sums, Shells::none});
  options.row_order = random.pick({RowOrder::automatic, RowOrder::largest, RowOrder::sum});
  return options;
}

// Whether the table's values survive ValueType::float32 (rounded, but not beyond its range).
inline bool fits_float32(const TableView& table) {
  for (const ColumnView& column : table.columns)
    for (std::size_t row = 0; row < table.num_rows; ++row)
      if (std::fabs(value_at(column, row)) > 3e38) return false;
  return true;
}

inline ValueType random_value_type(Random& random, const TableView& table) {
  const ValueType type = random.pick({ValueType::automatic, ValueType::float32, ValueType::float64});
  return type == ValueType::float32 && !fits_float32(table) ? ValueType::automatic : type;
}

}  // namespace culmen::test
