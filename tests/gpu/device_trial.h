// The engines on a GPU against the oracle, over random tables.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "culmen/device.h"
#include "tests/field_trial.h"
#include "tests/generators.h"
#include "tests/harness.h"

namespace culmen::test {

inline constexpr std::array kDeviceEngines = {Engine::bounded, Engine::scan, Engine::gta};
inline constexpr std::size_t kGtaLimit = 1024;

inline bool takes(Engine engine, const Query& query, std::size_t num_rows) {
  const std::size_t k = std::min(query.k.value_or(num_rows), num_rows);
  return engine != Engine::gta || (k <= kGtaLimit && query.terms.empty() && query.scale != Scale::rank);
}

// Whether a copy or a group is of this index, and not of one that was in its place before.
bool is_copy_of(const auto& on_device, const Index& index) {
  Query any = {
      .weights = std::vector<double>(index.info().attributes.size()), .k = 1, .missing = Missing::fill};
  any.weights[0] = 0x1p-500;  // of no value is the score too large
  return on_device && on_device->search(any).snapshot == index.search(any).snapshot;
}

// Whether an index of a FieldTrial can be copied. If not, copies are given up: one that follows it would be refused.
bool can_have_copies(const Index& index, auto&... copies) {
  if (FieldTrial::can_be_copied(index)) return true;
  (copies.reset(), ...);
  return false;
}

// One table, an index of it on the GPU and queries with the oracle's answers.
struct Trial {
  Table table;
  std::vector<Query> queries;
  std::vector<std::vector<Answer>> expected;
  BuildOptions options;
  DeviceMemory memory = DeviceMemory::device;
  bool resident = false;

  Trial(std::uint64_t seed, ValueClass value_class) {
    constexpr int kQueries = 8;
    Random random(seed);
    table = random_table(random, value_class, random_num_rows(random),
                         random.chance(0.1) ? random.between(65, 200) : random.between(1, 20));
    const ValueType value_type = random_value_type(random, table.view());
    const Oracle oracle(table.view(), value_type == ValueType::float32);
    for (int q = 0; q < kQueries; ++q) {
      const Query query = random_query(random, oracle);
      if (oracle.refuses(query)) continue;
      queries.push_back(query);
      expected.push_back(oracle.search(query));
    }
    options = random_build_options(random,
                                   random.pick({Partitioning::kd, Partitioning::angle, Partitioning::random}),
                                   value_type, table.columns.size());
    memory = random.pick({DeviceMemory::device, DeviceMemory::device, DeviceMemory::host,
                          DeviceMemory::managed, DeviceMemory::compressed, DeviceMemory::compressed});
    resident = random.below(3) == 0;
  }

  std::string run() const {
    const DeviceIndex index =
        Index::build(table.view(), options).to_device({.memory = memory, .resident = resident});
    std::vector<SearchResult> batch = index.search(queries);
    for (std::size_t q = 0; q < queries.size(); ++q) {
      if (const std::string wrong = difference(batch[q].hits, expected[q]); !wrong.empty())
        return complaint("in a batch", q, wrong);
      for (const Engine engine : kDeviceEngines) {
        if (!takes(engine, queries[q], table.num_rows)) continue;
        const SearchResult result = index.search(queries[q], {.engine = engine});
        const std::string wrong = difference(result.hits, expected[q]);
        if (!wrong.empty()) return complaint(std::string(engine_name(engine)), q, wrong);
        if (result.stats.engine != engine || result.stats.device != 0) return "another engine answered";
      }
    }
    return "";
  }

  std::string complaint(const std::string& engine, std::size_t q, const std::string& wrong) const {
    return engine + ", B=" + std::to_string(options.leaf_rows) + ", memory " +
           std::string(device_memory_name(memory)) + (resident ? ", resident: " : ": ") + wrong + "\n  " +
           std::to_string(table.num_rows) + " rows; " + describe(queries[q]);
  }
};

// Every engine and the batch against the oracle, for one query.
inline void expect_oracle(const TableView& table, const BuildOptions& options,
                          const std::vector<Query>& queries) {
  const Oracle oracle(table, false);
  const DeviceIndex index = Index::build(table, options).to_device();
  const std::vector<SearchResult> batch = index.search(queries);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const std::vector<Answer> expected = oracle.search(queries[q]);
    EXPECT_EQ(difference(batch[q].hits, expected), "") << "batch, " << describe(queries[q]);
    for (const Engine engine : kDeviceEngines) {
      if (!takes(engine, queries[q], table.num_rows)) continue;
      EXPECT_EQ(difference(index.search(queries[q], {.engine = engine}).hits, expected), "")
          << engine_name(engine) << ", " << table.num_rows << " rows, " << describe(queries[q]);
    }
  }
}

}  // namespace culmen::test
