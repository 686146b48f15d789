#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "index/node_zone_map.h"
#include "index/storage/node_reader.h"
#include "index/storage/snapshot_files.h"

namespace culmen::storage {
namespace {

// Accepts only rows that a writer makes: decoding them neither rounds nor overflows.
bool is_sound(const BoundRow& row, Extreme extreme) {
  const bool has_outliers = std::memchr(row.codes, BoundScale::kOutlier, sizeof row.codes) != nullptr;
  if (has_outliers && !row.has_gap()) return false;
  const bool is_maximum = extreme == Extreme::maximum;
  const double base = row.base, least = std::fabs(row.signed_least());
  const double gap = std::fabs(BoundRow::signed_gap_of(row.scale));
  if (std::signbit(row.signed_least()) != is_maximum && row.scale != 0) return false;
  if (!(std::fabs(base) <= 2 * kLargestBound) || !(gap <= 4 * kLargestBound || gap == HUGE_VAL)) return false;
  if (least == 0) return true;
  const double steps = base / (0x1p-11 * least);  // exact: the least step is a power of two
  return least <= kLargestBound && std::fabs(steps) <= 0x1p33 &&
         steps == static_cast<double>(static_cast<std::int64_t>(steps));
}

std::uint16_t level_of(std::uint64_t node, const std::vector<std::uint64_t>& starts) {
  std::uint16_t level = 1;
  while (level + 1u < starts.size() && node >= starts[level]) ++level;
  return level;
}

ExtentOf node_extents(const NodeSections& sections, std::vector<std::uint64_t> starts) {
  return [bytes = sections.payload_bytes(), starts = std::move(starts)](std::uint64_t node) {
    return fixed_extent(node, bytes, level_of(node, starts));
  };
}

}  // namespace

std::vector<std::uint64_t> level_starts(const std::vector<std::uint64_t>& level_nodes) {
  std::vector<std::uint64_t> starts = {0};
  for (const std::uint64_t nodes : level_nodes) starts.push_back(starts.back() + nodes);
  return starts;
}

NodeReader::NodeReader(const Manifest& manifest, FrameFileReader& file, Snapshot& snapshot)
    : manifest_(manifest),
      starts_(level_starts(manifest.level_nodes)),
      sections_(manifest.leaf_shape(), manifest.layout),
      extents_(frames_of_nodes(manifest)),
      file_(file),
      snapshot_(snapshot) {}

void NodeReader::start() {
  file_.require_end(extents_(manifest_.num_nodes()).offset);
  file_.read_file_header(manifest_.num_nodes());
}

void NodeReader::read_all() {
  file_.read(0, manifest_.num_nodes(), extents_,
             [this](std::uint64_t node, const std::byte* payload) { take(node, payload); });
  check_all();
}

void NodeReader::read_one(std::uint64_t node) {
  file_.read_one(node, extents_(node), [&](const std::byte* payload) { take(node, payload); });
}

void NodeReader::check_all() const {
  file_.check_digest();
  check_links();
  visit_value_type(snapshot_, [this]<typename T>(T) {
    tbb::parallel_for(std::uint64_t{0}, manifest_.num_nodes(), [this](std::uint64_t node) {
      for (int i = 0; i < snapshot_.num_attributes(); ++i) check_range<T>(node, i);
    });
  });
  check_zones();
}

// Each is what follows from its children's.
void NodeReader::check_zones() const {
  tbb::parallel_for(std::uint64_t{0}, manifest_.num_nodes(), [this](std::uint64_t node) {
    if (!is_node_zone_map(*snapshot_.arena, node))
      fail(node, "the zones are not those of what is below the node");
  });
}

void NodeReader::fail(std::uint64_t node, const std::string& what) const {
  throw_damaged(file_.path(), extents_(node).offset + sizeof(FrameHeader), what);
}

void NodeReader::take(std::uint64_t node, const std::byte* payload) {
  const std::byte* child_zones = payload + sections_.child_zones_offset();
  SlotArena& arena = *snapshot_.arena;
  check_node(node, {payload});
  check_child_gaps(node, {child_zones, arena.child_zones_layout()});
  const NodeAccess<std::byte> slot = arena.mutable_node(node);
  std::memcpy(slot.bytes, payload, sections_.node_bytes);
  slot.header().version = 0;
  std::memcpy(arena.node_zone_map(node), payload + sections_.zone_map_offset(), sections_.zone_map_bytes);
  std::memcpy(arena.child_zones_bytes(node), child_zones, sections_.child_zones_bytes);
}

void NodeReader::check_node(std::uint64_t node, NodeRef ref) const {
  const NodeHeader& header = ref.header();
  if (header.level != level_of(node, starts_)) fail(node, "a node of the wrong level");
  if (header.num_children == 0 || header.num_children > kFanOut)
    fail(node, "a node of " + std::to_string(header.num_children) + " children");
  if (!has_possible_children(node, ref)) fail(node, "the children are not consecutive");
  bool good = true;
  for (int row = 0; row < snapshot_.layout.num_rows(); ++row)
    good &= is_sound(ref.bounds()[row], snapshot_.layout.extreme_of(row));
  if (!good) fail(node, "an invalid bounds row");
}

// Whoever finds a gap looks up the attribute's stand-in.
void NodeReader::check_child_gaps(std::uint64_t node, const ChildZonesRef& zones) const {
  if (manifest_.has_gaps) return;
  for (std::size_t i = 0; i < manifest_.attributes.size(); ++i)
    if (zones.gaps(i).some_missing != 0)
      fail(node, "missing values in an index whose manifest says that there are none");
}

// Consecutive ones of the level below. Whether they are the node's own, only all nodes together show.
bool NodeReader::has_possible_children(std::uint64_t node, NodeRef ref) const {
  const std::size_t level = level_of(node, starts_);
  const std::uint64_t begin = level == 1 ? 0 : starts_[level - 2];
  const std::uint64_t end = level == 1 ? manifest_.num_leaves : starts_[level - 1];
  const std::uint32_t num_children = ref.header().num_children;
  const std::uint64_t first = ref.children()[0];
  bool good = first >= begin && first + num_children <= end;
  for (std::uint32_t c = 0; c < num_children; ++c) good &= ref.children()[c] == first + c;
  return good;
}

// The range of an attribute in a child of a node of this level: from a leaf's zone map or a node's bounds.
template <typename T>
std::pair<double, double> NodeReader::range_in_units(std::uint32_t level, std::uint32_t child,
                                                     int attribute) const {
  const auto i = static_cast<std::size_t>(attribute);
  if (level == 1) {
    const BoundUnit& unit = snapshot_.units[i];
    return {unit.to_units(static_cast<double>(snapshot_.zone_vector<T>(child, Extreme::minimum)[i])),
            unit.to_units(static_cast<double>(snapshot_.zone_vector<T>(child, Extreme::maximum)[i]))};
  }
  const NodeRef below = snapshot_.node(child);
  const std::uint32_t num_children = below.header().num_children;
  return {below.bounds()[snapshot_.layout.minimum_row(attribute)].farthest_out(num_children),
          below.bounds()[snapshot_.layout.maximum_row(attribute)].farthest_out(num_children)};
}

// The bounds of single attributes must cover the child: filters prune by them.
template <typename T>
void NodeReader::check_range(std::uint64_t node, int attribute) const {
  const NodeRef ref = snapshot_.node(node);
  const BoundRow& highest = ref.bounds()[snapshot_.layout.maximum_row(attribute)];
  const BoundRow& lowest = ref.bounds()[snapshot_.layout.minimum_row(attribute)];
  bool good = true;
  for (std::uint32_t c = 0; c < ref.header().num_children; ++c) {
    const auto [minimum, maximum] = range_in_units<T>(ref.header().level, ref.children()[c], attribute);
    good &= static_cast<double>(highest[c]) >= maximum;
    good &= static_cast<double>(lowest[c]) <= minimum;
  }
  if (!good) fail(node, "a bound does not cover an attribute of a child");
}

// The children of a level's nodes, in order, are the nodes or leaves of the level below.
void NodeReader::check_links() const {
  for (std::size_t level = 0; level < manifest_.level_nodes.size(); ++level) {
    const std::uint64_t end = level == 0 ? manifest_.num_leaves : starts_[level];
    std::uint64_t next = level == 0 ? 0 : starts_[level - 1];
    for (std::uint64_t node = starts_[level]; node < starts_[level + 1]; ++node) {
      const NodeRef ref = snapshot_.node(node);
      for (std::uint32_t c = 0; c < ref.header().num_children; ++c, ++next) {
        if (ref.children()[c] != next || next == end) fail(node, "the children are not consecutive");
        const std::int64_t min_id =
            level == 0 ? snapshot_.leaf(next).min_id : snapshot_.node(next).header().min_id;
        if (ref.min_ids()[c] != min_id || ref.header().min_id > min_id)
          fail(node, "the smallest id of a child is wrong");
      }
    }
    if (next != end) throw_damaged(file_.path(), 0, "a leaf or a node has no parent");
  }
}

// Numbers nodes in the tree's order, whatever their slots in memory.
void write_nodes(const Snapshot& s, FrameFileWriter& file) {
  const NodeSections sections(s.leaf_shape(), s.layout);
  const SlotArena& arena = *s.arena;
  const std::vector<std::uint64_t> starts = level_starts(level_nodes(s));
  const std::vector<std::uint32_t>& nodes = s.order().nodes;
  std::vector<std::uint32_t> first_child(nodes.size());  // on level 1 a leaf, above a node
  std::uint32_t next = 0;
  for (std::size_t number = 0; number < nodes.size(); ++number) {
    if (number == starts[1]) next = 0;  // from leaves to nodes
    first_child[number] = next;
    next += s.node(nodes[number]).header().num_children;
  }
  file.write(node_extents(sections, starts), [&](std::uint64_t number, std::byte* payload) {
    const std::uint32_t slot = nodes[number];
    std::memcpy(payload, s.node(slot).bytes, sections.node_bytes);
    std::memcpy(payload + sections.zone_map_offset(), arena.node_zone_map(slot), sections.zone_map_bytes);
    std::memcpy(payload + sections.child_zones_offset(), arena.child_zones(slot).bytes(),
                sections.child_zones_bytes);
    const NodeAccess<std::byte> node{payload};
    node.header().version = 0;
    std::iota(node.children(), node.children() + node.header().num_children, first_child[number]);
  });
}

ExtentOf frames_of_nodes(const Manifest& manifest) {
  return node_extents(NodeSections(manifest.leaf_shape(), manifest.layout),
                      level_starts(manifest.level_nodes));
}

}  // namespace culmen::storage
