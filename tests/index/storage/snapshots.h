// Small snapshots for storage tests, and a comparison of all their parts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <list>
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
  int fields = 0;                 // one of each kind, then again
  bool gaps = false;              // a fifth of all values are missing, of attributes and of fields
  const char* cluster = "";       // with kd partitions
  RowOrder row_order = RowOrder::automatic;
  bool text_ids = false;  // the labels, which ascend as the ids do
};

// Fields of every kind, and their values.
class FieldColumns {
 public:
  FieldColumns(const Shape& shape, TableView& table) : random_(shape.seed + 1), gaps_(shape.gaps) {
    for (int f = 0; f < shape.fields; ++f) {
      Field field = kinds()[static_cast<std::size_t>(f) % kinds().size()];
      field.name += std::to_string(f);
      table.fields.push_back(field);
      table.field_views.push_back(field.is_text() ? texts(shape.rows) : numbers(field, shape.rows));
    }
  }

  static const std::vector<Field>& kinds() {
    static const std::vector<Field> all = {
        {"brand", FieldRole::filter, {ColumnType::text}},
        {"stock", FieldRole::filter, {ColumnType::integer}},
        {"note", FieldRole::stored, {ColumnType::text}},
        {"day", FieldRole::filter, {ColumnType::date}},
        {"at", FieldRole::filter, {ColumnType::timestamp, TimeUnit::microsecond, "Europe/Paris"}},
        {"new", FieldRole::filter, {ColumnType::boolean}},
        {"size", FieldRole::filter, {ColumnType::floating}},
        {"serial", FieldRole::stored, {ColumnType::integer}},
    };
    return all;
  }

 private:
  Validity validity(std::size_t rows) {
    if (!gaps_) return {};
    std::vector<std::uint8_t>& bits = validities_.emplace_back(rows / 8 + 1, std::uint8_t{0xff});
    for (std::size_t row = 0; row < rows; ++row)
      if (random_() % 5 == 0) bits[row / 8] &= static_cast<std::uint8_t>(~(1U << row % 8));
    return {bits.data()};
  }
  FieldView texts(std::size_t rows) {
    Labels& texts = texts_.emplace_back();
    texts.offsets = {0};
    for (std::size_t row = 0; row < rows; ++row) {
      const std::string text = "text " + std::to_string(random_() % 40);
      texts.bytes.insert(texts.bytes.end(), text.begin(), text.end());
      texts.offsets.push_back(texts.bytes.size());
    }
    return TextView{texts.view(), validity(rows)};
  }
  FieldView numbers(const Field& field, std::size_t rows) {
    std::vector<std::int64_t>& values = numbers_.emplace_back(rows);
    const std::uint64_t range = field.format.type == ColumnType::boolean ? 2 : 1 << 10;
    for (std::int64_t& value : values) value = static_cast<std::int64_t>(random_() % range);
    if (field.format.type == ColumnType::timestamp)
      for (std::int64_t& value : values) value = value * 1'000'000'007'000 + (std::int64_t{1} << 60);
    ColumnView view(values);
    view.validity = validity(rows);
    return view;
  }

  std::mt19937_64 random_;
  bool gaps_;
  std::list<Labels> texts_;
  std::list<std::vector<std::int64_t>> numbers_;
  std::list<std::vector<std::uint8_t>> validities_;
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
    const std::string label = shape.text_ids
                                  ? "t" + std::to_string(1'000'000 + row)
                                  : std::string(random() % 12, static_cast<char>('a' + random() % 26));
    text.insert(text.end(), label.begin(), label.end());
    offsets.push_back(text.size());
  }
  table.ids = ids;
  if (shape.labels) table.labels = {text, offsets};
  if (shape.text_ids) table.id_type = IdType::text;
  if (shape.gaps)
    for (std::vector<double>& column : values)
      for (double& value : column)
        if (random() % 5 == 0) value = std::numeric_limits<double>::quiet_NaN();
  const FieldColumns fields(shape, table);
  BuildOptions options;
  options.partitioning = shape.partitioning;
  options.row_order = shape.row_order;
  options.num_partitions = shape.partitions;
  options.leaf_rows = shape.leaf_rows;
  options.cluster = shape.cluster;
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
         a.own_coordinates() == b.own_coordinates() && a.late_splits().all() == b.late_splits().all() &&
         a.cluster() == b.cluster() && a.row_order() == b.row_order();
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

inline bool same_fields(const Snapshot& a, const Snapshot& b) {
  for (std::size_t leaf = 0; leaf < a.num_leaves; ++leaf)
    if (!same_bytes(a.leaf_fields(leaf).bytes(), b.leaf_fields(leaf).bytes())) return false;
  return true;
}

inline bool same_texts(const Snapshot& a, const Snapshot& b) {
  for (std::size_t leaf = 0; leaf < a.num_leaves; ++leaf)
    if (!same_bytes(a.leaf_texts(leaf).bytes(), b.leaf_texts(leaf).bytes())) return false;
  return true;
}

inline bool same_dictionaries(const Snapshot& a, const Snapshot& b) {
  return std::ranges::equal(a.dictionaries, b.dictionaries, [](const auto& x, const auto& y) {
    if (x == nullptr || y == nullptr) return x == y;
    bool same = x->size() == y->size();
    for (std::uint32_t code = 0; same && code < x->size(); ++code) same = (*x)[code] == (*y)[code];
    return same;
  });
}

inline bool same_zones(const Snapshot& a, const Snapshot& b) {
  const std::size_t size = a.arena->child_zones_layout().node_bytes();
  for (std::size_t node = 0; node < a.num_nodes; ++node)
    if (!same_bytes(std::span(a.arena->child_zones(node).bytes(), size),
                    std::span(b.arena->child_zones(node).bytes(), size)))
      return false;
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
  if (a.fields != b.fields) return "fields";
  if (a.id_name != b.id_name || a.label_name != b.label_name) return "names";
  if (a.stand_ins != b.stand_ins) return "stand_ins";
  if (!same_dictionaries(a, b)) return "dictionaries";
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
  if (!same_fields(a, b)) return "values of fields";
  if (!same_texts(a, b)) return "texts";
  if (a.layout.num_rows() != b.layout.num_rows()) return "layout";
  if (!same_nodes(a, b)) return "nodes";
  if (!same_zones(a, b)) return "zones";
  return "";
}

}  // namespace culmen::storage
