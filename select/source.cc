#include "select/source.h"

#include "culmen/error.h"

namespace culmen::select {

Keys64Ids keys_64_of(const KeyColumns& columns) {
  if (!is_64_bit(columns.type)) throw InvalidArgument("keys of 64 bits are wanted");
  if (columns.second_keys != nullptr) throw InvalidArgument("second keys stand beside keys of 32 bits only");
  return {static_cast<const std::uint64_t*>(columns.keys), columns.ids, order_of<std::uint64_t>(columns.type),
          columns.num_rows, columns.stride};
}

AnySource source_of(const KeyColumns& columns) {
  const bool has_second = columns.second_keys != nullptr;
  if (is_64_bit(columns.type)) return keys_64_of(columns);
  if (has_second && is_64_bit(columns.second_type)) throw InvalidArgument("second keys must have 32 bits");
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
