#include "index/verify.h"

#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>

#include "base/floating_point_scope.h"
#include "index/field_key.h"
#include "index/leaf_bounds.h"
#include "index/leaf_codes.h"
#include "index/node_zone_map.h"
#include "index/snapshot_fields.h"
#include "index/text_rows.h"
#include "index/tree_height.h"

namespace culmen {
namespace {

constexpr std::size_t kMaxFaults = 100;

class Verifier {
 public:
  Verifier(const Snapshot& snapshot, bool deep)
      : s_(snapshot), deep_(deep), leaves_(snapshot.order().leaves) {}

  std::vector<std::string> run() {
    check_counts();
    check_ids();
    check_dictionaries();
    if (faults_.empty()) check_fields();  // the rest relies on these
    if (faults_.empty()) check_units();
    if (faults_.empty()) {  // the rest relies on these
      visit_value_type(s_, [this]<typename T>(T) {
        tbb::parallel_for(std::size_t{0}, leaves_.size(),
                          [this](std::size_t position) { check_leaf<T>(position); });
      });
      tbb::parallel_for(std::size_t{0}, s_.attributes.size(), [this](std::size_t i) { check_range(i); });
      check_links();
      tbb::parallel_for(std::size_t{0}, s_.order().nodes.size(),
                        [this](std::size_t n) { check_node(s_.order().nodes[n]); });
    }
    std::sort(faults_.begin(), faults_.end());
    return std::move(faults_);
  }

 private:
  void fault(const std::string& where, const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (faults_.size() < kMaxFaults) faults_.push_back(where + ": " + what);
  }
  static std::string leaf_name(std::size_t leaf) { return "leaf " + std::to_string(leaf); }
  std::size_t leaf_rows() const { return static_cast<std::size_t>(s_.leaf_rows); }

  void check_counts();
  void check_partition_order();
  void check_ids();
  void check_texts();
  void check_dictionaries();
  void check_fields();
  void check_units();
  void check_range(std::size_t attribute);
  void check_links();
  template <typename T>
  void check_leaf(std::size_t position);
  template <typename T>
  void check_rows(std::size_t leaf, const T* highest, const T* lowest);
  void check_order(std::size_t position);
  void check_node(std::size_t node);
  void check_zones(std::size_t node);
  void check_child_bounds(NodeRef node, std::uint32_t child, const std::string& where);
  void check_leaf_bounds(NodeRef node, std::uint32_t child, const std::string& where);
  std::optional<std::size_t> uncovered_row(NodeRef node, std::uint32_t child,
                                           std::span<const float> rows) const;

