#include "index/write/normalize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "base/excerpt.h"
#include "base/ids.h"
#include "base/number_text.h"
#include "cpu/passing_ids.h"
#include "culmen/error.h"
#include "index/columns.h"
#include "index/field_rows.h"
#include "index/table_shape.h"
#include "index/text_rows.h"
#include "index/write/reload.h"
#include "index/write/text_batch.h"
#include "query/predicate.h"

namespace culmen {
namespace {

[[noreturn]] void throw_not_float32(const TableView& table) {
  std::vector<double> values(table.num_rows);
  std::vector<std::uint64_t> rows(table.num_rows);
  std::iota(rows.begin(), rows.end(), std::uint64_t{0});
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    gather_column(table.columns[i], Preference::high, rows, values.data());
    for (std::size_t r = 0; r < values.size(); ++r)
      if (!std::isnan(values[r]) && static_cast<double>(static_cast<float>(values[r])) != values[r])
        throw RowError(r, "column \"" + table.attributes[i].name +
                              "\": float32, the value type of this index, does not represent " +
                              number_text(values[r]) +
                              " exactly; allow rounding (`round_to_float32`), or build the index as float64");
  }
  throw InputError("a value is not a float32");
}

class Folder {
 public:
  Folder(const WriteBatch& batch, const WriteOptions& options, const VersionWriter& index, BatchIds ids,
         const ChangeFold* unapplied)
      : options_(options),
        index_(index),
        s_(index.current()),
        unapplied_(unapplied),
        ids_(ids),
        next_id_(unapplied == nullptr ? s_.next_id : unapplied->next_id()) {
    if (s_.id_type != IdType::text || ids == BatchIds::stored) return;
    texts_.emplace(batch, index);
    if (!texts_->moves().empty()) move_rows();
  }

  void operator()(const WriteBatch::Insert& step) { add(step.rows, false); }
  void operator()(const WriteBatch::Upsert& step) { add(step.rows, true); }
  void operator()(const WriteBatch::Erase& step) {
    if (!step.ids.empty() && step.ids.data() == nullptr)
      throw InvalidArgument("the ids to erase are a null pointer");
    if (texts_) require_erasable_numbers(s_);
    look_up(step.ids);
    for (const std::int64_t id : step.ids) erase(state_of(id));
  }
  void operator()(const WriteBatch::EraseTexts& step) {
    require_text_ids(s_);
    std::vector<std::int64_t> ids;
    for (const std::string_view text : step.texts)
      if (const std::optional<std::int64_t> id = texts_->id_of(text)) ids.push_back(*id);
    look_up(ids);
    for (const std::int64_t id : ids) erase(state_of(id));
  }
  void operator()(const WriteBatch::EraseWhere& step) {
    const std::vector<std::int64_t> of_batch = passing_rows_of_batch(step.where);
    for (const std::int64_t id : index_.passing_ids(step.where)) {
      IdState& state = states_.emplace(id, IdState{true, true}).first->second;
      if (!state.is_new) erase(state);  // else the row that passes was replaced
    }
    look_up(of_batch);
    for (const std::int64_t id : of_batch) erase(state_of(id));
  }

  NormalizedBatch finish() {
    change_.next_id = next_id_;
    for (const auto& [id, state] : states_)
      if (state.was_there && (!state.lives || state.is_new)) change_.removed.push_back(id);
    // So that equal batches have equal bytes in the log.
    std::sort(change_.removed.begin(), change_.removed.end());
    gather(change_);
    return {std::move(change_), result_};
  }

 private:
  // The state of an id after the steps so far.
  struct IdState {
    bool was_there;
    bool lives;
    bool is_new = false;  // with the row below
    std::size_t table = 0, row = 0;
  };
  struct Added {
    std::int64_t id;
    std::size_t table, row;
  };
  // Ids that were assigned to the rows of a table without ids.
  struct AssignedRange {
    std::int64_t first_id;
    std::size_t num_rows, table, first_row;
  };

  // Before the next step. Of an id that was looked up.
  IdState& state_of(std::int64_t id) { return states_.find(id)->second; }

