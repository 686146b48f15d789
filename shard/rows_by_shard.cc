#include "shard/rows_by_shard.h"

#include "culmen/sharded_index.h"

namespace culmen {
namespace {

// id_of(place): a number or a text.
std::vector<Array<std::uint64_t>> by_shard(std::size_t num_ids, std::uint32_t num_shards, const auto& id_of,
                                           const std::shared_ptr<ArrayMemory>& memory = nullptr) {
  std::vector<Array<std::uint64_t>> places(num_shards, Array<std::uint64_t>(memory));
  for (std::size_t place = 0; place < num_ids; ++place)
    places[shard_of(id_of(place), num_shards)].push_back(place);
  return places;
}

}  // namespace

std::vector<Array<std::uint64_t>> places_by_shard(std::span<const std::int64_t> ids,
                                                  std::uint32_t num_shards) {
  return by_shard(ids.size(), num_shards, [&](std::size_t place) { return ids[place]; });
}

std::vector<Array<std::uint64_t>> places_by_shard(std::span<const std::string_view> texts,
                                                  std::uint32_t num_shards) {
  return by_shard(texts.size(), num_shards, [&](std::size_t place) { return texts[place]; });
}

std::vector<Array<std::uint64_t>> rows_by_shard(const TableView& table, std::span<const std::int64_t> ids,
                                                std::uint32_t num_shards,
                                                const std::shared_ptr<ArrayMemory>& memory) {
  if (table.id_type != IdType::text)
    return by_shard(
        ids.size(), num_shards, [&](std::size_t row) { return ids[row]; }, memory);
  return by_shard(
      table.num_rows, num_shards, [&](std::size_t row) { return table.labels[row]; }, memory);
}

std::uint32_t shard_of_row(const Snapshot& snapshot, std::uint64_t row, std::uint32_t num_shards) {
  if (snapshot.id_type == IdType::text) return shard_of(snapshot.label(row), num_shards);
  return shard_of(snapshot.id(row), num_shards);
}

}  // namespace culmen
