#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "index/leaf_codes.h"
#include "index/row_orders.h"
#include "index/snapshot_fields.h"
#include "index/storage/snapshot_files.h"

namespace culmen::storage {
namespace {

ExtentOf leaf_extents(const LeafLayout& layout) {
  return [bytes = layout.payload_bytes()](std::uint64_t leaf) { return fixed_extent(leaf, bytes, 0); };
}

// The sort key of a row within its partition.
struct RowKey {
  OrderKey order;
  std::int64_t id;

  friend bool operator<(const RowKey& a, const RowKey& b) {
    return a.order != b.order ? a.order < b.order : a.id < b.id;
  }
};

// Reads leaf frames into a snapshot. Threads read frames in any order, each into its own leaf.
class LeafReader {
 public:
  LeafReader(const Manifest& manifest, std::span<const std::uint32_t> leaves_of_partition,
             FrameFileReader& file, Snapshot& snapshot)
      : manifest_(manifest),
        leaves_of_partition_(leaves_of_partition),
        layout_(manifest.leaf_shape()),
        file_(file),
        snapshot_(snapshot) {}

  FramesOfLeaves run() {
    const std::uint64_t num_leaves = manifest_.num_leaves;
    const ExtentOf extents = leaf_extents(layout_);
    file_.require_end(extents(num_leaves).offset);
    file_.read_file_header(num_leaves);
    // Pages cost nothing until they are written, and a file that lies about its length fails before that.
    records_ = PageBuffer<LeafRecord>(num_leaves);
    first_rows_ = PageBuffer<RowKey>(num_leaves);
    last_rows_ = PageBuffer<RowKey>(num_leaves);
    snapshot_.arena = std::make_shared<SlotArena>(snapshot_.leaf_shape(), snapshot_.layout, num_leaves,
                                                  manifest_.num_nodes());
    snapshot_.num_leaves = snapshot_.leaf_slots = num_leaves;
    file_.read(0, num_leaves, extents, [this](std::uint64_t leaf, const std::byte* payload) {
      visit_value_type(snapshot_, [&]<typename T>(T) { take_leaf<T>(leaf, payload); });
    });
    file_.check_digest();
    take_headers();
    check_partitions();
    visit_value_type(snapshot_, [this]<typename T>(T) { check_late_splits<T>(); });
    return {frames(FileKind::labels, &LeafRecord::labels), frames(FileKind::fields, &LeafRecord::fields)};
  }

 private:
  std::size_t leaf_rows() const { return manifest_.leaf_shape().leaf_rows; }

  [[noreturn]] void fail(std::uint64_t leaf, std::uint64_t section, const std::string& what) const {
    throw_damaged(file_.path(), leaf_extents(layout_)(leaf).offset + sizeof(FrameHeader) + section, what);
  }

  template <typename T>
  void take_leaf(std::uint64_t leaf, const std::byte* payload) {
    LeafRecord& record = records_[leaf];
    std::memcpy(&record, payload, sizeof record);
    if (record.num_rows == 0 || record.num_rows > leaf_rows())
      fail(leaf, 0, "a leaf of " + std::to_string(record.num_rows) + " rows");
    check_zone_map<T>(leaf, payload);
    check_values<T>(leaf, payload);
    check_ids(leaf, payload);
    check_order<T>(leaf, payload);
    SlotArena& arena = *snapshot_.arena;
    std::memcpy(arena.zone_map(leaf), payload + layout_.zone_map_offset(), layout_.zone_map_bytes);
    std::memcpy(arena.values(leaf), payload + layout_.values_offset(), layout_.value_bytes);
    std::memcpy(arena.ids(leaf), payload + layout_.ids_offset(), layout_.id_bytes);
    write_leaf_codes(arena, leaf, record.num_rows);
  }

