#include "index/write/extremes.h"

#include <limits>
#include <queue>

namespace culmen {
namespace {

struct Entry {
  double bound;  // on sign * value
  std::uint32_t slot;
  std::uint32_t level;  // 0: a leaf

  bool operator<(const Entry& other) const { return bound < other.bound; }
};

double corner_value(const Snapshot& s, std::uint32_t leaf, std::size_t attribute, bool largest) {
  return visit_value_type(s, [&]<typename T>(T) {
    return static_cast<double>(s.corner<T>(leaf, largest ? Corner::maximum : Corner::minimum)[attribute]);
  });
}

}  // namespace

double extreme_value(const Snapshot& s, int attribute, bool largest) {
  const auto i = static_cast<std::size_t>(attribute);
  const double sign = largest ? 1 : -1;
  const int row = largest ? s.layout.maximum_row(attribute) : s.layout.minimum_row(attribute);
  const AttributeStats& stats = s.stats[i];
  const double limit = sign * (largest ? stats.maximum : stats.minimum);
  double best = -std::numeric_limits<double>::infinity();
  std::priority_queue<Entry> open;
  open.push({-best, s.root, static_cast<std::uint32_t>(s.height)});
  while (!open.empty() && open.top().bound > best && best < limit) {
    const Entry top = open.top();
    open.pop();
    if (top.level == 0) {
      best = std::max(best, sign * corner_value(s, top.slot, i, largest));
      continue;
    }
    const NodeRef node = s.node(top.slot);
    for (std::uint32_t c = 0; c < node.header().num_children; ++c) {
      const double in_units = node.bounds()[row][c];
      open.push({sign * s.units[i].value_outwards(in_units, largest), node.children()[c], top.level - 1});
    }
  }
  return sign * best + 0.0;
}

}  // namespace culmen
