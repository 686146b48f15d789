// NodeReader: reads node frames into a snapshot, and checks them: each by itself, then all together.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "index/snapshot.h"
#include "index/storage/frame_file.h"
#include "index/storage/manifest.h"

namespace culmen::storage {

class NodeReader {
 public:
  // The arguments outlive the reader.
  NodeReader(const Manifest& manifest, FrameFileReader& file, Snapshot& snapshot);

  // Call first: checks the length and the header of the file.
  void start();

  // The two ways to read them, into the snapshot's arena: all at once, or one by one and then the checks of all, which
  // need the leaves as well. Calls of read_one for different nodes may be concurrent.
  void read_all();
  void read_one(std::uint64_t node);
  void will_need(std::uint64_t node) const { file_.will_need(extents_(node)); }
  void check_all() const;

 private:
  [[noreturn]] void fail(std::uint64_t node, const std::string& what) const;
  void take(std::uint64_t node, const std::byte* payload);
  void check_node(std::uint64_t node, NodeRef ref) const;
  void check_child_gaps(std::uint64_t node, const ChildZonesRef& zones) const;
  bool has_possible_children(std::uint64_t node, NodeRef ref) const;
  void check_links() const;
  void check_zones() const;
  template <typename T>
  void check_range(std::uint64_t node, int attribute) const;
  template <typename T>
  std::pair<double, double> range_in_units(std::uint32_t level, std::uint32_t child, int attribute) const;

  const Manifest& manifest_;
  const std::vector<std::uint64_t> starts_;
  const NodeSections sections_;
  const ExtentOf extents_;
  FrameFileReader& file_;
  Snapshot& snapshot_;
};

// The first node of each level, then the number of nodes.
std::vector<std::uint64_t> level_starts(const std::vector<std::uint64_t>& level_nodes);

}  // namespace culmen::storage