  // Finds the state of all these ids that have none yet. One call for all of them, since the index may read files.
  void look_up(std::span<const std::int64_t> ids) {
    std::vector<std::int64_t> of_index;
    for (const std::int64_t id : ids) {
      if (states_.contains(id)) continue;
      const std::optional<IdState> known = state_by_changes(id);
      states_.emplace(id, known.value_or(IdState{false, false}));
      if (!known) of_index.push_back(id);
    }
    const std::vector<std::uint8_t> there = index_.contain(of_index);
    for (std::size_t i = 0; i < of_index.size(); ++i)
      if (there[i] != 0) state_of(of_index[i]) = {true, true};
  }

  // The state of an id that no step has named, by what earlier steps have assigned, and changes that were not applied yet.
  std::optional<IdState> state_by_changes(std::int64_t id) const {
    const auto after =
        std::upper_bound(assigned_.begin(), assigned_.end(), id,
                         [](std::int64_t wanted, const AssignedRange& r) { return wanted < r.first_id; });
    if (after != assigned_.begin()) {
      const AssignedRange& range = *std::prev(after);
      const auto row = static_cast<std::uint64_t>(id) - static_cast<std::uint64_t>(range.first_id);
      if (row < range.num_rows) return IdState{false, true, true, range.table, range.first_row + row};
    }
    const std::optional<bool> there = unapplied_ == nullptr ? std::nullopt : unapplied_->is_there(id);
    return there ? std::optional(IdState{*there, *there}) : std::nullopt;
  }

  // Gives some rows of the index the numbers that make room for new texts. To the steps they are rows of the index.
  void move_rows() {
    tables_.emplace_back(texts_->moved_rows(), s_);
    for (const SpacedIds::Move& move : texts_->moves()) states_.emplace(move.from, IdState{true, false});
    for (std::size_t row = 0; row < texts_->moves().size(); ++row) {
      const std::int64_t id = texts_->moves()[row].to;
      IdState& state = states_.emplace(id, IdState{false, false}).first->second;
      state = {state.was_there, true, true, 0, row};
      added_.push_back({id, 0, row});
      next_id_ = std::max(next_id_, id_after(id));
    }
  }
  bool is_of_index(const IdState& state) const {
    return !state.is_new || (texts_ && !texts_->moves().empty() && state.table == 0);
  }

  void erase(IdState& state) {
    if (!state.lives) return;
    state.lives = false;
    ++result_.erased;
  }

  // The ids of the rows that the steps so far have inserted and that pass. They are loaded as an index of their own, so that
  // filters mean the same for them.
  std::vector<std::int64_t> passing_rows_of_batch(const Filter& where) {
    Change rows;
    gather(rows);
    if (rows.ids.empty()) return {};
    const std::shared_ptr<const Snapshot> loaded = load_rows_of(std::move(rows), s_);
    return cpu::passing_ids(*loaded, compile_filter(where, *loaded));
  }

  void add(const TableView& given, bool replace) {
    const std::size_t t = tables_.size();
    if (ids_ == BatchIds::given) check_given_ids(given, s_.id_type);
    tables_.push_back(checked_rows(given, options_, s_, change_.rounded_values));
    const TableView& table = tables_[t].view();
    if (table.ids.empty() && !texts_) return add_assigned(t);
    std::vector<std::int64_t> of_texts;
    for (std::size_t row = 0; row < table.num_rows && texts_; ++row)
      of_texts.push_back(*texts_->id_of(table.labels[row]));
    const std::span<const std::int64_t> ids = texts_ ? std::span<const std::int64_t>(of_texts) : table.ids;
    look_up(ids);
    for (std::size_t row = 0; row < table.num_rows; ++row) {
      add_given(ids[row], t, row, replace);
      added_.push_back({ids[row], t, row});
    }
  }

