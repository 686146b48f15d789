#include "index/write/page_extremes.h"

#include <algorithm>
#include <limits>

#include "base/for_each.h"

namespace culmen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void PageExtremes::Level::note_stale(std::size_t node) {
  if (node >= is_stale.size()) is_stale.resize(node + 1);
  if (is_stale[node]) return;
  is_stale[node] = true;
  stale.push_back(node);
}

void PageExtremes::note_changed(PageNumber page) {
  if (num_attributes_ > 0) levels_.front().note_stale(page / kFan);
}

// New nodes are stale; at first, all are.
void PageExtremes::resize(std::size_t num_pages) {
  std::size_t width = num_pages;
  for (std::size_t l = 0; l == 0 || width > 1; ++l) {
    width = (width + kFan - 1) / kFan;
    if (l == levels_.size()) levels_.emplace_back();
    Level& level = levels_[l];
    const std::size_t old_width = level.extremes.size() / (2 * num_attributes_);
    level.extremes.resize(2 * num_attributes_ * width);
    for (std::size_t node = old_width; node < width; ++node) level.note_stale(node);
  }
}

void PageExtremes::update(const Snapshot& snapshot, const LeafPages& pages) {
  num_attributes_ = snapshot.attributes.size();
  resize(pages.size());
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    const std::vector<std::size_t> stale = std::exchange(levels_[l].stale, {});
    for_each(stale.size(), [&](std::size_t n) {
      l == 0 ? compute_from_pages(snapshot, pages, stale[n]) : compute_from_below(l, stale[n]);
    });
    for (const std::size_t node : stale) {
      levels_[l].is_stale[node] = false;
      if (l + 1 < levels_.size()) levels_[l + 1].note_stale(node / kFan);
    }
  }
}

void PageExtremes::compute_from_pages(const Snapshot& s, const LeafPages& pages, std::size_t node) {
  double* extremes = levels_.front().extremes.data() + 2 * num_attributes_ * node;
  for (std::size_t i = 0; i < num_attributes_; ++i) {
    extremes[2 * i] = kInfinity;
    extremes[2 * i + 1] = -kInfinity;
  }
  const std::size_t end = std::min(pages.size(), (node + 1) * kFan);
  visit_value_type(s, [&]<typename T>(T) {
    for (std::size_t p = node * kFan; p < end; ++p) {
      const LeafPage& page = pages[static_cast<PageNumber>(p)];
      if (page.parent == kNoPage) continue;  // a free number
      const T* lowest = s.zone_vector<T>(page.slot, Extreme::minimum);
      const T* highest = s.zone_vector<T>(page.slot, Extreme::maximum);
      const auto cover = [&](std::size_t i, double minimum, double maximum) {
        extremes[2 * i] = std::min(extremes[2 * i], minimum);
        extremes[2 * i + 1] = std::max(extremes[2 * i + 1], maximum);
      };
      const std::span<const AttributeGaps> gaps = s.leaf_fields(page.slot).gaps();
      std::size_t next_gap = 0;  // zone maps cover stand-ins
      for (std::size_t i = 0; i < num_attributes_; ++i) {
        if (next_gap == gaps.size() || gaps[next_gap].attribute != i) {
          cover(i, lowest[i], highest[i]);
          continue;
        }
        const AttributeGaps& gap = gaps[next_gap++];
        if (gap.num_missing < s.leaf(page.slot).num_rows) cover(i, gap.minimum, gap.maximum);
      }
    }
  });
}

void PageExtremes::compute_from_below(std::size_t level, std::size_t node) {
  const std::size_t width = 2 * num_attributes_;
  const std::vector<double>& below = levels_[level - 1].extremes;
  double* extremes = levels_[level].extremes.data() + width * node;
  std::copy_n(below.data() + width * node * kFan, width, extremes);
  const std::size_t end = std::min(below.size() / width, (node + 1) * kFan);
  for (std::size_t child = node * kFan + 1; child < end; ++child)
    for (std::size_t i = 0; i < width; i += 2) {
      extremes[i] = std::min(extremes[i], below[width * child + i]);
      extremes[i + 1] = std::max(extremes[i + 1], below[width * child + i + 1]);
    }
}

}  // namespace culmen
