#include "gpu/build/cut_search.h"

#include "gpu/build/transfer.h"
#include "index/build/sample.h"

namespace culmen::gpu {
namespace {

// The number of cuts on all levels.
std::size_t count_cuts(const std::vector<PartitionLevel>& levels) {
  std::size_t num_parts = 1, num_cuts = 0;
  for (const PartitionLevel& level : levels) {
    num_cuts += num_parts * (level.parts - 1);
    num_parts *= level.parts;
  }
  return num_cuts;
}

}  // namespace

SamplePart::SamplePart(const Snapshot& snapshot, const PartitionPlan& plan, RowRange rows,
                       cudaStream_t stream)
    : snapshot_(snapshot),
      sample_rows_(plan.sample_rows),
      stream_(stream),
      range_{first_from(rows.first), first_from(rows.end)},
      values_((range_.end - range_.first) * snapshot.leaf_shape().zone_vector_bytes()) {}

std::uint32_t SamplePart::first_from(std::uint64_t row) const {
  return static_cast<std::uint32_t>(first_sample_from(row, sample_rows_, snapshot_.num_rows));
}

void SamplePart::add(const TableChunk& chunk) {
  const SampleRange rows = {first_from(chunk.first_row), first_from(chunk.first_row + chunk.num_rows)};
  visit_value_type(snapshot_, [&]<typename T>(T) {
    launch_read_sample<T>(chunk, rows, sample_rows_, snapshot_.num_rows, range_.first, values_.data(),
                          stream_);
  });
}

CutSearch::CutSearch(const Snapshot& snapshot, const PartitionPlan& plan, cudaStream_t stream)
    : snapshot_(snapshot),
      plan_(plan),
      scale_(Partitioner::random(plan.ranges, 1)),
      levels_(partition_levels(plan.kind, plan.splits, snapshot.attributes.size())),
      stream_(stream),
      num_rows_(static_cast<std::uint32_t>(plan.sample_rows)),
      minimum_(send(scale_.minimum(), stream)),
      inverse_(send(scale_.inverse(), stream)),
      cuts_(count_cuts(levels_)),
      own_coordinates_(plan.kind == Partitioning::kd ? cuts_.size() : 0),
      values_(num_rows_ * snapshot.leaf_shape().zone_vector_bytes()),
      partition_(num_rows_),
      ratio_(num_rows_),
      sort_(num_rows_, stream) {
  cuda::check(cudaMemsetAsync(partition_.data(), 0, partition_.size_bytes(), stream));
  if (own_coordinates_.size() > 0)
    cuda::check(cudaMemsetAsync(own_coordinates_.data(), 0, own_coordinates_.size_bytes(), stream));
}

std::size_t CutSearch::row_bytes(const Snapshot& snapshot) {
  return 2 * snapshot.leaf_shape().zone_vector_bytes() + sizeof(std::uint64_t) + sizeof(std::int64_t) +
         RowSort::kRowBytes;
}

SampleRef CutSearch::ref() const {
  return {values_.data(), partition_.data(), ratio_.data(), num_rows_, snapshot_.num_attributes()};
}

void CutSearch::take(const SamplePart& part, int from_device, int device, cudaStream_t stream) {
  if (part.values().size() == 0) return;
  std::byte* to = values_.data() + part.first() * snapshot_.leaf_shape().zone_vector_bytes();
  cuda::check(
      cudaMemcpyPeerAsync(to, device, part.values().data(), from_device, part.values().size(), stream));
}

Partitioner CutSearch::find() {
  for (std::size_t level = 0; level < levels_.size(); ++level)
    visit_value_type(snapshot_, [&]<typename T>(T) { cut<T>(level); });
  return Partitioner::restore(plan_.kind, scale_.minimum(), scale_.maximum(), plan_.splits,
                              fetch(cuts_, stream_), fetch(own_coordinates_, stream_), num_parts_)
      .with_order(plan_.row_order);
}

template <typename T>
void CutSearch::cut(std::size_t number) {
  const PartitionLevel& level = levels_[number];
  const ScaleRef scale = {minimum_.data(), inverse_.data()};
  const bool has_own = level.coordinate == kOwnCoordinate;
  const LevelRef at = {level, static_cast<std::uint32_t>(number), num_parts_, cuts_.data() + level.first_cut,
                       has_own ? own_coordinates_.data() + level.first_cut : nullptr};
  if (has_own && level.parts > 1)
    launch_own_coordinates<T>(
        ref(), scale, sort_.by_key(partition_.data(), nullptr, num_rows_, kPartitionBits), at, stream_);
  launch_ratios<T>(ref(), scale, at, stream_);
  // By part, and within each by ratio: these are the keys and ids of the sort.
  const std::uint32_t* order = sort_.by_key(partition_.data(), ratio_.data(), num_rows_, kPartitionBits);
  launch_cuts(ref(), order, at, stream_);
  launch_refine<T>(ref(), scale, at, stream_);
  num_parts_ *= level.parts;
}

}  // namespace culmen::gpu
