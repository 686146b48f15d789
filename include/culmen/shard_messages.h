// Queries and answers on their way between the process that asks and those that hold the shards of a table.
//
// A shard's answer is a set of ids and scores under a total order. So answers may be merged in any order and any
// grouping, and an answer that arrives twice changes nothing. Only a missing one does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "culmen/query.h"
#include "culmen/search.h"

namespace culmen {

// A hit, and the shard that it is from.
struct ShardHit : Hit {
  std::uint32_t shard = 0;
  std::string text = {};  // of IdType::text, its id: the numbers of two shards do not compare

  friend bool operator==(const ShardHit&, const ShardHit&) = default;
};

// What a shard answers to one query.
struct ShardAnswer {
  std::uint32_t shard = 0;
  std::uint64_t version = 0;            // of the shard's index
  std::vector<Hit> hits;                // best first
  std::vector<std::string> texts = {};  // of IdType::text: the ids of the hits; of others empty
};

// The answer's order: the higher score, then the smaller id; of texts by bytes.
[[nodiscard]] bool comes_before(const ShardHit& a, const ShardHit& b);

// The k best hits of all answers, best first; without k all of them. A hit that several answers have is there once.
[[nodiscard]] std::vector<ShardHit> merge(std::span<const ShardAnswer> answers, std::optional<std::size_t> k);

// Merges more answers into some that are merged.
void add_to(std::vector<ShardHit>& merged, std::span<const ShardAnswer> answers,
            std::optional<std::size_t> k);

// The k-th best score, for queries to other shards: as their min_score it excludes no row of the answer, because rows
// that score as much stay in. nullopt if there are fewer than k hits, or no k.
[[nodiscard]] std::optional<double> floor_of(std::span<const ShardHit> merged, std::optional<std::size_t> k);

// The query with min_score raised to the floor, if there is one.
[[nodiscard]] Query with_floor(Query query, std::optional<double> floor);

// Compact forms for other processes, of many queries, of a filter alone, and of answers. Equal filters in a row take room
// once. Decoders throw FormatError for bytes that are nothing of the kind, or of another version of the form. They check
// no weights and no filter: searches do.
[[nodiscard]] std::vector<std::byte> encode(std::span<const Query> queries);
[[nodiscard]] std::vector<Query> decode_queries(std::span<const std::byte> bytes);
[[nodiscard]] std::vector<std::byte> encode(const Filter& filter);
[[nodiscard]] Filter decode_filter(std::span<const std::byte> bytes);
[[nodiscard]] std::vector<std::byte> encode(std::span<const ShardAnswer> answers);
[[nodiscard]] std::vector<ShardAnswer> decode_answers(std::span<const std::byte> bytes);

}  // namespace culmen
