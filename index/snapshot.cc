#include "index/snapshot.h"

namespace culmen {

double Snapshot::value(std::uint64_t row, int attribute) const {
  const auto slots = static_cast<std::uint64_t>(block_rows);
  const std::size_t position = static_cast<std::size_t>(attribute) * slots + row % slots;
  return visit_value_type(
      *this, [&]<typename T>(T) { return static_cast<double>(leaf_values<T>(row / slots)[position]); });
}

std::string_view Snapshot::label(std::uint64_t row) const {
  if (!has_labels) return {};
  const auto slots = static_cast<std::uint64_t>(block_rows);
  const char* first = labels.bytes.data() + labels.leaf_start[row / slots];
  const std::uint32_t start = row % slots == 0 ? 0 : labels.row_end[row - 1];
  return {first + start, labels.row_end[row] - start};
}

double SearchResult::attribute(std::size_t rank, int attribute) const {
  const Preference preference = snapshot->attributes.at(static_cast<std::size_t>(attribute)).preference;
  return oriented(snapshot->value(hits.at(rank).row, attribute), preference);
}

std::string_view SearchResult::label(std::size_t rank) const {
  return snapshot->label(hits.at(rank).row);
}

}  // namespace culmen
