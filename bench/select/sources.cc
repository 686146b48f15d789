#include "bench/select/sources.h"

#include "culmen/error.h"

namespace culmen::select {

AnySource source_of(const KeyColumns& columns) {
  const bool has_second = columns.second_keys != nullptr;
  if (has_second && (is_64_bit(columns.type) || is_64_bit(columns.second_type)))
    throw InvalidArgument("keys and second keys must have 32 bits each");
  if (is_64_bit(columns.type))
    return Keys64Ids{static_cast<const std::uint64_t*>(columns.keys), columns.ids,
                     order_of<std::uint64_t>(columns.type), columns.num_rows, columns.stride};
  constexpr std::uintptr_t kAligned = 16;
  const auto* keys = static_cast<const std::uint32_t*>(columns.keys);
  const auto order = order_of<std::uint32_t>(columns.type);
  const bool is_plain = reinterpret_cast<std::uintptr_t>(keys) % kAligned == 0 && columns.stride == 1;
  if (!has_second && columns.ids == nullptr && is_plain) return Keys32{keys, order, columns.num_rows};
  return Keys32Ids{keys,          static_cast<const std::uint32_t*>(columns.second_keys), columns.ids,
                   order,         order_of<std::uint32_t>(columns.second_type),           columns.num_rows,
                   columns.stride};
}

Scores source_of(const ScoredColumns& columns) {
  return {columns, order_of<std::uint64_t>(KeyType::float64)};
}

void require_rows(std::uint32_t num_rows, std::uint32_t k) {
  if (k == 0 || num_rows == 0) throw InvalidArgument("a selection needs rows, and k of at least 1");
}

}  // namespace culmen::select
