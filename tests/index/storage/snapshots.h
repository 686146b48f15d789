// Small snapshots for storage tests, and a comparison of all their parts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "index/build/bulk_load.h"
#include "index/snapshot.h"
#include "tests/index/slot_spans.h"

namespace culmen::storage {

struct Shape {
  std::size_t rows = 100;
  int attributes = 3;
  bool float64 = false;
  bool labels = true;
  Partitioning partitioning = Partitioning::angle;
  int partitions = 0;
  int leaf_rows = 16;
  std::uint64_t seed = 1;
  std::uint32_t late_splits = 0;  // of partition 0 and its parts, at values above all others
};

inline Partitioner with_late_splits(const Partitioner& partitioner, std::uint32_t num_cuts) {
  std::vector<LateSplit> cuts;
  for (std::uint32_t c = 0; c < num_cuts; ++c)
    cuts.push_back({c == 0 ? 0 : partitioner.num_partitions() + c - 1, 0, 0x1p60 + c * 0x1p20});
  return partitioner.with(cuts);
}

inline std::shared_ptr<Snapshot> make_snapshot(const Shape& shape) {
  std::mt19937_64 random(shape.seed);
  std::vector<std::vector<double>> values(static_cast<std::size_t>(shape.attributes),
                                          std::vector<double>(shape.rows));
  std::vector<std::int64_t> ids(shape.rows);
  std::vector<char> text;
  std::vector<std::uint64_t> offsets = {0};
  TableView table{shape.rows, {}, {}, {}, {}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (double& value : values[i])
      value = shape.float64 ? std::ldexp(static_cast<double>(random()), -60)
                            : static_cast<double>(random() % 1000) / 4;
    table.attributes.push_back(
        {std::string("a").append(std::to_string(i)), i % 3 == 1 ? Preference::low : Preference::high});
    table.columns.emplace_back(values[i]);
  }
  for (std::size_t row = 0; row < shape.rows; ++row) {
    ids[row] = static_cast<std::int64_t>(row * 7) - 50;
    const std::string label(random() % 12, static_cast<char>('a' + random() % 26));
    text.insert(text.end(), label.begin(), label.end());
    offsets.push_back(text.size());
  }
  table.ids = ids;
  if (shape.labels) table.labels = {text, offsets};
  BuildOptions options;
  options.partitioning = shape.partitioning;
  options.num_partitions = shape.partitions;
  options.leaf_rows = shape.leaf_rows;
  std::shared_ptr<Snapshot> snapshot = bulk_load(table, options);
  snapshot->partitioner =
      std::make_shared<const Partitioner>(with_late_splits(*snapshot->partitioner, shape.late_splits));
  return snapshot;
}

template <typename A, typename B>
bool same_bytes(const A& a, const B& b) {
  const auto x = std::as_bytes(std::span(a.data(), a.size())),
             y = std::as_bytes(std::span(b.data(), b.size()));
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size()) == 0);
}

inline bool same_partitioner(const Partitioner& a, const Partitioner& b) {
  return a.kind() == b.kind() && a.num_partitions() == b.num_partitions() && a.minimum() == b.minimum() &&
         a.maximum() == b.maximum() && a.splits() == b.splits() && a.cuts() == b.cuts() &&
         a.own_coordinates() == b.own_coordinates() && a.late_splits().all() == b.late_splits().all();
}

inline bool same_nodes(const Snapshot& a, const Snapshot& b) {
  return a.height == b.height && a.root == b.root && a.num_nodes == b.num_nodes &&
         same_bytes(test::all_nodes(*a.arena), test::all_nodes(*b.arena));
}

inline bool same_labels(const Snapshot& a, const Snapshot& b) {
  for (std::size_t leaf = 0; leaf < a.num_leaves; ++leaf)
    if (!same_bytes(std::as_const(*a.arena).labels(leaf), std::as_const(*b.arena).labels(leaf))) return false;
  return true;
}

inline bool same_leaves(const Snapshot& a, const Snapshot& b) {
  return same_bytes(test::all_leaves(*a.arena), test::all_leaves(*b.arena)) &&
         same_bytes(a.order().partitions, b.order().partitions);
}

inline bool same_units(const std::vector<BoundUnit>& a, const std::vector<BoundUnit>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const BoundUnit& x, const BoundUnit& y) {
    return x.origin == y.origin && x.unit == y.unit && x.inverse == y.inverse && x.exponent == y.exponent;
  });
}

// The first part in which they differ; empty if they are equal to the last bit.
inline std::string difference(const Snapshot& a, const Snapshot& b) {
  if (a.attributes != b.attributes) return "attributes";
  if (a.value_type != b.value_type || a.has_labels != b.has_labels || a.exact_sums != b.exact_sums)
    return "flags";
  if (a.stats != b.stats) return "stats";
  if (!same_units(a.units, b.units)) return "units";
  if (a.leaf_rows != b.leaf_rows || a.num_rows != b.num_rows || a.rounded_values != b.rounded_values ||
      a.version != b.version || a.next_id != b.next_id)
    return "counts";
  if (!same_partitioner(*a.partitioner, *b.partitioner)) return "partitioner";
  if (!same_leaves(a, b)) return "leaves";
  if (!same_bytes(test::all_values(*a.arena), test::all_values(*b.arena))) return "values";
  if (!same_bytes(test::all_ids(*a.arena), test::all_ids(*b.arena))) return "ids";
  if (!same_bytes(test::all_zone_maps(*a.arena), test::all_zone_maps(*b.arena))) return "zone_map";
  if (!same_labels(a, b)) return "labels";
  if (a.layout.num_rows() != b.layout.num_rows()) return "layout";
  if (!same_nodes(a, b)) return "nodes";
  return "";
}

}  // namespace culmen::storage