  const Snapshot& s_;
  const bool deep_;
  const std::vector<std::uint32_t>& leaves_;  // in the tree's order
  std::mutex mutex_;
  std::vector<std::string> faults_;
};

void Verifier::check_counts() {
  std::uint64_t num_rows = 0;
  for (const std::uint32_t leaf : leaves_) {
    const LeafHeader& header = s_.leaf(leaf);
    num_rows += header.num_rows;
    if (header.num_rows == 0 || header.num_rows > leaf_rows())
      fault(leaf_name(leaf), "holds " + std::to_string(header.num_rows) + " rows");
    if (header.partition >= s_.partitioner->num_partitions())
      fault(leaf_name(leaf), "is of a partition that is not there");
  }
  if (s_.height > most_levels(s_.num_leaves))
    fault("index", std::to_string(s_.height) + " levels are more than a tree of " +
                       std::to_string(s_.num_leaves) + " leaves has");
  if (s_.height > 1 && s_.node(s_.root).header().num_children < 2)
    fault("index", "the root holds one node and nothing else");
  if (num_rows != s_.num_rows)
    fault("index",
          "the leaves hold " + std::to_string(num_rows) + " rows, not " + std::to_string(s_.num_rows));
  if (faults_.empty()) check_partition_order();
}

void Verifier::check_partition_order() {
  std::vector<std::uint32_t> rank(s_.partitioner->num_partitions());
  const std::vector<std::uint32_t> order = s_.partitioner->order();
  for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  if (!std::ranges::is_sorted(leaves_, {}, [&](std::uint32_t leaf) { return rank[s_.leaf(leaf).partition]; }))
    fault("index", "the partitions do not follow one another");
}

void Verifier::check_ids() {
  std::vector<std::int64_t> ids;
  for (const std::uint32_t leaf : leaves_)
    ids.insert(ids.end(), s_.leaf_ids(leaf),
               s_.leaf_ids(leaf) + std::min<std::size_t>(s_.leaf(leaf).num_rows, leaf_rows()));
  tbb::parallel_sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (s_.id_type == IdType::text) return check_texts();
  if (twice != ids.end()) fault("index", "id " + id_text(*twice, s_.id_type) + " stands in two rows");
  if (!ids.empty() && ids.back() >= s_.next_id && s_.next_id != std::numeric_limits<std::int64_t>::max())
    fault("index", "the next id to be given, " + id_text(s_.next_id, s_.id_type) + ", is not above all ids");
}

// That the numbers which stand in for texts ascend as these do.
void Verifier::check_texts() {
  const std::vector<std::uint64_t> rows = rows_by_ids(s_);
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (s_.label(rows[i - 1]) >= s_.label(rows[i]))
      return fault("index", "the text of id " + s_.shown_id(rows[i - 1]) + " is not below that of " +
                                s_.shown_id(rows[i]));
}

void Verifier::check_dictionaries() {
  if (!s_.stand_ins.empty() && s_.stand_ins.size() != s_.attributes.size())
    fault("index", "not every attribute has a stand-in");
  if (s_.dictionaries.size() != s_.fields.size())
    return fault("index", "not every field has room for a dictionary");
  for (std::size_t f = 0; f < s_.fields.size(); ++f) {
    const std::string name = "\"" + s_.fields[f].name + "\"";
    if (has_dictionary(s_.fields[f]) != (s_.dictionaries[f] != nullptr)) {
      fault("index", name + " lacks a dictionary, or has one that it does not need");
    } else if (s_.dictionaries[f] != nullptr && !s_.dictionaries[f]->are_distinct()) {
      fault("index", "the dictionary of " + name + " has a text twice");
    }
  }
}

void Verifier::check_fields() {
  const std::vector<std::uint32_t> sizes = dictionary_sizes(s_);
  tbb::parallel_for(std::size_t{0}, leaves_.size(), [&](std::size_t position) {
    const std::uint32_t leaf = leaves_[position];
    const LeafFields fields = s_.leaf_fields(leaf);
    if (fields.empty() && s_.fields.empty()) return;
    const std::string_view of_fields =
        fault_of_leaf_fields(fields.bytes(), s_.leaf(leaf).num_rows, s_.attributes.size(), s_.fields, sizes);
    if (!of_fields.empty()) return fault(leaf_name(leaf), std::string(of_fields));
    const std::string_view of_gaps = fault_of_gaps(s_, leaf, fields);
    if (!of_gaps.empty()) fault(leaf_name(leaf), std::string(of_gaps));
    if (!s_.arena->shape().has_texts) return;
    const std::string_view of_texts =
        fault_of_leaf_texts(s_.leaf_texts(leaf).bytes(), s_.leaf(leaf).num_rows, s_.fields);
    if (!of_texts.empty()) fault(leaf_name(leaf), std::string(of_texts));
  });
}

void Verifier::check_units() {
  for (std::size_t i = 0; i < s_.units.size(); ++i) {
    const BoundUnit& unit = s_.units[i];
    if (unit.unit != std::ldexp(1.0, unit.exponent) || unit.inverse != std::ldexp(1.0, -unit.exponent))
      fault("index", "the bound unit of \"" + s_.attributes[i].name + "\" is not the power of two it says");
  }
  if (s_.exact_sums && !sums_are_exact(filled_stats(s_), s_.units))
    fault("index", "sums are said to be exact, but can round");
}

// Scale::minmax needs the exact minimum and maximum, not only bounds on them. Stand-ins do not count.
void Verifier::check_range(std::size_t attribute) {
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
  for (const std::uint32_t leaf : leaves_)
    for (std::uint32_t r = 0; r < s_.leaf(leaf).num_rows; ++r) {
      if (s_.leaf_fields(leaf).misses_attribute(attribute, r)) continue;
      const double value = s_.value(leaf * leaf_rows() + r, static_cast<int>(attribute));
      lowest = std::min(lowest, value);
      highest = std::max(highest, value);
    }
  if (lowest <= highest && (lowest != s_.stats[attribute].minimum || highest != s_.stats[attribute].maximum))
    fault("index", "the range of \"" + s_.attributes[attribute].name + "\" is not that of its values");
}

// Every leaf, and every node but the root, is the child of exactly one node.
void Verifier::check_links() {
  std::vector<bool> leaf_seen(s_.leaf_slots), node_seen(s_.node_slots);
  std::size_t num_links = 0;
  for (const std::uint32_t n : s_.order().nodes) {
    const NodeRef node = s_.node(n);
    const NodeHeader& header = node.header();
    std::vector<bool>& seen = header.level == 1 ? leaf_seen : node_seen;
    for (std::uint32_t c = 0; c < std::min<std::uint32_t>(header.num_children, kFanOut); ++c, ++num_links) {
      const std::uint32_t child = node.children()[c];
      if (child >= seen.size()) continue;  // check_node reports it
      if (seen[child])
        fault("node " + std::to_string(n), "child " + std::to_string(c) + " has another parent too");
      seen[child] = true;
    }
  }
  if (s_.num_nodes > 0 && num_links != s_.num_leaves + s_.num_nodes - 1)
    fault("index", "the nodes have " + std::to_string(num_links) +
                       " children; a leaf or node is missing or linked twice");
}

template <typename T>
void Verifier::check_leaf(std::size_t position) {
  const std::uint32_t leaf = leaves_[position];
  const LeafHeader& header = s_.leaf(leaf);
  const std::int64_t* ids = s_.leaf_ids(leaf);
  if (*std::min_element(ids, ids + header.num_rows) != header.min_id)
    fault(leaf_name(leaf), "its smallest id is another");
  check_rows(leaf, s_.zone_vector<T>(leaf, Extreme::maximum), s_.zone_vector<T>(leaf, Extreme::minimum));
  if (!are_leaf_codes(*s_.arena, leaf, header.num_rows))
    fault(leaf_name(leaf), "its codes are not those of its values and zone map");
  check_order(position);
}

template <typename T>
void Verifier::check_rows(std::size_t leaf, const T* highest, const T* lowest) {
  const std::uint32_t num_rows = s_.leaf(leaf).num_rows;
  for (std::size_t i = 0; i < s_.attributes.size(); ++i) {
    const T* column = s_.leaf_values<T>(leaf) + i * leaf_rows();
    const std::string& name = s_.attributes[i].name;
    for (std::uint32_t r = 0; r < num_rows; ++r) {
      const auto value = static_cast<double>(column[r]);
      if (s_.leaf_fields(leaf).misses_attribute(i, r))
        continue;  // check_fields has compared it to the stand-in
      if (!(value >= s_.stats[i].minimum && value <= s_.stats[i].maximum))
        fault(leaf_name(leaf),
              "row " + std::to_string(r) + ": \"" + name + "\" is outside the index's own range");
      if (quantum_exponent(value) < s_.stats[i].quantum)
        fault(leaf_name(leaf),
              "row " + std::to_string(r) + ": \"" + name + "\" is finer than the index's quantum");
    }
    if (*std::max_element(column, column + num_rows) != highest[i])
      fault(leaf_name(leaf), "the largest value of \"" + name + "\" is not the leaf's maximum");
    if (*std::min_element(column, column + num_rows) != lowest[i])
      fault(leaf_name(leaf), "the smallest value of \"" + name + "\" is not the leaf's minimum");
    if (std::any_of(column + num_rows, column + leaf_rows(), [](T value) { return value != 0; }))
      fault(leaf_name(leaf), "\"" + name + "\" is not zero where there is no row");
  }
}

// Rows ascend by (key, id), within the leaf and from the last row of the leaf before. Values do not determine a random
// partition, so there only the order within the partition is checked.
void Verifier::check_order(std::size_t position) {
  const std::uint32_t leaf = leaves_[position];
  const std::uint32_t before = position > 0 ? leaves_[position - 1] : leaf;
  const bool has_before = position > 0 && s_.leaf(before).partition == s_.leaf(leaf).partition;
  RowChunk chunk(s_.leaf(leaf).num_rows + (has_before ? 1U : 0U), s_.attributes.size());
  std::vector<std::uint64_t> rows;
  std::vector<double> clusters;
  const auto read = [&](std::size_t from, std::size_t row) {
    if (s_.partitioner->has_cluster_field())
      clusters.push_back(cut_value(s_, from, row, *s_.partitioner->cluster()));
    for (int i = 0; i < s_.num_attributes(); ++i)
      chunk(rows.size(), static_cast<std::size_t>(i)) = s_.value(from * leaf_rows() + row, i);
    rows.push_back(from * leaf_rows() + row);
  };
  if (has_before) read(before, s_.leaf(before).num_rows - 1);
  for (std::uint32_t r = 0; r < s_.leaf(leaf).num_rows; ++r) read(leaf, r);
  std::vector<OrderKey> keys(rows.size());
  s_.partitioner->keys(chunk, 0, 1 + rows.size() * std::uint64_t{kMaxPartitions}, keys, clusters);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (s_.partitioner->kind() != Partitioning::random && partition_of(keys[r]) != s_.leaf(leaf).partition)
      fault(leaf_name(leaf), "id " + s_.shown_id(rows[r]) + " belongs to another partition");
    if (r > 0 && (keys[r - 1] != keys[r] ? keys[r - 1] > keys[r] : s_.id(rows[r - 1]) >= s_.id(rows[r])))
      fault(leaf_name(leaf), "id " + s_.shown_id(rows[r]) + " is out of order");
  }
}

void Verifier::check_node(std::size_t index) {
  const NodeRef node = s_.node(index);
  const NodeHeader& header = node.header();
  const std::string name = "node " + std::to_string(index);
  const bool above_leaves = header.level == 1;
  if (header.num_children == 0 || header.num_children > kFanOut)
    return fault(name, "has a wrong number of children");
  for (std::uint32_t c = 0; c < header.num_children; ++c) {
    const std::uint32_t child = node.children()[c];
    const std::string where = name + ", child " + std::to_string(c);
    if (child >= (above_leaves ? s_.leaf_slots : s_.node_slots)) {
      fault(where, "is not there");
      continue;
    }
    const std::int64_t min_id = above_leaves ? s_.leaf(child).min_id : s_.node(child).header().min_id;
    if (node.min_ids()[c] != min_id || header.min_id > min_id) fault(where, "its smallest id is wrong");
    if (above_leaves ? deep_ : true) check_child_bounds(node, c, where);
  }
  check_zones(index);
}

// They are not in files. Engines and writers rely on them.
void Verifier::check_zones(std::size_t index) {
  const NodeRef node = s_.node(index);
  for (std::uint32_t c = 0; c < node.header().num_children; ++c)
    if (node.children()[c] >= (node.header().level == 1 ? s_.leaf_slots : s_.node_slots)) return;  // reported
  if (!is_node_zone_map(*s_.arena, index))
    fault("node " + std::to_string(index), "its zone map or the zones of its children are wrong");
}

// Stored bounds must be at least (minima: at most) those of the child itself.
void Verifier::check_child_bounds(NodeRef node, std::uint32_t child, const std::string& where) {
  if (node.header().level == 1) return check_leaf_bounds(node, child, where);
  const NodeRef below = s_.node(node.children()[child]);
  if (below.header().level + 1 != node.header().level) return fault(where, "is not one level lower");
  std::vector<float> rows(static_cast<std::size_t>(s_.layout.num_rows()));
  aggregate_bounds(below.bounds(), below.header().num_children, rows);
  if (const auto row = uncovered_row(node, child, rows))
    fault(where, "bounds row " + std::to_string(*row) + " does not cover the child");
}

// If sums round, the error bound of a whole leaf is larger than that of a single row. Rows may have been inserted one
// by one, so it suffices that each row's own bounds are covered.
void Verifier::check_leaf_bounds(NodeRef node, std::uint32_t child, const std::string& where) {
  const FloatingPointScope floating_point;
  const std::uint32_t slot = node.children()[child];
  const auto num_rows = static_cast<int>(s_.leaf(slot).num_rows);
  LeafBounds bounds(s_.layout, s_.units, s_.exact_sums, s_.leaf_rows);
  std::vector<float> rows(static_cast<std::size_t>(s_.layout.num_rows()));
  visit_value_type(s_, [&]<typename T>(T) {
    const T* values = s_.leaf_values<T>(slot);
    bounds.compute(values, num_rows, rows);
    if (!uncovered_row(node, child, rows)) return;
    for (int r = 0; r < num_rows; ++r) {
      bounds.compute(values + r, 1, rows);
      if (const auto row = uncovered_row(node, child, rows))
        return fault(where, "bounds row " + std::to_string(*row) + " does not cover the child");
    }
  });
}

std::optional<std::size_t> Verifier::uncovered_row(NodeRef node, std::uint32_t child,
                                                   std::span<const float> rows) const {
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const float stored = node.bounds()[row][child];
    const bool is_maximum = s_.layout.extreme_of(static_cast<int>(row)) == Extreme::maximum;
    if (!(is_maximum ? stored >= rows[row] : stored <= rows[row])) return row;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> verify_snapshot(const Snapshot& snapshot, bool deep) {
  return Verifier(snapshot, deep).run();
}

}  // namespace culmen