  // Assigned ids are above every id that was ever in the index or in a row of the batch, so the index need not be
  // searched. Still, an earlier step may have named one of them, to erase it.
  void add_assigned(std::size_t t) {
    const TableView& table = tables_[t].view();
    if (table.num_numbers() == 0) return;
    const std::int64_t first_id = assign_ids(table, next_id_);
    for (const NumberedRows& run : numbered_rows(table)) add_run(t, run, first_id);
    if (result_.first_id < 0 && table.num_rows > 0) result_.first_id = first_id;
    result_.inserted += table.num_rows;
  }

  void add_run(std::size_t table, const NumberedRows& run, std::int64_t first_id) {
    std::int64_t id = first_id + static_cast<std::int64_t>(run.first_number);
    assigned_.push_back({id, run.num_rows, table, run.first_row});
    for (std::size_t row = run.first_row; row < run.first_row + run.num_rows; ++row, ++id) {
      added_.push_back({id, table, row});
      if (states_.empty()) continue;
      const auto named = states_.find(id);
      if (named != states_.end()) named->second = {false, true, true, table, row};
    }
  }

  void add_given(std::int64_t id, std::size_t table, std::size_t row, bool replace) {
    IdState& state = state_of(id);
    if (state.lives && !replace) {
      if (is_of_index(state))
        throw RowError(row,
                       "id " + name_of(id, table, row) + " is already in the index; upsert replaces rows");
      if (options_.duplicates == Duplicates::error)
        throw RowError(row, "id " + name_of(id, table, row) + " appears twice");
      if (options_.duplicates == Duplicates::last) state = {state.was_there, true, true, table, row};
      return;
    }
    ++(state.lives ? result_.replaced : result_.inserted);
    state = {state.was_there, true, true, table, row};
    next_id_ = std::max(next_id_, id_after(id));
  }

  std::string name_of(std::int64_t id, std::size_t table, std::size_t row) const {
    if (!texts_) return id_text(id, s_.id_type);
    return quote_excerpt(tables_[table].view().labels[row]);
  }

  // Gathers the rows that remain, table by table, each in its order.
  void gather(Change& rows) {
    std::erase_if(added_, [this](const Added& added) {
      const auto found = states_.find(added.id);
      if (found == states_.end()) return false;  // assigned, and no later step named it
      const IdState& state = found->second;
      return !state.lives || !state.is_new || state.table != added.table || state.row != added.row;
    });
    for (const Added& added : added_) rows.ids.push_back(added.id);
    const std::vector<TableRows> tables = rows_by_table();
    visit_value_type(s_, [&]<typename T>(T) { gather_values<T>(tables, rows); });
    for (std::size_t f = 0; f < s_.fields.size() && !added_.empty(); ++f)
      rows.fields.push_back(gather_field(f, tables));
    if (s_.has_labels)
      for (const Added& added : added_) {
        const LabelsView& labels = tables_[added.table].view().labels;
        const std::string_view label = labels.empty() ? std::string_view() : labels[added.row];
        rows.label_text.insert(rows.label_text.end(), label.begin(), label.end());
        rows.label_ends.push_back(rows.label_text.size());
      }
  }

  // Rows of one table that follow one another in added_.
  struct TableRows {
    std::size_t table, first;  // first: in added_
    std::vector<std::uint64_t> rows;
  };

  std::vector<TableRows> rows_by_table() const {
    std::vector<TableRows> tables;
    for (std::size_t a = 0; a < added_.size(); ++a) {
      if (tables.empty() || tables.back().table != added_[a].table)
        tables.push_back({added_[a].table, a, {}});
      tables.back().rows.push_back(added_[a].row);
    }
    return tables;
  }

  template <typename T>
  void gather_values(std::span<const TableRows> tables, Change& rows) {
    const std::size_t d = s_.attributes.size();
    rows.values.resize(d * added_.size() * sizeof(T));
    for (const TableRows& from : tables)
      for (std::size_t i = 0; i < d; ++i)
        gather_column(tables_[from.table].view().columns[i], s_.attributes[i].preference, from.rows,
                      reinterpret_cast<T*>(rows.values.data()) + i * added_.size() + from.first);
  }

