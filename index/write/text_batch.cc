#include "index/write/text_batch.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/assert.h"
#include "base/text_id.h"
#include "culmen/error.h"
#include "index/read_session.h"
#include "index/table_shape.h"
#include "index/write/normalize.h"

namespace culmen {

TextBatch::TextBatch(const WriteBatch& batch, const VersionWriter& index) {
  const auto add_rows = [&](const TableView& rows) {
    check_given_ids(rows, IdType::text);
    check_labels(rows);
    for (std::size_t row = 0; row < rows.num_rows; ++row) add(rows.labels[row], true);
  };
  for (const WriteBatch::Step& step : batch.steps()) {
    if (const auto* insert = std::get_if<WriteBatch::Insert>(&step)) add_rows(insert->rows);
    if (const auto* upsert = std::get_if<WriteBatch::Upsert>(&step)) add_rows(upsert->rows);
    if (const auto* erase = std::get_if<WriteBatch::EraseTexts>(&step)) {
      if (!erase->texts.empty() && erase->texts.data() == nullptr)
        throw InvalidArgument("the ids to erase are a null pointer");
      for (const std::string_view text : erase->texts) {
        check_text_id(text);
        add(text, false);
      }
    }
  }
  keep_one_of_each();
  give_ids(index);
  read_moved_rows(index);
}

// Those that are inserted come first among equal texts.
void TextBatch::keep_one_of_each() {
  std::ranges::sort(named_, [](const Named& a, const Named& b) {
    return a.text != b.text ? a.text < b.text : a.is_inserted > b.is_inserted;
  });
  const auto is_same = [](const Named& a, const Named& b) { return a.text == b.text; };
  named_.erase(std::unique(named_.begin(), named_.end(), is_same), named_.end());
}

void TextBatch::give_ids(const VersionWriter& index) {
  if (named_.empty()) return;
  SpacedIds spaced(index.ordered_ids());
  std::vector<TextPlace> places(named_.size());
  tbb::parallel_for(std::size_t{0}, named_.size(),
                    [&](std::size_t i) { places[i] = index.find_text(named_[i].text); });
  std::vector<std::size_t> fresh;
  for (std::size_t i = 0; i < named_.size(); ++i)
    if (!places[i].is_there && named_[i].is_inserted) fresh.push_back(i);
  for (std::size_t first = 0, end = 0; first < fresh.size(); first = end) {
    const std::int64_t place = places[fresh[first]].id;
    while (end < fresh.size() && places[fresh[end]].id == place) ++end;
    const bool is_before_all = place == TextPlace{}.id;
    spaced.insert_after(is_before_all ? std::nullopt : std::optional(place), end - first);
  }
  const std::vector<std::int64_t> ids = spaced.new_ids();
  for (std::size_t i = 0; i < fresh.size(); ++i) named_[fresh[i]].id = ids[i];
  for (std::size_t i = 0; i < named_.size(); ++i)
    if (places[i].is_there) named_[i].id = spaced.now(places[i].id);
  moves_ = spaced.moves();
}

void TextBatch::read_moved_rows(const VersionWriter& index) {
  if (moves_.empty()) return;
  const Snapshot& s = index.current();
  std::vector<std::int64_t> from;
  for (const SpacedIds::Move& move : moves_) {
    from.push_back(move.from);
    moved_to_.push_back(move.to);
  }
  const std::vector<std::uint64_t> rows = index.find_rows(from);
  visit_value_type(s, [&]<typename T>(T) {
    UserRows<T>& moved = moved_rows_.template emplace<UserRows<T>>(s.metadata());
    for (const std::uint64_t row : rows) {
      const RowPlace place = index.place(row);
      const ReadSession session(place.tree);
      const auto stride = static_cast<std::uint64_t>(place.tree.leaf_rows);
      const auto position = static_cast<std::uint32_t>(place.row % stride);
      moved.add_rows(place.tree, static_cast<std::uint32_t>(place.row / stride), std::span(&position, 1));
    }
  });
}

std::optional<std::int64_t> TextBatch::id_of(std::string_view text) const {
  const auto named = std::ranges::lower_bound(named_, text, {}, &Named::text);
  CULMEN_ASSERT(named != named_.end() && named->text == text);
  return named->id;
}

TableView TextBatch::moved_rows() const {
  return std::visit(
      [this](const auto& rows) {
        if constexpr (std::is_same_v<decltype(rows), const std::monostate&>) {
          return TableView();
        } else {
          TableView table = rows.view();
          table.ids = moved_to_;
          return table;
        }
      },
      moved_rows_);
}

}  // namespace culmen
