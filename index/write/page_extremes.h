// PageExtremes: the exact minimum and maximum of each attribute over all pages, for Scale::minmax, without stand-ins.
// It is a tree of its own, because bounds of nodes stay loose for a while after erases. Computes nothing before a row
// with an extreme value is erased, and after that only what has changed.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "index/snapshot.h"
#include "index/write/leaf_pages.h"

namespace culmen {

class PageExtremes {
 public:
  // The page has a new leaf, is new, or was removed.
  void note_changed(PageNumber page);

  // Cost: the zone maps of up to 32 leaves for each page that has changed since the last call. There must be rows.
  void update(const Snapshot& snapshot, const LeafPages& pages);

  // As of the last update; the minimum exceeds the maximum if no row has a value.
  double minimum(std::size_t attribute) const { return levels_.back().extremes[2 * attribute]; }
  double maximum(std::size_t attribute) const { return levels_.back().extremes[2 * attribute + 1]; }

 private:
  static constexpr std::size_t kFan = 32;
  // Nodes of kFan pages each, or of as many nodes of the level below; the last level has one.
  struct Level {
    std::vector<double> extremes;  // [node][attribute][2]
    std::vector<std::size_t> stale;
    std::vector<bool> is_stale;

    void note_stale(std::size_t node);
  };
  void resize(std::size_t num_pages);
  void compute_from_pages(const Snapshot& snapshot, const LeafPages& pages, std::size_t node);
  void compute_from_below(std::size_t level, std::size_t node);

  std::size_t num_attributes_ = 0;  // 0: update() was never called
  std::vector<Level> levels_;
};

}  // namespace culmen
