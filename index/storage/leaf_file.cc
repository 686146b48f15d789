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

LeafReader::LeafReader(const Manifest& manifest, std::vector<std::uint32_t> leaves_of_partition,
                       FrameFileReader& file, Snapshot& snapshot)
    : manifest_(manifest),
      partitions_(snapshot.partitioner->order()),
      shape_(manifest.leaf_shape()),
      codec_(shape_, manifest.has_file(FileKind::fields)),
      file_(file),
      directory_(manifest.num_leaves, codec_.most_payload_bytes(), file),
      snapshot_(snapshot) {
  for (const std::uint32_t p : partitions_)
    ends_.push_back((ends_.empty() ? 0 : ends_.back()) + leaves_of_partition[p]);
}

void LeafReader::start() {
  const std::uint64_t num_leaves = manifest_.num_leaves;
  directory_.start();
  // Pages cost nothing until they are written, and a file that lies about its length fails before that.
  records_ = PageBuffer<LeafRecord>(num_leaves, num_leaves, PageSize::small);
  first_rows_ = PageBuffer<RowKey>(num_leaves, num_leaves, PageSize::small);
  last_rows_ = PageBuffer<RowKey>(num_leaves, num_leaves, PageSize::small);
}

FramesOfLeaves LeafReader::read_all() {
  directory_.check_all();
  file_.read(0, manifest_.num_leaves, directory_.extents(),
             [this](std::uint64_t leaf, const std::byte* payload) {
               take(leaf, {payload, directory_.extent(leaf).payload_bytes});
             });
  return check_all();
}

void LeafReader::read_one(std::uint64_t leaf) {
  const FrameExtent extent = directory_.extent(leaf);
  file_.read_one(leaf, extent, [&](const std::byte* payload) {
    take(leaf, {payload, extent.payload_bytes});
  });
}

FramesOfLeaves LeafReader::check_all() const {
  directory_.check_all();
  file_.check_digest();
  check_num_rows();
  check_partitions();
  return {frames_in(FileKind::labels), frames_in(FileKind::fields), frames_in(FileKind::texts)};
}

void LeafReader::drop(std::uint64_t first, std::uint64_t end) {
  records_.discard(first, end);
  first_rows_.discard(first, end);
  last_rows_.discard(first, end);
}

LeafFrame LeafReader::frame_in(FileKind kind, std::uint64_t leaf) const {
  return part_of(records_[leaf], kind);
}

void LeafReader::fail(std::uint64_t leaf, const std::string& what) const {
  throw_damaged(file_.path(), directory_.extent(leaf).offset + sizeof(FrameHeader), what);
}

// Leaves are in the order of their partitions, and each partition has as many as the partitions file says.
std::uint32_t LeafReader::partition_of(std::uint64_t leaf) const {
  return partitions_[static_cast<std::size_t>(std::ranges::upper_bound(ends_, leaf) - ends_.begin())];
}

// Into the slot, which nobody reads before all checks are made.
void LeafReader::take(std::uint64_t leaf, std::span<const std::byte> payload) {
  SlotArena& arena = *snapshot_.arena;
  LeafRecord& record = records_[leaf];
  const std::string_view fault = codec_.decode(payload, record, arena.values(leaf), arena.ids(leaf));
  if (!fault.empty()) fail(leaf, std::string(fault));
  if (record.partition != partition_of(leaf)) fail(leaf, "a leaf in the wrong partition");
  visit_value_type(snapshot_, [&]<typename T>(T) {
    take_zone_map<T>(leaf);
    check_order<T>(leaf);
  });
  write_leaf_codes(arena, leaf, record.num_rows);
  arena.leaf(leaf) = {record.num_rows, record.partition, checked_min_id(leaf), 0};
}

// The zone map follows from the values. Engines rely on the minima and maxima of the index to exclude overflow. Which rows
// have stand-ins is known once the fields are read; check_ranges is exact.
template <typename T>
void LeafReader::take_zone_map(std::uint64_t leaf) {
  const std::size_t d = manifest_.attributes.size(), num_rows = records_[leaf].num_rows;
  T* zone_map = reinterpret_cast<T*>(snapshot_.arena->zone_map(leaf));
  bool good = true;
  for (std::size_t i = 0; i < d; ++i) {
    const T* column = reinterpret_cast<const T*>(snapshot_.arena->values(leaf)) + i * leaf_rows();
    // As wide as a value, so that the compiler can vectorize the loop.
    std::conditional_t<sizeof(T) == sizeof(std::uint32_t), std::uint32_t, std::uint64_t> is_number = 1;
    T maximum = column[0], minimum = column[0];
    for (std::size_t r = 0; r < num_rows; ++r) {
      maximum = column[r] > maximum ? column[r] : maximum;
      minimum = column[r] < minimum ? column[r] : minimum;
      is_number &= column[r] == column[r];
    }
    const AttributeStats& stats = manifest_.stats[i];
    const double stand_in = manifest_.stand_ins.empty() ? stats.minimum : manifest_.stand_ins[i];
    good &= is_number != 0 && minimum >= std::min(stats.minimum, stand_in) &&
            maximum <= std::max(stats.maximum, stand_in);
    zone_map[static_cast<std::size_t>(Extreme::maximum) * d + i] = maximum;
    zone_map[static_cast<std::size_t>(Extreme::minimum) * d + i] = minimum;
  }
  if (!good) fail(leaf, "values outside their attribute's range");
}

