// Tables and options that every loader refuses, and the texts of the errors.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"

namespace culmen::test {

// A refusal names what is wrong and where.
struct Refusal {
  std::string name;
  std::function<void(TableView&, BuildOptions&)> spoil;
  std::vector<std::string> words;  // the text contains all of them

  friend void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }
};

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline const std::vector<float> kWithNan = {1, kNan, 3};
inline const std::vector<float> kWithInfinity = {1, 2, -kInf};
inline const std::vector<double> kBeyondFloat = {1e39, 2, 3};
inline const std::vector<std::int64_t> kBeyondExact = {1, (std::int64_t{1} << 53) + 1, 3};
inline const std::vector<std::int64_t> kTwice = {4, 9, 4};
inline const std::vector<std::uint64_t> kTwoOffsets = {0, 0};
inline const std::vector<std::uint64_t> kFourOffsets = {0, 1, 2, 3};
inline const std::vector<std::uint64_t> kBackwardOffsets = {0, 2, 1, 3};
inline const std::vector<char> kThreeBytes = {'a', 'b', 'c'};

inline std::vector<Refusal> refused_tables() {
  return {
      Refusal{"missing_value",
              [](TableView& t, BuildOptions&) {
                t.columns[1] = ColumnView(kWithNan);
                t.attributes[1].stand_in = StandIn::refuse;
              },
              {"row 2", "stars", "missing"}},
      Refusal{"infinity",
              [](TableView& t, BuildOptions&) { t.columns[0] = ColumnView(kWithInfinity); },
              {"row 3", "price", "infinity"}},
      Refusal{"large_integer",
              [](TableView& t, BuildOptions&) { t.columns[0] = ColumnView(kBeyondExact); },
              {"row 2", "price", "2^53", "9007199254740993"}},
      Refusal{"beyond_float32",
              [](TableView& t, BuildOptions& o) {
                t.columns[0] = ColumnView(kBeyondFloat);
                o.value_type = ValueType::float32;
              },
              {"row 1", "price", "1e+39 is beyond the range of float32"}},
      Refusal{"id_twice", [](TableView& t, BuildOptions&) { t.ids = kTwice; }, {"id 4", "rows 1 and 3"}},
      Refusal{"too_few_values",
              [](TableView& t, BuildOptions&) { t.columns[1].size = 2; },
              {"3 rows", "2 values", "stars"}},
      Refusal{"too_few_ids",
              [](TableView& t, BuildOptions&) { t.ids = std::span(kTwice).first(2); },
              {"3 rows", "2 ids"}},
      Refusal{"too_few_labels",
              [](TableView& t, BuildOptions&) { t.labels.offsets = kTwoOffsets; },
              {"3 rows", "1 labels"}},
      Refusal{
          "null_column", [](TableView& t, BuildOptions&) { t.columns[1].data = nullptr; }, {"stars", "null"}},
      Refusal{"null_ids",
              [](TableView& t, BuildOptions&) {
                t.ids = {static_cast<const std::int64_t*>(nullptr), 3};
              },
              {"ids", "null"}},
      Refusal{"null_labels",
              [](TableView& t, BuildOptions&) {
                t.labels = {{static_cast<const char*>(nullptr), 3}, kFourOffsets};
              },
              {"labels", "null"}},
      Refusal{"null_offsets",
              [](TableView& t, BuildOptions&) {
                t.labels.offsets = {static_cast<const std::uint64_t*>(nullptr), 4};
              },
              {"labels", "null"}},
      Refusal{"labels_that_go_backwards",
              [](TableView& t, BuildOptions&) {
                t.labels = {kThreeBytes, kBackwardOffsets};
              },
              {"row 2", "label"}},
      Refusal{"labels_that_are_not_there",
              [](TableView& t, BuildOptions&) {
                t.labels = {std::span(kThreeBytes).first(2), kFourOffsets};
              },
              {"byte 3", "2 bytes"}},
      Refusal{"no_attributes",
              [](TableView& t, BuildOptions&) {
                t.attributes.clear();
                t.columns.clear();
              },
              {"no attribute"}},
      Refusal{"too_few_columns",
              [](TableView& t, BuildOptions&) { t.columns.pop_back(); },
              {"2 attributes", "1 columns"}},
      Refusal{"names_twice",
              [](TableView& t, BuildOptions&) { t.attributes[1].name = "price"; },
              {"two attributes", "price"}},
      Refusal{"empty_name", [](TableView& t, BuildOptions&) { t.attributes[1].name = ""; }, {"empty name"}},
      Refusal{"too_many_attributes",
              [](TableView& t, BuildOptions&) {
                t.attributes.clear();
                for (int i = 0; i <= kMaxAttributes; ++i)
                  t.attributes.push_back({std::string(static_cast<std::size_t>(i) + 1, 'a')});
                t.columns.assign(t.attributes.size(), t.columns[0]);
              },
              {"1025 attributes", "at most 1024"}},
      Refusal{"block_of_15", [](TableView&, BuildOptions& o) { o.leaf_rows = 15; }, {"15", "multiple of 16"}},
      Refusal{"block_of_24", [](TableView&, BuildOptions& o) { o.leaf_rows = 24; }, {"24", "multiple of 16"}},
      Refusal{"negative_block", [](TableView&, BuildOptions& o) { o.leaf_rows = -16; }, {"-16"}},
      Refusal{"large_block", [](TableView&, BuildOptions& o) { o.leaf_rows = 4112; }, {"4112", "4096"}},
      Refusal{"negative_splits", [](TableView&, BuildOptions& o) { o.num_splits = -1; }, {"num_splits"}},
      Refusal{"splits_of_random",
              [](TableView&, BuildOptions& o) {
                o.num_splits = 2;
                o.partitioning = Partitioning::random;
              },
              {"num_splits"}},
      Refusal{"shells_of_random",
              [](TableView&, BuildOptions& o) {
                o.shells = Shells::sums;
                o.partitioning = Partitioning::random;
              },
              {"shells"}},
      Refusal{"shells_of_the_grid",
              [](TableView&, BuildOptions& o) {
                o.shells = Shells::sums;
                o.num_splits = 2;
              },
              {"shells"}},
      Refusal{"cluster_of_no_column",
              [](TableView&, BuildOptions& o) { o.cluster = "city"; },
              {"\"city\"", "cluster"}},
      Refusal{"cluster_of_random",
              [](TableView&, BuildOptions& o) {
                o.cluster = "price";
                o.partitioning = Partitioning::random;
              },
              {"cluster", "k-d"}},
      Refusal{"cluster_of_splits",
              [](TableView&, BuildOptions& o) {
                o.cluster = "price";
                o.num_splits = 2;
              },
              {"cluster", "k-d"}},
      Refusal{"too_many_partitions",
              [](TableView&, BuildOptions& o) { o.num_partitions = (1 << 20) + 1; },
              {"partitions"}},
      Refusal{
          "too_many_splits", [](TableView&, BuildOptions& o) { o.num_splits = (1 << 20) + 1; }, {"splits"}},
      Refusal{"negative_threads", [](TableView&, BuildOptions& o) { o.num_threads = -1; }, {"num_threads"}}};
}

// Empty if `load` accepts a good table and refuses the spoiled one with the right text.
template <typename Load>
std::string fault_of(const Refusal& refusal, const Load& load) {
  const std::vector<float> good = {1, 2, 3};
  TableView view{.num_rows = 3,
                 .attributes = {{"price"}, {"stars"}},
                 .columns = {ColumnView(good), ColumnView(good)},
                 .ids = {},
                 .labels = {}};
  BuildOptions options;
  load(view, options);
  refusal.spoil(view, options);
  try {
    load(view, options);
  } catch (const Error& error) {
    for (const std::string& word : refusal.words)
      if (std::string(error.what()).find(word) == std::string::npos)
        return std::string(error.what()) + " does not say " + word;
    return "";
  }
  return "taken";
}

}  // namespace culmen::test
