// What the ids of an index are: int64, uint64, such as hashes and keys of other systems have, or texts.
//
// Ids have the type std::int64_t everywhere in this API. The ids of an index of IdType::uint64 are the numbers with their
// top bit flipped: then ids compare as the numbers do, so that ties, cursors and answers that are merged are in the
// numbers' order. What people read and write are the numbers: convert where they come in and go out.
//
//   culmen::TableView table = ...;
//   for (const std::uint64_t key : keys) ids.push_back(culmen::id_of_uint64(key));
//   table.ids = ids;
//   table.id_type = culmen::IdType::uint64;
//   ...
//   for (const culmen::Hit& hit : best.hits) use(culmen::uint64_of_id(hit.id));
//
// Filters compare with numbers: id_col() >= culmen::LargeInteger{key}.
//
// IdType::text: a row's id is a text, such as a SKU or a UUID. It is where the label of a row is otherwise: in
// TableView::labels and Row::label. Calls take and give texts; ties go to the smaller one, compared by bytes.
//
//   table.labels = skus.view();
//   table.id_type = culmen::IdType::text;
//   ...
//   index.get("A-1");
//   for (std::size_t rank = 0; rank < best.hits.size(); ++rank) use(best.id_text(rank));
//
// Filters compare with texts: id_col() == "A-1". Hit::id is then a number that stands in for the text in one version of the
// index, in the texts' order: Index::find_texts has it, and changes may move it. It is not for users. Shards have numbers of
// their own each (culmen/sharded_index.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace culmen {

// Of a text that is an id, which has no NUL either: then a cell of CSV holds it, in quotes with all of it doubled.
inline constexpr std::size_t kMaxTextIdBytes = (std::size_t{1} << 15) - 1;

enum class IdType : std::uint8_t {
  int64,
  uint64,  // of rows that are given with their ids; none are assigned
  text,    // of rows that are given with their ids, in place of labels; UTF-8 without NUL
};

inline constexpr std::uint64_t kTopBitOfId = std::uint64_t{1} << 63;

constexpr std::int64_t id_of_uint64(std::uint64_t number) {
  return static_cast<std::int64_t>(number ^ kTopBitOfId);
}
constexpr std::uint64_t uint64_of_id(std::int64_t id) {
  return static_cast<std::uint64_t>(id) ^ kTopBitOfId;
}

// The number that an id stands for, in decimal digits, and the id of such a text. nullopt: the text is not a whole number
// of the type. For ids that are texts see SearchResult::id_text and Index::find_texts; these throw InvalidArgument.
[[nodiscard]] std::string id_text(std::int64_t id, IdType type);
[[nodiscard]] std::optional<std::int64_t> parse_id(std::string_view text, IdType type);

// "int64" -> IdType::int64; throws InvalidArgument listing the names.
[[nodiscard]] IdType parse_id_type(std::string_view name);
[[nodiscard]] std::string_view id_type_name(IdType type);

}  // namespace culmen