  FieldChange gather_field(std::size_t f, std::span<const TableRows> tables) const {
    FieldChangeBuilder builder(s_.fields[f]);
    for (const TableRows& from : tables) {
      const FieldView* view = tables_[from.table].field(f);
      const FieldRows rows =
          view == nullptr ? FieldRows{} : read_field(s_.fields[f], *view, from.rows, nullptr);
      for (std::size_t r = 0; r < from.rows.size(); ++r)
        if (view == nullptr || (!rows.missing.empty() && rows.missing[r])) {
          builder.add_missing();
        } else if (s_.fields[f].is_text()) {
          builder.add_text(rows.texts[r]);
        } else {
          builder.add_key(rows.keys[r]);
        }
    }
    return builder.take();
  }

  const WriteOptions& options_;
  const VersionWriter& index_;
  const Snapshot& s_;
  const ChangeFold* const unapplied_;
  const BatchIds ids_;
  std::int64_t next_id_;
  std::optional<TextBatch> texts_;  // of IdType::text
  std::vector<ArrangedTable> tables_;
  std::vector<Added> added_;
  IdTable<IdState> states_;              // of the ids that a step has named
  std::vector<AssignedRange> assigned_;  // ascending
  Change change_;
  WriteResult result_;
};

}  // namespace

void require_assigned_ids(IdType type) {
  if (type != IdType::int64)
    throw InvalidArgument("an index whose ids are " + std::string(id_type_name(type)) +
                          " assigns none: give the rows ids");
}

void check_given_ids(const TableView& table, IdType type) {
  const bool has_ids = !table.ids.empty() || table.id_type == IdType::text;
  if (table.id_type == IdType::text && !table.ids.empty())
    throw InvalidArgument("the ids are texts, which are the table's labels: leave out the numbers");
  if (!has_ids && table.num_numbers() > 0) require_assigned_ids(type);
  if (has_ids && table.id_type != type)
    throw InvalidArgument("the ids of the rows are " + std::string(id_type_name(table.id_type)) +
                          ", those of the index " + std::string(id_type_name(type)) +
                          ": set TableView::id_type, and make the ids as culmen/id_type.h says");
}

ArrangedTable checked_rows(const TableView& given, const WriteOptions& options, const Snapshot& snapshot,
                           std::uint64_t& rounded_values) {
  ArrangedTable arranged(given, snapshot);
  const TableView& table = arranged.view();
  if (!table.labels.empty() && !snapshot.has_labels)
    throw InvalidArgument("the rows have labels, but the index has none");
  const bool is_float32 = snapshot.value_type == ValueType::float32;
  const ValueType wanted = !is_float32                ? ValueType::float64
                           : options.round_to_float32 ? ValueType::float32
                                                      : ValueType::automatic;
  const TableStats stats = table_stats(table, wanted);
  if (stats.value_type != snapshot.value_type && table.num_rows > 0) throw_not_float32(table);
  rounded_values += stats.rounded_values;
  return arranged;
}

std::int64_t assign_ids(const TableView& table, std::int64_t& next_id) {
  const std::int64_t first_id = std::max<std::int64_t>(next_id, 0);
  if (static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() - first_id) < table.num_numbers())
    throw InputError("no ids are left for " + std::to_string(table.num_numbers()) + " rows: the next id is " +
                     std::to_string(first_id) + ", and ids end below 2^63 - 1");
  next_id = first_id + static_cast<std::int64_t>(table.num_numbers());
  return first_id;
}

bool has_filter(const WriteBatch& batch) {
  return std::ranges::any_of(batch.steps(), [](const WriteBatch::Step& step) {
    return std::holds_alternative<WriteBatch::EraseWhere>(step);
  });
}

NormalizedBatch normalize(const WriteBatch& batch, const WriteOptions& options, const VersionWriter& index,
                          BatchIds ids, const ChangeFold* unapplied) {
  Folder folder(batch, options, index, ids, unapplied);
  for (const WriteBatch::Step& step : batch.steps()) std::visit(folder, step);
  return folder.finish();
}

}  // namespace culmen