  // A zone map must be exact: when a row with an extreme value is erased, the writer finds the remaining range of the
  // index by zone maps. NaN fails every comparison.
  template <typename T>
  void check_values(std::uint64_t leaf, const std::byte* payload) const {
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
  void check_ids(std::uint64_t leaf, const std::byte* payload) const {
    const auto* ids = reinterpret_cast<const std::int64_t*>(payload + layout_.ids_offset());
    const auto [smallest, largest] = std::minmax_element(ids, ids + records_[leaf].num_rows);
    if (*smallest != records_[leaf].min_id)
      fail(leaf, offsetof(LeafRecord, min_id), "the leaf's smallest id is wrong");
    if (*largest >= manifest_.next_id && manifest_.next_id != std::numeric_limits<std::int64_t>::max())
      fail(leaf, layout_.ids_offset(), "an id that is not below the next id");
  }

  // Writers find the position of a row by binary search.
  template <typename T>
  void check_order(std::uint64_t leaf, const std::byte* payload) {
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
  void check_zone_map(std::uint64_t leaf, const std::byte* payload) const {
    const std::size_t d = manifest_.attributes.size();
    const T* zone_map = reinterpret_cast<const T*>(payload + layout_.zone_map_offset());
    bool good = true;
    for (std::size_t i = 0; i < kZoneVectors * d; ++i) {
      const AttributeStats& stats = manifest_.stats[i % d];
      const double stand_in = manifest_.stand_ins.empty() ? stats.minimum : manifest_.stand_ins[i % d];
      good &= zone_map[i] >= std::min(stats.minimum, stand_in) &&
              zone_map[i] <= std::max(stats.maximum, stand_in);
    }
    if (!good) fail(leaf, layout_.zone_map_offset(), "a zone map outside its attribute's range");
  }

  // Leaves are in the order of their partitions, and each partition has as many as the partitions file says.
  void take_headers() {
    std::uint64_t num_rows = 0, leaf = 0;
    for (const std::uint32_t p : snapshot_.partitioner->order()) {
      for (const std::uint64_t end = leaf + leaves_of_partition_[p]; leaf < end; ++leaf) {
        const LeafRecord& record = records_[leaf];
        if (record.partition != p) fail(leaf, 0, "a leaf in the wrong partition");
        snapshot_.arena->leaf(leaf) = {record.num_rows, record.partition, record.min_id, 0};
        num_rows += record.num_rows;
      }
    }
    if (num_rows != manifest_.num_rows)
      throw_damaged(file_.path(), 0,
                    "the leaves hold " + std::to_string(num_rows) + " rows; the manifest says " +
                        std::to_string(manifest_.num_rows));
  }

  void check_partitions() const {
    std::vector<std::uint64_t> ends;
    for (const std::uint32_t p : snapshot_.partitioner->order())
      ends.push_back((ends.empty() ? 0 : ends.back()) + leaves_of_partition_[p]);
    tbb::parallel_for(std::size_t{0}, ends.size(),
                      [&](std::size_t p) { check_leaves(p == 0 ? 0 : ends[p - 1], ends[p]); });
  }

  // The rows of a partition are in key order across its leaves.
  void check_leaves(std::uint64_t first, std::uint64_t end) const {
    for (std::uint64_t leaf = first + 1; leaf < end; ++leaf)
      if (!(last_rows_[leaf - 1] < first_rows_[leaf]))
        fail(leaf, layout_.ids_offset(), "the leaves are not in key order");
  }

  // Rows must be on their partition's side of every late split. Each split tests one attribute, so if the minima and
  // the maxima of a leaf are, all of its rows are.
  template <typename T>
  void check_late_splits() const {
    const LateSplits& splits = snapshot_.partitioner->late_splits();
    if (splits.empty()) return;
    const std::vector<std::uint32_t> origins = splits.origins();
    tbb::parallel_for(std::uint64_t{0}, manifest_.num_leaves, [&](std::uint64_t leaf) {
      const std::uint32_t partition = records_[leaf].partition;
      for (const Extreme which : {Extreme::minimum, Extreme::maximum}) {
        const T* zone_vector = snapshot_.zone_vector<T>(leaf, which);
        const auto value = [zone_vector](std::size_t i) { return static_cast<double>(zone_vector[i]); };
        if (splits.partition_of(origins[partition], value) != partition)
          fail(leaf, layout_.values_offset(), "rows on the wrong side of a late split");
      }
    });
  }

  // The frames of the leaves in another file, which are contiguous.
  LeafFrames frames(FileKind kind, LeafFrame LeafRecord::*own) const {
    LeafFrames frames;
    if (!manifest_.has_file(kind)) return frames;
    const std::uint64_t file_bytes = manifest_.file(kind).bytes;
    for (std::uint64_t leaf = 0; leaf < manifest_.num_leaves; ++leaf) {
      const LeafFrame& frame = records_[leaf].*own;
      // Larger numbers could overflow.
      if (frame.offset != frames.end() || frame.bytes > file_bytes || frame.offset > file_bytes)
        fail(leaf, 0, "the leaf's " + std::string(kFileKindNames.name(kind)) + " are at the wrong offset");
      frames.add(frame.bytes);
    }
    return frames;
  }

  const Manifest& manifest_;
  const std::span<const std::uint32_t> leaves_of_partition_;
  const LeafLayout layout_;
  FrameFileReader& file_;
  Snapshot& snapshot_;
  PageBuffer<LeafRecord> records_;
  PageBuffer<RowKey> first_rows_, last_rows_;  // of each leaf
};

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

FramesOfLeaves read_leaves(const Manifest& manifest, std::span<const std::uint32_t> leaves_of_partition,
                           FrameFileReader& file, Snapshot& snapshot) {
  return LeafReader(manifest, leaves_of_partition, file, snapshot).run();
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

}  // namespace culmen::storage
