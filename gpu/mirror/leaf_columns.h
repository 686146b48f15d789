// Where kernels find the values and ids of rows: SlotRows has those of all leaves, LeafColumns those of one, for rows read one by one.
//
// Kernels are compiled for the types of rows: float and double, as values lie in slots, and Packed<float> and Packed<double>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/host_device.h"
#include "base/read_only.h"
#include "gpu/mirror/packed_leaf.h"

namespace culmen::gpu {

// Rows of PackedLeafs.
template <typename Value>
struct Packed {};

template <typename T>
struct RowType {
  using Value = T;
};
template <typename V>
struct RowType<Packed<V>> {
  using Value = V;
};
// Of rows of type T.
template <typename T>
using ValueOf = typename RowType<T>::Value;
template <typename T>
inline constexpr bool kIsPacked = !std::is_same_v<T, ValueOf<T>>;

template <typename T>
struct LeafColumns {
  const T* values;  // [num_attributes][stride]
  const std::int64_t* ids;
  std::uint32_t stride;

  CULMEN_HOST_DEVICE T value(std::uint32_t attribute, std::uint32_t row) const {
    return read_only(values + attribute * stride + row);
  }
  CULMEN_HOST_DEVICE std::int64_t id(std::uint32_t row) const { return read_only(ids + row); }
};

template <typename V>
struct LeafColumns<Packed<V>> {
  PackedLeaf leaf;

  CULMEN_HOST_DEVICE V value(std::uint32_t attribute, std::uint32_t row) const {
    return leaf.value<V>(attribute, row);
  }
  CULMEN_HOST_DEVICE std::int64_t id(std::uint32_t row) const { return leaf.id(row); }
};

// As in index/slot_arena.h, by slot.
struct SlotRows {
  // Null if rows are packed.
  const std::byte* values;  // [][num_attributes][leaf_rows]
  const std::int64_t* ids;  // [][leaf_rows]
  // [] PackedLeaf; null if they are not.
  const std::byte* const* packed;
  std::int32_t leaf_rows;
  std::int32_t num_attributes;

  CULMEN_HOST_DEVICE std::uint64_t first_row(std::uint32_t leaf) const {
    return static_cast<std::uint64_t>(leaf) * static_cast<std::uint64_t>(leaf_rows);
  }
  template <typename T>
  CULMEN_HOST_DEVICE LeafColumns<T> columns(std::uint32_t leaf) const {
    if constexpr (kIsPacked<T>) {
      return {{packed[leaf]}};
    } else {
      const std::size_t first =
          static_cast<std::size_t>(leaf) * static_cast<std::size_t>(num_attributes * leaf_rows);
      return {reinterpret_cast<const T*>(values) + first, ids + first_row(leaf),
              static_cast<std::uint32_t>(leaf_rows)};
    }
  }
  // By the number of a row: first_row of its leaf, and its place there.
  template <typename T>
  CULMEN_HOST_DEVICE std::int64_t id(std::uint64_t row) const {
    if constexpr (kIsPacked<T>) {
      const auto rows = static_cast<std::uint64_t>(leaf_rows);
      return PackedLeaf{packed[row / rows]}.id(static_cast<std::uint32_t>(row % rows));
    } else {
      return read_only(ids + row);
    }
  }
};

}  // namespace culmen::gpu
