// AnyIndex: what is in a directory, one index or a sharded one. Commands call it as they would call Index.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "coding/named_ids.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "culmen/sharded_index.h"
#include "culmen/update.h"

namespace culmen {

// By what names the row: its number or its text.
template <typename T>
std::optional<RowRank> rank_of_row(const T& index, IdType type, const Query& query, const Row& row,
                                   const SearchOptions& options) {
  if (type != IdType::text) return index.rank_of(query, row.id, options);
  return index.rank_of(query, std::string_view(row.label), options);
}

class AnyIndex {
 public:
  explicit AnyIndex(Index index) : index_(std::move(index)) {}
  explicit AnyIndex(ShardedIndex index) : index_(std::move(index)) {}

  static AnyIndex open(const std::string& directory, const OpenOptions& options = {}) {
    if (ShardedIndex::is_at(directory)) return AnyIndex(ShardedIndex::open(directory, options));
    return AnyIndex(Index::open(directory, options));
  }

  // To read, or change, little of it.
  static AnyIndex open_on_touch(const std::string& directory, OpenOptions options = {}) {
    options.loading = Loading::on_touch;
    return open(directory, options);
  }

  // Null if it is not sharded.
  const ShardedIndex* sharded() const { return std::get_if<ShardedIndex>(&index_); }
  // The index; for `what`, which a sharded one cannot do, throws InvalidArgument.
  const Index& only(std::string_view what) const {
    if (sharded() != nullptr)
      throw InvalidArgument(
          std::string(what) +
          " works on one index, and this one is sharded: name the directory of one of its shards");
    return std::get<Index>(index_);
  }
  // An index with the same columns: itself, or a shard.
  Index columns() const { return sharded() != nullptr ? sharded()->shard(0) : std::get<Index>(index_); }

  IndexInfo info(Scale scale = Scale::none) const {
    return std::visit([&](const auto& index) { return index.info(scale); }, index_);
  }
  Schema schema() const {
    return std::visit([](const auto& index) { return index.schema(); }, index_);
  }
  RecoveryInfo recovery() const {
    return std::visit([](const auto& index) { return index.recovery(); }, index_);
  }
  std::vector<std::string> verify(bool deep) const {
    return std::visit([&](const auto& index) { return index.verify(deep); }, index_);
  }
  SearchResult search(const Query& query, const SearchOptions& options) const {
    return std::visit([&](const auto& index) { return index.search(query, options); }, index_);
  }
  std::vector<SearchResult> search(std::span<const Query> queries, const SearchOptions& options) const {
    return std::visit([&](const auto& index) { return index.search(queries, options); }, index_);
  }
  // How many rows pass.
  std::uint64_t count(const Filter& where) const {
    if (sharded() == nullptr) return std::get<Index>(index_).ids_where(where).size();
    std::uint64_t count = 0;
    for (std::uint32_t s = 0; s < sharded()->num_shards(); ++s)
      count += sharded()->shard(s).ids_where(where).size();
    return count;
  }
  std::uint64_t count_above(const Query& query, double score, const SearchOptions& options) const {
    return std::visit([&](const auto& index) { return index.count_above(query, score, options); }, index_);
  }
  std::optional<RowRank> rank_of(const Query& query, std::int64_t id, const SearchOptions& options) const {
    return std::visit([&](const auto& index) { return index.rank_of(query, id, options); }, index_);
  }
  std::vector<std::optional<Row>> get(std::span<const std::int64_t> ids) const {
    return std::visit([&](const auto& index) { return index.get(ids); }, index_);
  }
  std::vector<std::optional<Row>> get(const NamedIds& ids) const {
    if (ids.type != IdType::text) return get(ids.numbers);
    const std::vector<std::string_view> texts = ids.views();
    return std::visit([&](const auto& index) { return index.get(texts); }, index_);
  }
  std::optional<RowRank> rank_of(const Query& query, std::string_view text,
                                 const SearchOptions& options) const {
    return std::visit([&](const auto& index) { return index.rank_of(query, text, options); }, index_);
  }
  std::optional<RowRank> rank_of(const Query& query, const Row& row, const SearchOptions& options) const {
    return rank_of_row(*this, schema().id_type, query, row, options);
  }

  WriteResult write(const WriteBatch& batch, const WriteOptions& options = {}) {
    return std::visit([&](auto& index) { return index.write(batch, options); }, index_);
  }
  // expected_versions: as ShardedIndex::write_once; of an index that is not sharded, the one of
  // WriteOptions::expected_version. Empty: none is expected.
  WriteResult write(const WriteBatch& batch, WriteOptions options,
                    std::span<const std::uint64_t> expected_versions) {
    if (expected_versions.empty()) return write(batch, options);
    if (auto* const shards = std::get_if<ShardedIndex>(&index_))
      return shards->write_once(batch, expected_versions, options);
    options.expected_version = expected_versions.front();
    return write(batch, options);
  }
  WriteResult update(const TableView& columns, const WriteOptions& options) {
    return std::visit([&](auto& index) { return culmen::update(index, columns, options); }, index_);
  }
  // Of a query that a search would refuse, the same exception.
  void check(const Query& query) const {
    std::visit([&](const auto& index) { static_cast<void>(index.score_bound(query)); }, index_);
  }
  std::uint64_t version() const {
    return std::visit([](const auto& index) { return index.version(); }, index_);
  }
  Refreshed refresh() {
    return std::visit([](auto& index) { return index.refresh(); }, index_);
  }
  void flush() {
    std::visit([](auto& index) { index.flush(); }, index_);
  }
  void compact(const CompactOptions& options = {}) {
    std::visit([&](auto& index) { index.compact(options); }, index_);
  }
  void close() {
    std::visit([](auto& index) { index.close(); }, index_);
  }

 private:
  std::variant<Index, ShardedIndex> index_;
};

}  // namespace culmen
