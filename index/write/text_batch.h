// TextBatch: the numbers that stand in for the texts of a batch of changes, whose ids are texts: those of rows that are in
// the index, and new ones for others. Where no numbers are free between two texts, some rows of the index get others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "culmen/write.h"
#include "index/write/spaced_ids.h"
#include "index/write/user_rows.h"
#include "index/write/version_writer.h"

namespace culmen {

class TextBatch {
 public:
  // Throws InvalidArgument and InputError for tables without texts as ids, and reads the index.
  TextBatch(const WriteBatch& batch, const VersionWriter& index);
  TextBatch(const TextBatch&) = delete;
  TextBatch& operator=(const TextBatch&) = delete;

  // Of a text of the batch. nullopt: neither the index nor a table of the batch has it.
  std::optional<std::int64_t> id_of(std::string_view text) const;

  // Rows of the index with their new numbers. They are to be erased and inserted before the batch's own steps. The table has
  // one row for each, in this order.
  const std::vector<SpacedIds::Move>& moves() const { return moves_; }
  TableView moved_rows() const;

 private:
  struct Named {
    std::string_view text;
    bool is_inserted;  // by some step, not only erased
    std::optional<std::int64_t> id = {};
  };

  void add(std::string_view text, bool is_inserted) { named_.push_back({text, is_inserted}); }
  void keep_one_of_each();
  void give_ids(const VersionWriter& index);
  void read_moved_rows(const VersionWriter& index);

  std::vector<Named> named_;  // by their texts
  std::vector<SpacedIds::Move> moves_;
  std::vector<std::int64_t> moved_to_;  // the ids of moved_rows_
  std::variant<std::monostate, UserRows<float>, UserRows<double>> moved_rows_;
};

}  // namespace culmen
