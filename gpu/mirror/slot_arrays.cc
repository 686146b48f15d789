#include "gpu/mirror/slot_arrays.h"

#include <algorithm>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "gpu/cuda/error.h"
#include "gpu/cuda/managed.h"
#include "index/bound_layout.h"

namespace culmen::gpu {
namespace {

// A part of the free memory is left for scratch and for others.
bool fits(std::size_t num_bytes) {
  return num_bytes <= cuda::free_device_bytes() / 10 * 9;
}

std::size_t id_bytes(const LeafShape& shape) {
  return shape.leaf_rows * sizeof(std::int64_t);
}

std::size_t row_bytes(const Snapshot& snapshot, const SlotCounts& slots) {
  const LeafShape& shape = snapshot.arena->shape();
  return slots.leaves * (shape.leaf_bytes() + id_bytes(shape));
}

std::size_t tree_bytes(const Snapshot& snapshot, const SlotCounts& slots) {
  const std::size_t nodes = slots.nodes * snapshot.arena->node_bytes();
  return nodes + nodes / kFanOut +
         slots.leaves * (kZoneVectors * snapshot.arena->shape().zone_vector_bytes() + sizeof(LeafHeader));
}

DeviceMemory choose_memory(const Snapshot& snapshot, const SlotCounts& slots, const FieldBytes& fields,
                           DeviceMemory wanted) {
  const std::size_t tree = tree_bytes(snapshot, slots) + fields.nodes;
  const std::size_t all = tree + row_bytes(snapshot, slots) + fields.leaves;
  const bool is_automatic = wanted == DeviceMemory::automatic;
  const bool takes_host = wanted == DeviceMemory::host || is_automatic;
  const bool takes_packed = wanted == DeviceMemory::compressed || is_automatic;
  const bool takes_all = wanted != DeviceMemory::host && wanted != DeviceMemory::compressed;
  if (takes_all && fits(all)) return is_automatic ? DeviceMemory::device : wanted;
  std::size_t least = takes_host || takes_packed ? tree : all;
  if (takes_packed && fits(tree)) {
    const std::size_t packed = tree + fields.leaves + PackedRows::expected_bytes(snapshot, slots.leaves);
    if (fits(packed)) return DeviceMemory::compressed;
    if (!takes_host) least = packed;
  }
  if (takes_host && fits(tree)) return DeviceMemory::host;
  throw OutOfDeviceMemory(
      "this index needs " + std::to_string(least) + " bytes of device memory; " +
      std::to_string(cuda::free_device_bytes()) + " are free, of which a tenth has to stay so: " +
      (takes_packed || takes_host ? "" : "keep its rows there in fewer bytes (DeviceMemory::compressed), ") +
      (takes_host ? "" : "keep them in host memory (DeviceMemory::host) or ") + "search on the CPU");
}

cuda::Memory kind_of(DeviceMemory memory) {
  if (memory == DeviceMemory::managed) return cuda::Memory::managed;
  return memory == DeviceMemory::host ? cuda::Memory::pinned : cuda::Memory::device;
}

// `size` items of a memory that could hold `capacity`; what cannot grow gets one in part_on_top more (0: none).
cuda::GrowingBuffer make_buffer(std::size_t size, std::size_t capacity, std::size_t each, cuda::Memory memory,
                                std::size_t part_on_top) {
  const std::size_t on_top =
      cuda::GrowingBuffer::can_grow(memory) || part_on_top == 0 ? 0 : size / part_on_top;
  return {(size + on_top) * each, capacity * each, memory};
}

std::size_t half_leaf_bytes(const LeafShape& shape) {
  return shape.leaf_rows * half_stride(shape.num_attributes) * sizeof(Half);
}

std::size_t code_leaf_bytes(const LeafShape& shape) {
  return std::size_t{code_stride(shape.leaf_rows)} * num_code_words_of_row(shape.num_attributes) *
         sizeof(std::uint32_t);
}

}  // namespace

SlotArrays::SlotArrays(const Snapshot& snapshot, const SlotCounts& slots, const FieldBytes& fields,
                       DeviceMemory wanted, std::size_t part_on_top)
    : memory_(choose_memory(snapshot, slots, fields, wanted)),
      shape_(snapshot.arena->shape()),
      node_bytes_(snapshot.arena->node_bytes()) {
  const SlotArena& arena = *snapshot.arena;
  const auto for_leaves = [&](std::size_t each, cuda::Memory memory) {
    return make_buffer(slots.leaves, arena.leaf_capacity(), each, memory, part_on_top);
  };
  leaves_ = for_leaves(sizeof(LeafHeader), cuda::Memory::device);
  zone_maps_ = for_leaves(kZoneVectors * shape_.zone_vector_bytes(), cuda::Memory::device);
  nodes_ = make_buffer(slots.nodes, arena.node_capacity(), node_bytes_, cuda::Memory::device, part_on_top);
  std::size_t of_packed = 0;
  if (memory_ == DeviceMemory::compressed) {
    of_packed = PackedRows::expected_bytes(snapshot, slots.leaves);
    packed_ =
        std::make_unique<PackedRows>(for_leaves(sizeof(const std::byte*), cuda::Memory::device), of_packed);
  } else {
    values_ = for_leaves(shape_.leaf_bytes(), kind_of(memory_));
    ids_ = for_leaves(id_bytes(shape_), kind_of(memory_));
  }
  if (memory_ == DeviceMemory::managed) {
    cuda::keep_on_device(values_.data(), values_.size());
    cuda::keep_on_device(ids_.data(), ids_.size());
    cuda::check(cudaDeviceSynchronize());  // before uses on other streams
  }
  // Packed rows and fields, which are allocated later, come before what is derived.
  const std::size_t of_others = of_packed + fields.nodes + (rows_on_host() ? 0 : fields.leaves);
  if (shape_.num_attributes >= kMinHalfAttributes) {
    make_half_rows(snapshot, slots, of_others, part_on_top);
  } else {
    make_codes(snapshot, slots, of_others, part_on_top);
  }
}

void SlotArrays::make_half_rows(const Snapshot& snapshot, const SlotCounts& slots, std::size_t of_others,
                                std::size_t part_on_top) {
  if (!fits(slots.leaves * (half_leaf_bytes(shape_) + sizeof(HalfLeaf)) + of_others)) return;
  const auto for_leaves = [&](std::size_t each) {
    return make_buffer(slots.leaves, snapshot.arena->leaf_capacity(), each, cuda::Memory::device,
                       part_on_top);
  };
  half_numbers_ = for_leaves(half_leaf_bytes(shape_));
  half_leaves_ = for_leaves(sizeof(HalfLeaf));
  std::vector<HalfUnit> units;
  for (const BoundUnit& unit : snapshot.units) {
    units.push_back({unit.origin, unit.inverse});
    half_.largest_unit = std::max(half_.largest_unit, unit.unit);
  }
  half_units_ = cuda::Buffer<HalfUnit>(units.size());
  cuda::check(
      cudaMemcpy(half_units_.data(), units.data(), units.size() * sizeof(HalfUnit), cudaMemcpyHostToDevice));
  half_.units = half_units_.data();
  half_.rows = reinterpret_cast<Half*>(half_numbers_.data());
  half_.leaves = reinterpret_cast<HalfLeaf*>(half_leaves_.data());
  half_.stride = half_stride(shape_.num_attributes);
}

void SlotArrays::make_codes(const Snapshot& snapshot, const SlotCounts& slots, std::size_t of_others,
                            std::size_t part_on_top) {
  const std::size_t each = code_leaf_bytes(shape_);
  if (!fits(slots.leaves * each + of_others)) return;
  code_bytes_ =
      make_buffer(slots.leaves, snapshot.arena->leaf_capacity(), each, cuda::Memory::device, part_on_top);
  codes_ = {reinterpret_cast<std::uint32_t*>(code_bytes_.data()),
            num_code_words_of_row(shape_.num_attributes), code_stride(shape_.leaf_rows)};
}

void SlotArrays::write_derived(const Snapshot& snapshot, const std::uint32_t* slots, std::uint32_t num_leaves,
                               cudaStream_t stream) const {
  if (!has_derived()) return;
  visit_rows(snapshot, rows(), [&]<typename T>(T) {
    const auto* leaves = reinterpret_cast<const LeafHeader*>(leaves_.data());
    if (half_.rows != nullptr) {
      launch_write_half_rows<T>(slots, num_leaves, rows(), leaves, half_, stream);
    } else {
      launch_write_codes<T>(slots, num_leaves, rows(), reinterpret_cast<const ValueOf<T>*>(zone_maps_.data()),
                            leaves, codes_, stream);
    }
  });
}

bool SlotArrays::grow(const SlotCounts& slots) {
  const std::size_t num_leaves = slots.leaves;
  if (half_.rows != nullptr && !(half_numbers_.grow(num_leaves * half_leaf_bytes(shape_)) &&
                                 half_leaves_.grow(num_leaves * sizeof(HalfLeaf))))
    return false;
  if (codes_.words != nullptr && !code_bytes_.grow(num_leaves * code_leaf_bytes(shape_))) return false;
  if (packed_ != nullptr && !packed_->grow(num_leaves)) return false;
  return leaves_.grow(num_leaves * sizeof(LeafHeader)) &&
         zone_maps_.grow(num_leaves * kZoneVectors * shape_.zone_vector_bytes()) &&
         nodes_.grow(slots.nodes * node_bytes_) &&
         (packed_ != nullptr ||
          (values_.grow(num_leaves * shape_.leaf_bytes()) && ids_.grow(num_leaves * id_bytes(shape_))));
}

std::size_t SlotArrays::device_bytes() const {
  return leaves_.size() + zone_maps_.size() + nodes_.size() + half_numbers_.size() + half_leaves_.size() +
         code_bytes_.size() + (packed_ != nullptr ? packed_->device_bytes() : 0) +
         (rows_on_host() ? 0 : values_.size() + ids_.size());
}

SlotBytes SlotArrays::sizes() const {
  const bool in_slots = !rows_on_host() && packed_ == nullptr;
  return {in_slots ? static_cast<std::uint32_t>(shape_.leaf_bytes()) : 0,
          in_slots ? static_cast<std::uint32_t>(id_bytes(shape_)) : 0,
          static_cast<std::uint32_t>(kZoneVectors * shape_.zone_vector_bytes()),
          static_cast<std::uint32_t>(node_bytes_)};
}

SlotRows SlotArrays::rows() const {
  return {values_.data(), reinterpret_cast<const std::int64_t*>(ids_.data()),
          packed_ != nullptr ? packed_->leaves() : nullptr, static_cast<std::int32_t>(shape_.leaf_rows),
          static_cast<std::int32_t>(shape_.num_attributes)};
}

SlotArraysRef SlotArrays::ref() const {
  return {values_.data(), ids_.data(), leaves_.data(), zone_maps_.data(), nodes_.data()};
}

}  // namespace culmen::gpu
