#include "index/write/partition_split.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/for_each.h"

namespace culmen {
namespace {

constexpr std::size_t kSampleRows = 256;
// A cut leaves at least this share of a sample on either side.
constexpr std::size_t kMinPart = kSampleRows / 16;

// The cut that halves sorted values best; none if too many are equal.
std::optional<double> cut_of(std::span<const double> values) {
  const std::size_t min_side = std::max<std::size_t>(1, values.size() * kMinPart / kSampleRows);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  // Values equal to the median are on one side, whichever is more even.
  const auto first = std::lower_bound(values.begin(), middle, *middle);
  const auto after = std::upper_bound(middle, values.end(), *middle);
  const auto smaller_side = [&](auto cut) { return std::min(cut - values.begin(), values.end() - cut); };
  const auto cut = smaller_side(first) >= smaller_side(after) ? first : after;
  if (smaller_side(cut) < static_cast<std::ptrdiff_t>(min_side)) return std::nullopt;
  return *cut;
}

}  // namespace

PartitionSplit::PartitionSplit(const WorkingTree& tree, const LocatedChange& located,
                               std::span<const PageEdit> edits)
    : tree_(tree), located_(located) {
  const EditedPages pages(tree, located);
  for (const PageEdit& edit : edits)
    for (const Run& run : pages.runs(edit))
      for (std::uint32_t r = run.first; r < run.first + run.count; ++r) rows_.push_back({run.slot, r});
}

void PartitionSplit::run(std::size_t max_rows, std::size_t leaf_rows) {
  halve({0, rows_}, max_rows, 0);
  std::vector<std::vector<Repack::Part>> parts(halves_.size());
  for_each(halves_.size(), [&](std::size_t h) { parts[h] = leaves_of(halves_[h], leaf_rows); });
  for (std::vector<Repack::Part>& of_half : parts)
    std::move(of_half.begin(), of_half.end(), std::back_inserter(parts_));
}

// The lower half keeps the partition's number and precedes the upper one.
void PartitionSplit::halve(const Half& part, std::size_t max_rows, int depth) {
  std::optional<LateSplit> cut;
  if (part.rows.size() > max_rows && depth < LateSplits::kMaxNesting) cut = find_cut(part.rows);
  if (!cut) return halves_.push_back(part);
  const auto upper = std::partition(part.rows.begin(), part.rows.end(),
                                    [&](const Row& row) { return value(row, cut->attribute) < cut->cut; });
  const auto num_lower = static_cast<std::size_t>(upper - part.rows.begin());
  cut->partition = part.partition;
  cuts_.push_back(*cut);
  const auto fresh = static_cast<std::uint32_t>(cuts_.size());
  halve({part.partition, part.rows.first(num_lower)}, max_rows, depth + 1);
  halve({fresh, part.rows.subspan(num_lower)}, max_rows, depth + 1);
}

// Chooses the attribute with the widest 10-90 % spread in a sample, as scaled by the partitioner.
std::optional<LateSplit> PartitionSplit::find_cut(std::span<const Row> rows) const {
  const std::vector<double>& scale = tree_.next->partitioner->inverse();
  const std::size_t num_samples = std::min(rows.size(), kSampleRows);
  std::optional<LateSplit> best;
  double widest = 0;
  std::vector<double> sample(num_samples);
  for (std::size_t i = 0; i < scale.size(); ++i) {
    for (std::size_t n = 0; n < num_samples; ++n) sample[n] = value(rows[n * rows.size() / num_samples], i);
    std::ranges::sort(sample);
    const double width = (sample[num_samples * 9 / 10] - sample[num_samples / 10]) * scale[i];
    const std::optional<double> cut = cut_of(sample);
    if (!cut || (best && !(width > widest))) continue;
    widest = width;
    best = LateSplit{0, static_cast<std::uint32_t>(i), *cut};
  }
  return best;
}

std::vector<Repack::Part> PartitionSplit::leaves_of(const Half& part, std::size_t leaf_rows) const {
  struct Keyed {
    OrderKey order;
    std::int64_t id;
    Row row;
  };
  std::vector<Keyed> keyed;
  keyed.reserve(part.rows.size());
  const Partitioner& partitioner = *tree_.next->partitioner;
  for (const Row& row : part.rows)
    keyed.push_back(
        {partitioner.order_of([&](std::size_t i) { return value(row, i); }) & kOrderMask, id(row), row});
  std::ranges::sort(keyed, [](const Keyed& a, const Keyed& b) {
    return a.order != b.order ? a.order < b.order : a.id < b.id;
  });
  std::vector<Repack::Part> parts((keyed.size() + leaf_rows - 1) / leaf_rows);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    parts[p].partition = part.partition;
    for (std::size_t r = keyed.size() * p / parts.size(); r < keyed.size() * (p + 1) / parts.size(); ++r)
      append(parts[p].runs, {keyed[r].row.slot, keyed[r].row.position, 1});
  }
  return parts;
}

double PartitionSplit::value(const Row& row, std::size_t attribute) const {
  const Snapshot& s = *tree_.next;
  if (row.slot == kOfBatch) return located_.rows().number(row.position, attribute);
  const std::uint64_t index =
      std::uint64_t{row.slot} * static_cast<std::uint64_t>(s.leaf_rows) + row.position;
  return s.value(index, static_cast<int>(attribute));
}

std::int64_t PartitionSplit::id(const Row& row) const {
  return row.slot == kOfBatch ? located_.change().ids[row.position]
                              : tree_.next->leaf_ids(row.slot)[row.position];
}

}  // namespace culmen