// The smallest id. The next id to be assigned must be above all others.
std::int64_t LeafReader::checked_min_id(std::uint64_t leaf) const {
  const std::int64_t* ids = snapshot_.arena->ids(leaf);
  const auto [smallest, largest] = std::minmax_element(ids, ids + records_[leaf].num_rows);
  if (*largest >= manifest_.next_id && manifest_.next_id != std::numeric_limits<std::int64_t>::max())
    fail(leaf, "an id that is not below the next id");
  return *smallest;
}

// Writers find the position of a row by binary search.
template <typename T>
void LeafReader::check_order(std::uint64_t leaf) {
  const std::int64_t* ids = snapshot_.arena->ids(leaf);
  const T* values = reinterpret_cast<const T*>(snapshot_.arena->values(leaf));
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
  if (!good) fail(leaf, "the rows are not in key order");
  last_rows_[leaf] = before;
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
    if (!(last_rows_[leaf - 1] < first_rows_[leaf])) fail(leaf, "the leaves are not in key order");
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
      fail(leaf, "the leaf's " + std::string(kFileKindNames.name(kind)) + " are at the wrong offset");
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

void write_leaves(const Snapshot& s, const FramesOfLeaves& frames, bool has_fields_file,
                  FrameFileWriter& file) {
  const LeafCodec codec(s.leaf_shape(), has_fields_file);
  const std::vector<std::uint32_t>& leaves = s.order().leaves;
  const SlotArena& arena = *s.arena;
  write_sized_frames(
      leaves.size(), codec.most_payload_bytes(),
      [&](std::uint64_t number, std::vector<std::byte>& payload) {
        const std::uint32_t leaf = leaves[number];
        const LeafHeader& header = s.leaf(leaf);
        codec.encode({header.num_rows, header.partition, frames.labels[number], frames.fields[number],
                      frames.texts[number]},
                     arena.values(leaf), s.leaf_ids(leaf), payload);
      },
      file);
}

// One whose values are all missing has no range.
void LeafReader::check_ranges() const {
  tbb::parallel_for(std::size_t{0}, manifest_.attributes.size(), [&](std::size_t i) {
    AttributeStats range;
    range.minimum = std::numeric_limits<double>::infinity();
    range.maximum = -range.minimum;
    for (std::uint64_t leaf = 0; leaf < manifest_.num_leaves; ++leaf) {
      const AttributeStats of_leaf = present_range(snapshot_, leaf, i);
      range.minimum = std::min(range.minimum, of_leaf.minimum);
      range.maximum = std::max(range.maximum, of_leaf.maximum);
    }
    const AttributeStats& stats = manifest_.stats[i];
    if (range.minimum <= range.maximum && (range.minimum != stats.minimum || range.maximum != stats.maximum))
      throw_damaged(
          file_.path(), 0,
          "the values of \"" + manifest_.attributes[i].name + "\" have another range than the manifest says");
  });
}

// Each split tests one column, so if the minima and the maxima of a leaf are on their partition's side, all rows are.
void LeafReader::check_late_splits() const {
  const LateSplits& splits = snapshot_.partitioner->late_splits();
  if (splits.empty()) return;
  const std::vector<std::uint32_t> origins = splits.origins();
  tbb::parallel_for(std::uint64_t{0}, manifest_.num_leaves, [&](std::uint64_t leaf) {
    const std::uint32_t partition = snapshot_.leaf(leaf).partition;
    for (const Extreme which : {Extreme::minimum, Extreme::maximum}) {
      const auto value = [&](std::size_t column) {
        return extreme_cut_value(snapshot_, leaf, column, which);
      };
      if (splits.partition_of(origins[partition], value) != partition)
        fail(leaf, "rows on the wrong side of a late split");
    }
  });
}

}  // namespace culmen::storage
