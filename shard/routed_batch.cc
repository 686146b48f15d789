#include "shard/routed_batch.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/ids.h"
#include "culmen/error.h"
#include "culmen/sharded_index.h"
#include "index/row_subset.h"
#include "index/table_shape.h"
#include "index/text_rows.h"
#include "index/write/normalize.h"
#include "shard/rows_by_shard.h"

namespace culmen {

RoutedBatch::RoutedBatch(const WriteBatch& batch, const WriteOptions& options, const Snapshot& snapshot,
                         std::uint32_t num_shards, std::int64_t next_id)
    : parts_(num_shards), next_id_(next_id) {
  std::uint64_t rounded_values = 0;  // the shards count them
  for (std::size_t number = 0; number < batch.steps().size(); ++number) {
    const WriteBatch::Step& step = batch.steps()[number];
    if (const auto* erase = std::get_if<WriteBatch::Erase>(&step)) {
      require_erasable_numbers(snapshot);
      add_erase(number, erase->ids, ids_);
    } else if (const auto* erase_texts = std::get_if<WriteBatch::EraseTexts>(&step)) {
      require_text_ids(snapshot);
      add_erase(number, erase_texts->texts, texts_);
    } else if (const auto* filtered = std::get_if<WriteBatch::EraseWhere>(&step)) {
      add_erase_where(number, filtered->where);
    } else {
      const auto* insert = std::get_if<WriteBatch::Insert>(&step);
      const TableView& rows = insert != nullptr ? insert->rows : std::get<WriteBatch::Upsert>(step).rows;
      check_given_ids(rows, snapshot.id_type);
      if (snapshot.id_type == IdType::text) check_labels(rows);
      add_rows(number, checked_rows(rows, options, snapshot, rounded_values).view(), insert == nullptr);
    }
  }
}

void RoutedBatch::add_rows(std::size_t step, const TableView& table, bool replaces) {
  std::int64_t first_id = -1;
  if (!table.ids.empty()) {
    for (const std::int64_t id : table.ids) next_id_ = std::max(next_id_, id_after(id));
  } else if (table.id_type != IdType::text && table.num_numbers() > 0) {
    first_id = assign_ids(table, next_id_);
    assigns_ids_ = true;
    if (first_id_ < 0 && table.num_rows > 0) first_id_ = first_id;
  }
  const Array<std::int64_t> ids = ids_of_rows(table, first_id);
  std::vector<Array<std::uint64_t>> rows =
      rows_by_shard(table, ids, static_cast<std::uint32_t>(parts_.size()));
  for (std::size_t s = 0; s < parts_.size(); ++s) {
    if (rows[s].empty()) continue;
    const TableView view = tables_.emplace_back(subset_of(table, ids, rows[s])).view();
    if (replaces) {
      parts_[s].batch.upsert(view);
    } else {
      parts_[s].batch.insert(view);
    }
    parts_[s].steps.push_back(step);
    parts_[s].rows.push_back(std::move(rows[s]));
  }
}

template <typename Id>
void RoutedBatch::add_erase(std::size_t step, std::span<const Id> ids, std::deque<std::vector<Id>>& kept) {
  if (!ids.empty() && ids.data() == nullptr) throw InvalidArgument("the ids to erase are a null pointer");
  const std::vector<Array<std::uint64_t>> rows =
      places_by_shard(ids, static_cast<std::uint32_t>(parts_.size()));
  for (std::size_t s = 0; s < parts_.size(); ++s) {
    if (rows[s].empty()) continue;
    std::vector<Id>& own = kept.emplace_back();
    for (const std::uint64_t row : rows[s]) own.push_back(ids[row]);
    parts_[s].batch.erase(own);
    parts_[s].steps.push_back(step);
    parts_[s].rows.emplace_back();
  }
}

void RoutedBatch::add_erase_where(std::size_t step, const Filter& where) {
  for (Part& part : parts_) {
    part.batch.erase_where(where);
    part.steps.push_back(step);
    part.rows.emplace_back();
  }
}

std::optional<RoutedBatch::Refusal> RoutedBatch::check(std::uint32_t shard, const Index& index,
                                                       const WriteOptions& options) const {
  const Part& part = parts_[shard];
  try {
    index.check(part.batch, options);
    return std::nullopt;
  } catch (const RowError&) {
    // The row is one of the first step that fails; the message does not say of which.
  }
  WriteBatch so_far;
  for (std::size_t s = 0; s < part.batch.steps().size(); ++s) {
    std::visit(
        [&]<typename Step>(const Step& step) {
          if constexpr (std::is_same_v<Step, WriteBatch::Insert>) so_far.insert(step.rows);
          if constexpr (std::is_same_v<Step, WriteBatch::Upsert>) so_far.upsert(step.rows);
          if constexpr (std::is_same_v<Step, WriteBatch::Erase>) so_far.erase(step.ids);
          if constexpr (std::is_same_v<Step, WriteBatch::EraseTexts>) so_far.erase(step.texts);
          if constexpr (std::is_same_v<Step, WriteBatch::EraseWhere>) so_far.erase_where(step.where);
        },
        part.batch.steps()[s]);
    try {
      index.check(so_far, options);
    } catch (const RowError& error) {
      return Refusal{part.steps[s], part.rows[s][error.row()], std::string(error.problem())};
    }
  }
  return std::nullopt;
}

}  // namespace culmen
