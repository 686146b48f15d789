#include "gpu/mirror/mirror_version.h"

#include "index/thresholds.h"

#include <algorithm>
#include <cstring>

namespace culmen::gpu {
namespace {

constexpr std::size_t kAlignment = 256;

constexpr std::size_t aligned(std::size_t num_bytes) {
  return (num_bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::vector<AttributeBounds> attribute_bounds(const Snapshot& snapshot) {
  std::vector<AttributeBounds> bounds;
  for (int i = 0; i < snapshot.num_attributes(); ++i) {
    const BoundUnit& unit = snapshot.units[static_cast<std::size_t>(i)];
    bounds.push_back(
        {unit.origin, unit.unit, snapshot.layout.maximum_row(i), snapshot.layout.minimum_row(i)});
  }
  return bounds;
}

}  // namespace

cuda::Buffer<std::byte> BufferPool::take(std::size_t num_bytes) {
  {
    const std::lock_guard lock(mutex_);
    const auto fitting = std::find_if(idle_.begin(), idle_.end(), [num_bytes](const auto& buffer) {
      return buffer.size() >= num_bytes && buffer.size() / 2 <= num_bytes;
    });
    if (fitting != idle_.end()) {
      std::swap(*fitting, idle_.back());
      cuda::Buffer<std::byte> buffer = std::move(idle_.back());
      idle_.pop_back();
      return buffer;
    }
  }
  return cuda::Buffer<std::byte>(num_bytes + num_bytes / 8);  // the next version may be a little larger
}

void BufferPool::give_back(cuda::Buffer<std::byte> buffer) noexcept {
  if (buffer.size() == 0) return;
  const std::lock_guard lock(mutex_);
  if (idle_.size() == kMaxIdle) idle_.erase(idle_.begin());  // the least recently used
  idle_.push_back(std::move(buffer));
}

MirrorVersion::MirrorVersion(const Snapshot& snapshot, std::shared_ptr<const SlotArrays> arrays,
                             std::shared_ptr<const FieldSlots> fields, std::shared_ptr<const ShardMap> map,
                             std::uint32_t num_slots, std::shared_ptr<BufferPool> pool)
    : arrays_(std::move(arrays)),
      fields_(std::move(fields)),
      map_(std::move(map)),
      pool_(std::move(pool)),
      offsets_(offsets_of(snapshot, num_slots)),
      memory_(pool_, offsets_.end) {
  if (arrays_ == nullptr) return;
  const SlotArraysRef slots = arrays_->ref();
  static_cast<SlotRows&>(ref_) = arrays_->rows();
  ref_.leaves = reinterpret_cast<const LeafHeader*>(slots.leaves);
  ref_.zone_map = slots.zone_map;
  ref_.nodes = slots.nodes;
  if (fields_ != nullptr) {
    ref_.leaf_fields = fields_->leaf_fields();
    ref_.child_zones = fields_->child_zones();
    ref_.child_zones_bytes = fields_->node_bytes();
  }
  ref_.attributes = at<AttributeBounds>(offsets_.attributes);
  ref_.slot_bounds = at<Half>(offsets_.bounds);
  ref_.slot_nodes = at<std::uint32_t>(offsets_.nodes);
  ref_.slot_min_ids = at<std::int64_t>(offsets_.min_ids);
  ref_.half = arrays_->half();
  ref_.codes = arrays_->codes();
  ref_.node_stride = snapshot.arena->node_bytes();
  ref_.num_slots = num_slots;
  ref_.root = map_ == nullptr ? snapshot.root : map_->nodes().on_device(snapshot.root);
  ref_.height = snapshot.height;
}

MirrorVersion::Offsets MirrorVersion::offsets_of(const Snapshot& snapshot, std::uint32_t num_slots) {
  const std::size_t n = num_slots;
  Offsets offsets = {};
  offsets.attributes = aligned(plan_basis_bytes(snapshot.attributes.size()));
  offsets.nodes = aligned(offsets.attributes + snapshot.attributes.size() * sizeof(AttributeBounds));
  offsets.min_ids = aligned(offsets.nodes + n * sizeof(std::uint32_t));
  offsets.bounds = aligned(offsets.min_ids + n * sizeof(std::int64_t));
  offsets.end = offsets.bounds + static_cast<std::size_t>(snapshot.layout.num_rows()) * n * sizeof(Half);
  return offsets;
}

std::vector<std::byte> MirrorVersion::constants(const Snapshot& snapshot) {
  const Offsets offsets = offsets_of(snapshot, 0);
  const std::vector<std::byte> basis = make_plan_basis(snapshot);
  const std::vector<AttributeBounds> attributes = attribute_bounds(snapshot);
  std::vector<std::byte> bytes(offsets.nodes);
  std::memcpy(bytes.data(), basis.data(), basis.size());
  std::memcpy(bytes.data() + offsets.attributes, attributes.data(),
              attributes.size() * sizeof(AttributeBounds));
  return bytes;
}

BoundsSlotsRef MirrorVersion::bounds_slots(const BoundLayout& layout) const {
  return {at<Half>(offsets_.bounds),
          at<std::uint32_t>(offsets_.nodes),
          at<std::int64_t>(offsets_.min_ids),
          ref_.num_slots,
          static_cast<std::uint32_t>(layout.num_rows()),
          static_cast<std::uint32_t>(layout.first_minimum_row())};
}

MirrorVersion::PartOrder MirrorVersion::part_order(const Snapshot& snapshot) const {
  PartOrder part;
  const TreeOrder& order = snapshot.order();
  for (const PartitionRange& range : order.partitions) {
    const auto first = static_cast<std::uint32_t>(part.leaves.size());
    for (std::uint32_t position = range.first_leaf; position < range.first_leaf + range.num_leaves;
         ++position) {
      if (!map_->leaves().has(order.leaves[position]))
        break;  // a part has all leaves of a partition, or none
      part.leaves.push_back(map_->leaves().on_device(order.leaves[position]));
      part.positions.push_back(position);
    }
    if (part.leaves.size() > first) part.partitions.push_back({first, range.num_leaves});
  }
  return part;
}

MirrorRef MirrorVersion::ref_with_order(const Snapshot& snapshot, cudaStream_t stream) const {
  std::call_once(order_once_, [&] {
    const PartOrder part = map_ == nullptr ? PartOrder() : part_order(snapshot);
    const std::span<const std::uint32_t> leaves = map_ == nullptr ? snapshot.order().leaves : part.leaves;
    const std::span<const PartitionRange> partitions =
        map_ == nullptr ? snapshot.order().partitions : part.partitions;
    const std::size_t leaf_bytes = aligned(leaves.size_bytes());
    PooledBuffer memory(pool_, leaf_bytes + partitions.size_bytes());
    cuda::check(
        cudaMemcpyAsync(memory.data(), leaves.data(), leaves.size_bytes(), cudaMemcpyHostToDevice, stream));
    cuda::check(cudaMemcpyAsync(memory.data() + leaf_bytes, partitions.data(), partitions.size_bytes(),
                                cudaMemcpyHostToDevice, stream));
    cuda::check(cudaStreamSynchronize(stream));
    order_ = std::move(memory);
    num_ordered_ = static_cast<std::uint32_t>(leaves.size());
    num_partitions_ = static_cast<std::uint32_t>(partitions.size());
  });
  MirrorRef ref = ref_;
  ref.leaf_order = reinterpret_cast<const std::uint32_t*>(order_.data());
  ref.partitions =
      reinterpret_cast<const PartitionRange*>(order_.data() + aligned(num_ordered_ * sizeof(std::uint32_t)));
  ref.num_leaves = num_ordered_;
  ref.num_partitions = num_partitions_;
  return ref;
}

void MirrorVersion::keep_order(const Snapshot& snapshot, cudaStream_t stream) {
  ref_ = ref_with_order(snapshot, stream);
}

// The thresholds of a leaf are of later leaves of its partition, all of which are in its part.
MirrorRef MirrorVersion::ref_with_thresholds(const Snapshot& snapshot, cudaStream_t stream) const {
  const Thresholds& all = snapshot.thresholds();
  std::call_once(thresholds_once_, [&] {
    std::vector<std::int64_t> own_ids;
    std::vector<std::byte> own_values;
    if (map_ != nullptr) {
      const std::size_t each = all.min_ids().empty() ? 0 : all.values().size() / all.min_ids().size();
      for (const std::uint32_t position : part_order(snapshot).positions) {
        own_ids.push_back(all.min_id(position));
        const std::span<const std::byte> values = all.values().subspan(position * each, each);
        own_values.insert(own_values.end(), values.begin(), values.end());
      }
    }
    const std::span<const std::int64_t> min_ids = map_ == nullptr ? all.min_ids() : own_ids;
    const std::span<const std::byte> values = map_ == nullptr ? all.values() : own_values;
    PooledBuffer memory(pool_, min_ids.size_bytes() + values.size());
    cuda::check(
        cudaMemcpyAsync(memory.data(), min_ids.data(), min_ids.size_bytes(), cudaMemcpyHostToDevice, stream));
    cuda::check(cudaMemcpyAsync(memory.data() + min_ids.size_bytes(), values.data(), values.size(),
                                cudaMemcpyHostToDevice, stream));
    cuda::check(cudaStreamSynchronize(stream));
    thresholds_ = std::move(memory);
  });
  MirrorRef ref = ref_with_order(snapshot, stream);
  ref.threshold_min_ids = reinterpret_cast<const std::int64_t*>(thresholds_.data());
  ref.thresholds = thresholds_.data() + ref.num_leaves * sizeof(std::int64_t);
  return ref;
}

std::span<const RankSteps> MirrorVersion::rank_curves(const Snapshot& snapshot, cudaStream_t stream) const {
  std::call_once(curves_once_, [&] {
    std::vector<RankSteps> curves;
    std::vector<double> numbers;
    std::vector<std::size_t> starts;
    for (const std::vector<double>& quantiles : snapshot.known_quantiles()) {
      const RankCurve curve(quantiles);
      const RankSteps& of = curves.emplace_back(curve.numbers());
      starts.push_back(numbers.size());
      numbers.insert(numbers.end(), of.values, of.values + of.num_values());
      numbers.insert(numbers.end(), of.steps, of.steps + of.size);
    }
    PooledBuffer memory(pool_, numbers.size() * sizeof(double));
    cuda::check(cudaMemcpyAsync(memory.data(), numbers.data(), numbers.size() * sizeof(double),
                                cudaMemcpyHostToDevice, stream));
    cuda::check(cudaStreamSynchronize(stream));
    for (std::size_t i = 0; i < curves.size(); ++i) {
      curves[i].values = reinterpret_cast<const double*>(memory.data()) + starts[i];
      curves[i].steps = curves[i].values + curves[i].num_values();
    }
    curve_numbers_ = std::move(memory);
    curves_ = std::move(curves);
  });
  return curves_;
}

}  // namespace culmen::gpu
