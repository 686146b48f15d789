#include "table/csv_schema.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string_view>
#include <utility>

namespace culmen::io {
namespace {

CellType cell_type_of(const ColumnFormat& format, bool is_attribute) {
  switch (format.type) {
    case ColumnType::floating:
      return CellType::number;
    case ColumnType::integer:
      return is_attribute ? CellType::number : CellType::integer;
    case ColumnType::boolean:
      return CellType::boolean;
    case ColumnType::date:
      return CellType::date;
    case ColumnType::timestamp:
      return CellType::timestamp;
    case ColumnType::text:
      break;
  }
  return CellType::text;
}

void set_type(CsvColumn& column, CellType type, const ColumnFormat& format) {
  column.type = type;
  if (type != CellType::timestamp) return;
  column.unit = format.unit;
  column.has_zone = !format.time_zone.empty();
}

bool is_typed_timestamp(const KeptColumn& kept) {
  return kept.type == ColumnType::timestamp;
}

ColumnFormat format_of_column(const CsvColumn& column, const CellKinds& kinds) {
  if (column.kept.format) return *column.kept.format;
  return column.type == CellType::timestamp ? kinds.timestamp_format() : kinds.format();
}

// An attribute must hold numbers, or what can be ranked as numbers: what its first value is.
CellType attribute_type(const CellKinds& kinds) {
  return kinds.first_type() == CellType::text ? CellType::number : kinds.first_type();
}

bool is_number(CellType type) {
  return type == CellType::number || type == CellType::integer;
}

bool holds(CellType type, const ColumnFormat& format) {
  const CellType of_format = cell_type_of(format, false);
  return of_format == type || (is_number(of_format) && is_number(type));
}

ColumnFormat format_of_type(const CsvColumn& column) {
  switch (column.type) {
    case CellType::number:
    case CellType::integer:
      break;
    case CellType::boolean:
      return {ColumnType::boolean};
    case CellType::date:
      return {ColumnType::date};
    case CellType::timestamp:
      return {ColumnType::timestamp, column.unit, column.has_zone ? "UTC" : ""};
    case CellType::text:
      return {ColumnType::text};
  }
  return {};
}

// Distinct texts among every `step`-th row, counted up to `most`.
std::size_t count_distinct(const LabelsView& texts, std::size_t step, std::size_t most) {
  constexpr std::size_t kRoom = 2;                              // slots for each hash
  std::vector<std::size_t> slots(std::bit_ceil(kRoom * most));  // 0: free
  const std::size_t num_rows = texts.offsets.size() - 1;
  std::size_t num_distinct = 0;
  for (std::size_t row = 0; row < num_rows && num_distinct < most; row += step) {
    const std::size_t hash = std::max<std::size_t>(1, std::hash<std::string_view>{}(texts[row]));
    std::size_t slot = hash & (slots.size() - 1);
    while (slots[slot] != 0 && slots[slot] != hash) slot = (slot + 1) & (slots.size() - 1);
    num_distinct += slots[slot] == 0 ? 1 : 0;
    slots[slot] = hash;
  }
  return num_distinct;
}

}  // namespace

void CsvSchema::set_columns(std::vector<CsvColumn> new_columns) {
  columns = std::move(new_columns);
  num_values = num_texts = 0;
  for (CsvColumn& column : columns) column.slot = column.is_text() ? num_texts++ : num_values++;
}

CsvColumn guess_column(const KeptColumn& kept, const ColumnForm& form, const CellKinds& first_rows,
                       bool once) {
  CsvColumn column;
  column.kept = kept;
  column.form = form;
  if (kept.format) {
    set_type(column, cell_type_of(*kept.format, kept.is_attribute && !kept.type), *kept.format);
    return column;
  }
  if (is_typed_timestamp(kept)) {
    set_type(column, CellType::timestamp, first_rows.timestamp_format());
    column.is_fixed = once;
    column.is_only_unit_open = !once && !first_rows.is_empty();
    return column;
  }
  if (kept.is_attribute) {
    set_type(column, attribute_type(first_rows), first_rows.timestamp_format());
    column.is_fixed = once || (!first_rows.is_empty() && column.type != CellType::timestamp);
    column.is_only_unit_open = !column.is_fixed && !first_rows.is_empty();
    return column;
  }
  set_type(column, first_rows.is_empty() ? CellType::number : first_rows.type(),
           first_rows.timestamp_format());
  column.is_fixed = once || column.is_text();
  return column;
}

CsvColumn settle_column(const CsvColumn& guess, const CellKinds& kinds, bool has_rows) {
  CsvColumn column = guess;
  if (guess.is_fixed) return column;
  column.is_fixed = true;
  if (const std::optional<Unit> unit = kinds.first_unit()) column.form.unit = unit;
  if (is_typed_timestamp(guess.kept)) {
    set_type(column, CellType::timestamp, kinds.timestamp_format());
  } else if (guess.kept.is_attribute || (kinds.is_empty() && !has_rows)) {
    set_type(column, attribute_type(kinds), kinds.timestamp_format());
  } else {
    set_type(column, kinds.type(), kinds.timestamp_format());
  }
  return column;
}

bool must_read_again(const CsvColumn& guess, const CsvColumn& settled, const CellKinds& kinds) {
  if (guess.is_fixed) return false;
  if (!settled.is_text() && kinds.has_refused()) return true;
  if (!kinds.is_empty() && settled.type != kinds.type()) return true;
  if (settled.is_text() && kinds.is_blank()) return guess.type != CellType::number;
  return settled.type != guess.type || settled.unit != guess.unit || settled.has_zone != guess.has_zone;
}

TableLayout layout_of(const std::vector<CsvColumn>& columns, const std::vector<CellKinds>& kinds,
                      const std::string& file, bool may_have_no_attributes) {
  TableLayout layout;
  bool chosen = false;
  std::vector<std::string> ranked, others;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const CsvColumn& column = columns[i];
    const KeptColumn& kept = column.kept;
    ColumnFormat format = format_of_column(column, kinds[i]);
    if (!holds(column.type, format)) format = format_of_type(column);  // no value at all
    if (kept.is_attribute || (kept.is_undecided && column.type == CellType::number)) {
      layout.attributes.push_back(kept.attribute);
      ranked.push_back(kept.name);
      layout.attributes.back().format = format;
      layout.attribute_columns.push_back(i);
      chosen |= kept.is_named;
    } else {
      others.push_back(kept.name);
      layout.fields.push_back({kept.name, kept.role.value_or(FieldRole::filter), format});
      layout.field_columns.push_back(i);
    }
  }
  check_column_counts(ranked, others, chosen, file, may_have_no_attributes);
  return layout;
}

bool is_nearly_unique(const LabelsView& texts) {
  constexpr std::size_t kMinRows = 1'000;  // up to here a list is small
  constexpr std::size_t kSampleRows = 10'000;
  const std::size_t num_rows = texts.empty() ? 0 : texts.offsets.size() - 1;
  if (num_rows <= kMinRows) return false;
  const std::size_t step = std::max<std::size_t>(1, num_rows / kSampleRows);
  const std::size_t sample_rows = (num_rows + step - 1) / step;
  if (count_distinct(texts, step, sample_rows / 2 + 1) <= sample_rows / 2) return false;
  return step == 1 || count_distinct(texts, 1, num_rows / 2 + 1) > num_rows / 2;
}

}  // namespace culmen::io
