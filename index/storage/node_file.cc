#include <cstring>

#include "index/storage/snapshot_files.h"

namespace culmen::storage {
namespace {

bool is_nan(Half half) {
  return (half.bits & 0x7fff) > kHalfInfinity.bits;
}

// First node of each level, and behind them the number of nodes.
std::vector<std::uint64_t> level_starts(const std::vector<std::uint64_t>& level_nodes) {
  std::vector<std::uint64_t> starts = {0};
  for (std::uint64_t nodes : level_nodes) starts.push_back(starts.back() + nodes);
  return starts;
}

std::uint16_t level_of(std::uint64_t node, const std::vector<std::uint64_t>& starts) {
  std::uint16_t level = 1;
  while (level + 1u < starts.size() && node >= starts[level]) ++level;
  return level;
}

PlaceOf node_places(std::uint64_t node_bytes, const std::vector<std::uint64_t>& starts) {
  return [node_bytes, &starts](std::uint64_t node) {
    return fixed_place(node, node_bytes, level_of(node, starts));
  };
}

class NodeReader {
 public:
  NodeReader(const Manifest& manifest, BlockFileReader& file, Snapshot& snapshot)
      : manifest_(manifest), starts_(level_starts(manifest.level_nodes)), file_(file), snapshot_(snapshot) {}

  void run() {
    const std::uint64_t node_bytes = NodePool(0, snapshot_.layout).stride_bytes();
    const PlaceOf places = node_places(node_bytes, starts_);
    file_.require_end(places(manifest_.num_nodes()).offset);
    file_.read_file_header(manifest_.num_nodes());
    snapshot_.nodes = NodePool(manifest_.num_nodes(), snapshot_.layout);
    snapshot_.height = static_cast<int>(manifest_.level_nodes.size());
    file_.read(0, manifest_.num_nodes(), places, [&](std::uint64_t node, const std::byte* payload) {
      std::memcpy(snapshot_.nodes.mutable_node(node).bytes, payload, node_bytes);
      check_node(node);
    });
    file_.check_digest();
    check_links();
  }

 private:
  [[noreturn]] void fail(std::uint64_t node, const std::string& what) const {
    const std::uint64_t node_bytes = snapshot_.nodes.stride_bytes();
    throw_damaged(file_.path(), fixed_place(node, node_bytes, 0).offset + sizeof(BlockHeader), what);
  }

  void check_node(std::uint64_t node) const {
    const NodeRef ref = snapshot_.nodes[node];
    const NodeHeader& header = ref.header();
    if (header.level != level_of(node, starts_)) fail(node, "a node of the wrong level");
    if (header.num_children == 0 || header.num_children > kFanOut)
      fail(node, "a node of " + std::to_string(header.num_children) + " children");
    bool good = true;
    const int num_bounds = snapshot_.layout.num_rows() * kFanOut;
    for (int i = 0; i < num_bounds; ++i) good &= !is_nan(ref.bounds()[i]);
    if (!good) fail(node, "a bound that is not a number");  // searches keep bounds in order
  }

  // Every leaf, and every node but the root, is the child of exactly one node, one level above it.
  void check_links() const {
    std::vector<bool> leaf_seen(manifest_.num_leaves), node_seen(manifest_.num_nodes());
    std::uint64_t num_links = 0;
    for (std::uint64_t node = 0; node < manifest_.num_nodes(); ++node) {
      const NodeRef ref = snapshot_.nodes[node];
      const std::uint32_t level = ref.header().level;
      std::vector<bool>& seen = level == 1 ? leaf_seen : node_seen;
      const std::uint64_t first = level == 1 ? 0 : starts_[level - 2];
      const std::uint64_t last = level == 1 ? manifest_.num_leaves : starts_[level - 1];
      for (std::uint32_t c = 0; c < ref.header().num_children; ++c, ++num_links) {
        const std::uint32_t child = ref.children()[c];
        if (child < first || child >= last) fail(node, "a child outside of the level below");
        if (seen[child]) fail(node, "a child that another node has already");
        seen[child] = true;
      }
    }
    if (num_links + 1 != manifest_.num_leaves + manifest_.num_nodes() && manifest_.num_leaves > 0)
      throw_damaged(file_.path(), 0, "a leaf or a node is the child of none");
  }

  const Manifest& manifest_;
  const std::vector<std::uint64_t> starts_;
  BlockFileReader& file_;
  Snapshot& snapshot_;
};

}  // namespace

void write_nodes(const Snapshot& s, BlockFileWriter& file) {
  const std::size_t node_bytes = s.nodes.stride_bytes();
  const std::vector<std::uint64_t> starts = level_starts(describe(s).level_nodes);
  file.write(node_places(node_bytes, starts), [&](std::uint64_t node, std::byte* payload) {
    std::memcpy(payload, s.nodes[node].bytes, node_bytes);
  });
}

void read_nodes(const Manifest& manifest, BlockFileReader& file, Snapshot& snapshot) {
  NodeReader(manifest, file, snapshot).run();
}

}  // namespace culmen::storage
