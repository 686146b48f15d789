#include "table/unique_ids.h"

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <functional>

#include "base/ids.h"

namespace culmen::io {
namespace {

HashedIds repeated_values(std::span<const std::int64_t> ids, const std::shared_ptr<ArrayMemory>& memory) {
  Array<std::int64_t> sorted(ids.begin(), ids.end(), memory);
  tbb::parallel_sort(sorted.begin(), sorted.end());
  HashedIds repeated;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i] == sorted[i - 1]) repeated.insert(sorted[i]);
  }
  return repeated;
}

}  // namespace

std::optional<RepeatedId> find_repeated_id(std::span<const std::int64_t> ids,
                                           const std::shared_ptr<ArrayMemory>& memory) {
  const bool rising = std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>()) == ids.end();
  if (rising) return std::nullopt;
  const auto repeated = repeated_values(ids, memory);
  if (repeated.empty()) return std::nullopt;
  IdTable<std::size_t> first_rows;
  for (std::size_t row = 0; row < ids.size(); ++row) {
    if (!repeated.contains(ids[row])) continue;
    const auto [earlier, is_first] = first_rows.try_emplace(ids[row], row);
    if (!is_first) return RepeatedId{earlier->second, row};
  }
  return std::nullopt;
}

}  // namespace culmen::io
