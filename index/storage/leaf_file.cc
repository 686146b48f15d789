#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "index/field_key.h"
#include "index/leaf_codes.h"
#include "index/row_orders.h"
#include "index/snapshot_fields.h"
#include "index/storage/leaf_reader.h"

namespace culmen::storage {

ExtentOf leaf_extents(const LeafLayout& layout) {
  return [bytes = layout.payload_bytes()](std::uint64_t leaf) { return fixed_extent(leaf, bytes, 0); };
}

LeafReader::LeafReader(const Manifest& manifest, std::vector<std::uint32_t> leaves_of_partition,
                       FrameFileReader& file, Snapshot& snapshot)
    : manifest_(manifest),
      partitions_(snapshot.partitioner->order()),
      shape_(manifest.leaf_shape()),
      layout_(shape_),
      extents_(leaf_extents(layout_)),
      file_(file),
      snapshot_(snapshot) {
  for (const std::uint32_t p : partitions_)
    ends_.push_back((ends_.empty() ? 0 : ends_.back()) + leaves_of_partition[p]);
}

void LeafReader::start() {
  const std::uint64_t num_leaves = manifest_.num_leaves;
  file_.require_end(extents_(num_leaves).offset);
  file_.read_file_header(num_leaves);
  // Pages cost nothing until they are written, and a file that lies about its length fails before that.
  records_ = PageBuffer<LeafRecord>(num_leaves, num_leaves, PageSize::small);
  first_rows_ = PageBuffer<RowKey>(num_leaves, num_leaves, PageSize::small);
  last_rows_ = PageBuffer<RowKey>(num_leaves, num_leaves, PageSize::small);
}

FramesOfLeaves LeafReader::read_all() {
  file_.read(0, manifest_.num_leaves, extents_,
             [this](std::uint64_t leaf, const std::byte* payload) { take(leaf, payload); });
  return check_all();
}

void LeafReader::read_one(std::uint64_t leaf) {
  file_.read_one(leaf, extents_(leaf), [&](const std::byte* payload) { take(leaf, payload); });
}

FramesOfLeaves LeafReader::check_all() const {
  file_.check_digest();
  check_num_rows();
  check_partitions();
  return {frames_in(FileKind::labels), frames_in(FileKind::fields)};
}

void LeafReader::drop(std::uint64_t first, std::uint64_t end) {
  records_.discard(first, end);
  first_rows_.discard(first, end);
  last_rows_.discard(first, end);
}

LeafFrame LeafReader::frame_in(FileKind kind, std::uint64_t leaf) const {
  return kind == FileKind::labels ? records_[leaf].labels : records_[leaf].fields;
}

void LeafReader::fail(std::uint64_t leaf, std::uint64_t section, const std::string& what) const {
  throw_damaged(file_.path(), extents_(leaf).offset + sizeof(FrameHeader) + section, what);
}

// Leaves are in the order of their partitions, and each partition has as many as the partitions file says.
std::uint32_t LeafReader::partition_of(std::uint64_t leaf) const {
  return partitions_[static_cast<std::size_t>(std::ranges::upper_bound(ends_, leaf) - ends_.begin())];
}

void LeafReader::take(std::uint64_t leaf, const std::byte* payload) {
  visit_value_type(snapshot_, [&]<typename T>(T) { take_as<T>(leaf, payload); });
}

template <typename T>
void LeafReader::take_as(std::uint64_t leaf, const std::byte* payload) {
  LeafRecord& record = records_[leaf];
  std::memcpy(&record, payload, sizeof record);
  if (record.num_rows == 0 || record.num_rows > leaf_rows())
    fail(leaf, 0, "a leaf of " + std::to_string(record.num_rows) + " rows");
  if (record.partition != partition_of(leaf)) fail(leaf, 0, "a leaf in the wrong partition");
  check_zone_map<T>(leaf, payload);
  check_values<T>(leaf, payload);
  check_ids(leaf, payload);
  check_order<T>(leaf, payload);
  SlotArena& arena = *snapshot_.arena;
  std::memcpy(arena.zone_map(leaf), payload + layout_.zone_map_offset(), layout_.zone_map_bytes);
  std::memcpy(arena.values(leaf), payload + layout_.values_offset(), layout_.value_bytes);
  std::memcpy(arena.ids(leaf), payload + layout_.ids_offset(), layout_.id_bytes);
  write_leaf_codes(arena, leaf, record.num_rows);
  arena.leaf(leaf) = {record.num_rows, record.partition, record.min_id, 0};
}

// A zone map must be exact: when a row with an extreme value is erased, the writer finds the remaining range of the
// index by zone maps. NaN fails every comparison.
template <typename T>
void LeafReader::check_values(std::uint64_t leaf, const std::byte* payload) const {
  const std::uint64_t num_rows = records_[leaf].num_rows, leaf_rows = this->leaf_rows();
  const std::size_t d = manifest_.attributes.size();
  const T* zone_map = reinterpret_cast<const T*>(payload + layout_.zone_map_offset());
  // As wide as a value, so that the compiler can vectorize the loop.
  using Flag = std::conditional_t<sizeof(T) == sizeof(std::uint32_t), std::uint32_t, std::uint64_t>;
  Flag good = 1;
  for (std::size_t i = 0; i < d; ++i) {
    const T* column = reinterpret_cast<const T*>(payload + layout_.values_offset()) + i * leaf_rows;
    const T maximum = zone_map[static_cast<std::size_t>(Extreme::maximum) * d + i],
            minimum = zone_map[static_cast<std::size_t>(Extreme::minimum) * d + i];
    Flag has_maximum = 0, has_minimum = 0;
    for (std::uint64_t r = 0; r < num_rows; ++r) {
      good &= Flag{column[r] >= minimum} & Flag{column[r] <= maximum};
      has_maximum |= Flag{column[r] == maximum};
      has_minimum |= Flag{column[r] == minimum};
    }
    good &= has_maximum & has_minimum;
    for (std::uint64_t r = num_rows; r < leaf_rows; ++r) good &= Flag{column[r] == 0};
  }
  if (good == 0)
    fail(leaf, layout_.values_offset(), "the leaf's zone map is not the minimum and maximum of its values");
}

// The next id to be assigned must be above all others.
void LeafReader::check_ids(std::uint64_t leaf, const std::byte* payload) const {
  const auto* ids = reinterpret_cast<const std::int64_t*>(payload + layout_.ids_offset());
  const auto [smallest, largest] = std::minmax_element(ids, ids + records_[leaf].num_rows);
  if (*smallest != records_[leaf].min_id)
    fail(leaf, offsetof(LeafRecord, min_id), "the leaf's smallest id is wrong");
  if (*largest >= manifest_.next_id && manifest_.next_id != std::numeric_limits<std::int64_t>::max())
    fail(leaf, layout_.ids_offset(), "an id that is not below the next id");
}

// Writers find the position of a row by binary search.
template <typename T>
void LeafReader::check_order(std::uint64_t leaf, const std::byte* payload) {
  const auto* ids = reinterpret_cast<const std::int64_t*>(payload + layout_.ids_offset());
  const T* values = reinterpret_cast<const T*>(payload + layout_.values_offset());
  const std::size_t num_rows = records_[leaf].num_rows;
  OrderKey orders[kOrdersAtOnce];
  RowKey before{};
  bool good = true;
  for (std::size_t first = 0; first < num_rows; first += kOrdersAtOnce) {
    const std::size_t count = std::min(num_rows - first, kOrdersAtOnce);
    orders_of_rows(*snapshot_.partitioner, values + first, leaf_rows(), {orders, count});
    if (first == 0) first_rows_[leaf] = {orders[0], ids[0]};
    for (std::size_t r = 0; r < count; ++r) {
      const RowKey here{orders[r], ids[first + r]};
      good &= first + r == 0 || before < here;
      before = here;
    }
  }
  if (!good) fail(leaf, layout_.ids_offset(), "the rows are not in key order");
  last_rows_[leaf] = before;
}

// Engines rely on the minima and maxima of the index to exclude overflow. Which rows have stand-ins is known once the
// fields are read; check_ranges is exact.
template <typename T>
void LeafReader::check_zone_map(std::uint64_t leaf, const std::byte* payload) const {
  const std::size_t d = manifest_.attributes.size();
  const T* zone_map = reinterpret_cast<const T*>(payload + layout_.zone_map_offset());
  bool good = true;
  for (std::size_t i = 0; i < kZoneVectors * d; ++i) {
    const AttributeStats& stats = manifest_.stats[i % d];
    const double stand_in = manifest_.stand_ins.empty() ? stats.minimum : manifest_.stand_ins[i % d];
    good &=
        zone_map[i] >= std::min(stats.minimum, stand_in) && zone_map[i] <= std::max(stats.maximum, stand_in);
  }
  if (!good) fail(leaf, layout_.zone_map_offset(), "a zone map outside its attribute's range");
}

void LeafReader::check_num_rows() const {
  std::uint64_t num_rows = 0;
  for (std::uint64_t leaf = 0; leaf < manifest_.num_leaves; ++leaf) num_rows += records_[leaf].num_rows;
  if (num_rows != manifest_.num_rows)
    throw_damaged(file_.path(), 0,
                  "the leaves hold " + std::to_string(num_rows) + " rows; the manifest says " +
                      std::to_string(manifest_.num_rows));
}

void LeafReader::check_partitions() const {
  tbb::parallel_for(std::size_t{0}, ends_.size(),
                    [&](std::size_t p) { check_leaves(p == 0 ? 0 : ends_[p - 1], ends_[p]); });
}

// The rows of a partition are in key order across its leaves.
void LeafReader::check_leaves(std::uint64_t first, std::uint64_t end) const {
  for (std::uint64_t leaf = first + 1; leaf < end; ++leaf)
    if (!(last_rows_[leaf - 1] < first_rows_[leaf]))
      fail(leaf, layout_.ids_offset(), "the leaves are not in key order");
}

// The frames of the leaves in another file, which are contiguous.
LeafFrames LeafReader::frames_in(FileKind kind) const {
  LeafFrames frames;
  if (!manifest_.has_file(kind)) return frames;
  const std::uint64_t file_bytes = manifest_.file(kind).bytes;
  for (std::uint64_t leaf = 0; leaf < manifest_.num_leaves; ++leaf) {
    const LeafFrame& frame = frame_in(kind, leaf);
    // Larger numbers could overflow.
    if (frame.offset != frames.end() || frame.bytes > file_bytes || frame.offset > file_bytes)
      fail(leaf, 0, "the leaf's " + std::string(kFileKindNames.name(kind)) + " are at the wrong offset");
    frames.add(frame.bytes);
  }
  return frames;
}

namespace {

// The least or the greatest value of a leaf's rows in a column that partitions are cut by.
double extreme_cut_value(const Snapshot& s, std::uint64_t leaf, std::size_t column, Extreme which) {
  const std::size_t d = s.attributes.size();
  if (column < d)
    return visit_value_type(
        s, [&]<typename T>(T) { return static_cast<double>(s.zone_vector<T>(leaf, which)[column]); });
  const FieldZone& zone = s.leaf_fields(leaf).zone(column - d);
  const bool has_value = zone.num_missing < s.leaf(leaf).num_rows;
  if (!has_value || (which == Extreme::minimum && zone.num_missing > 0)) return kMissingCutValue;
  return cut_value(s.fields[column - d], which == Extreme::minimum ? zone.minimum : zone.maximum);
}

}  // namespace

void write_leaves(const Snapshot& s, const FramesOfLeaves& frames, FrameFileWriter& file) {
  const LeafLayout layout(s.leaf_shape());
  const std::vector<std::uint32_t>& leaves = s.order().leaves;
  const SlotArena& arena = *s.arena;
  file.write(leaf_extents(layout), [&](std::uint64_t number, std::byte* payload) {
    const std::uint32_t leaf = leaves[number];
    const LeafHeader& header = s.leaf(leaf);
    const LeafRecord record{header.num_rows, header.partition, header.min_id, frames.labels[number],
                            frames.fields[number]};
    std::memcpy(payload, &record, sizeof record);
    std::memcpy(payload + layout.zone_map_offset(), arena.zone_map(leaf), layout.zone_map_bytes);
    std::memcpy(payload + layout.values_offset(), arena.values(leaf), layout.value_bytes);
    std::memcpy(payload + layout.ids_offset(), s.leaf_ids(leaf), layout.id_bytes);
  });
}

// Scale::minmax needs the exact range of each attribute. One whose values are all missing has none.
void check_ranges(const Manifest& manifest, const FrameFileReader& leaves, const Snapshot& s) {
  tbb::parallel_for(std::size_t{0}, manifest.attributes.size(), [&](std::size_t i) {
    AttributeStats range;
    range.minimum = std::numeric_limits<double>::infinity();
    range.maximum = -range.minimum;
    for (std::uint64_t leaf = 0; leaf < manifest.num_leaves; ++leaf) {
      const AttributeStats of_leaf = present_range(s, leaf, i);
      range.minimum = std::min(range.minimum, of_leaf.minimum);
      range.maximum = std::max(range.maximum, of_leaf.maximum);
    }
    const AttributeStats& stats = manifest.stats[i];
    if (range.minimum <= range.maximum && (range.minimum != stats.minimum || range.maximum != stats.maximum))
      throw_damaged(
          leaves.path(), 0,
          "the values of \"" + manifest.attributes[i].name + "\" have another range than the manifest says");
  });
}

// Each split tests one column, so if the minima and the maxima of a leaf are on their partition's side, all rows are.
void check_late_splits(const Manifest& manifest, const FrameFileReader& leaves, const Snapshot& s) {
  const LateSplits& splits = s.partitioner->late_splits();
  if (splits.empty()) return;
  const std::vector<std::uint32_t> origins = splits.origins();
  const LeafLayout layout(manifest.leaf_shape());
  tbb::parallel_for(std::uint64_t{0}, manifest.num_leaves, [&](std::uint64_t leaf) {
    const std::uint32_t partition = s.leaf(leaf).partition;
    for (const Extreme which : {Extreme::minimum, Extreme::maximum}) {
      const auto value = [&](std::size_t column) { return extreme_cut_value(s, leaf, column, which); };
      if (splits.partition_of(origins[partition], value) != partition)
        throw_damaged(leaves.path(),
                      leaf_extents(layout)(leaf).offset + sizeof(FrameHeader) + layout.values_offset(),
                      "rows on the wrong side of a late split");
    }
  });
}

}  // namespace culmen::storage
