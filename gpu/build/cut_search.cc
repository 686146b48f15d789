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
      values_(num_rows_ * snapshot.leaf_shape().zone_vector_bytes()),
      partition_(num_rows_),
      ratio_(num_rows_),
      sort_(num_rows_, stream) {
  cuda::check(cudaMemsetAsync(partition_.data(), 0, partition_.size_bytes(), stream));
}

std::size_t CutSearch::row_bytes(const Snapshot& snapshot) {
  return snapshot.leaf_shape().zone_vector_bytes() + sizeof(std::uint64_t) + sizeof(std::int64_t) +
         RowSort::kRowBytes;
}

SampleRef CutSearch::ref() const {
  return {values_.data(), partition_.data(), ratio_.data(), num_rows_, snapshot_.num_attributes()};
}

void CutSearch::add(const TableChunk& chunk) {
  const auto first_from = [this](std::uint64_t row) {
    return static_cast<std::uint32_t>(first_sample_from(row, num_rows_, snapshot_.num_rows));
  };
  visit_value_type(snapshot_, [&]<typename T>(T) {
    launch_read_sample<T>(chunk, snapshot_.num_rows, first_from(chunk.first_row),
                          first_from(chunk.first_row + chunk.num_rows), ref(), stream_);
  });
}

Partitioner CutSearch::find() {
  for (std::size_t level = 0; level < levels_.size(); ++level)
    visit_value_type(snapshot_, [&]<typename T>(T) { cut<T>(level); });
  return Partitioner::restore(Partitioning::angle, scale_.minimum(), scale_.maximum(), plan_.splits,
                              fetch(cuts_, stream_), {}, num_parts_);
}

template <typename T>
void CutSearch::cut(std::size_t number) {
  const PartitionLevel& level = levels_[number];
  const ScaleRef scale = {minimum_.data(), inverse_.data()};
  double* cuts = cuts_.data() + level.first_cut;
  launch_ratios<T>(ref(), scale, level, stream_);
  // By part, and within each by ratio: these are the keys and ids of the sort.
  const std::uint32_t* order = sort_.by_key(partition_.data(), ratio_.data(), num_rows_);
  launch_cuts(ref(), order, level, static_cast<std::uint32_t>(number), num_parts_, cuts, stream_);
  launch_refine<T>(ref(), scale, level, cuts, stream_);
  num_parts_ *= level.parts;
}

}  // namespace culmen::gpu
