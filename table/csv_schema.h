// What a CSV file's columns are read as.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "culmen/table_io.h"
#include "table/cell_form.h"
#include "table/cell_type.h"
#include "table/column_selection.h"
#include "table/csv_record.h"

namespace culmen::io {

// A column that is kept, besides id and label.
struct CsvColumn {
  KeptColumn kept;
  CellType type = CellType::number;
  TimeUnit unit = TimeUnit::second;  // of timestamps
  bool has_zone = false;             // of timestamps
  // A cell of another type is an error. Otherwise the type is a guess, such a cell counts as missing, and the kinds of
  // all cells tell the type with which to read the file again.
  bool is_fixed = true;
  bool is_only_unit_open = false;  // of timestamps that are a guess: other cells are errors all the same
  ColumnForm form = {};            // of numbers: other units than this one are errors
  std::size_t slot = 0;            // among the columns of numbers, or among those of texts

  // The type was found from cells: a number with a leading zero is none. Named attributes and given types take it.
  bool is_found() const { return !kept.is_attribute && !kept.format; }
  bool is_text() const { return type == CellType::text; }
  // NullPolicy is about columns that are ranked.
  bool is_ranked() const { return kept.is_attribute || (kept.is_undecided && type == CellType::number); }
};

struct CsvSchema {
  std::vector<std::string> names;  // of all columns of the file
  std::vector<CsvColumn> columns;  // in the order of the selection
  std::size_t num_values = 0;      // columns that are not text
  std::size_t num_texts = 0;
  std::optional<std::size_t> id;     // positions in the file
  std::optional<std::size_t> label;  // of ids that are texts, too, and then there is no other
  std::optional<IdType> id_type;     // nullopt: all ids tell
  std::string id_name = {}, label_name = {};
  bool has_choice = false;  // ReadOptions::columns says what is kept
  char delimiter = ',';
  CellForm form = {};
  bool is_json_lines = false;
  NullPolicy nulls = NullPolicy::keep;
  bool lists_refused = false;  // refused rows are listed and left out
  bool lists_dropped = false;  // CsvRows::dropped_ids has those of dropped rows

  bool texts_are_ids() const { return id_type == IdType::text; }
  // The column of ids holds texts.
  void take_texts_as_ids() {
    label = std::exchange(id, std::nullopt);
    id_type = IdType::text;
  }

  // Sets the columns, and their slots.
  void set_columns(std::vector<CsvColumn> new_columns);
};

// Of a column whose own name is empty.
inline std::string name_by_place(std::size_t position) {
  return "column" + std::to_string(position);
}

// Begins a line that stands for one of JSON Lines that is refused, and is behind the reason.
inline constexpr char kRefusedLine = '\0';

// A line between the rows that is no row. Where there is one column, it is a row without a value; of JSON Lines that is one of
// nothing, and a line of blanks is none.
inline bool is_blank_line(const RecordSplitter& record, const CsvSchema& schema) {
  return record.is_blank() &&
         (schema.names.size() > 1 || (schema.is_json_lines && !record.fields().front().text.empty()));
}

// The column as the first rows suggest it. `once`: the file is read only once, so every type is fixed.
CsvColumn guess_column(const KeptColumn& kept, const ColumnForm& form, const CellKinds& first_rows,
                       bool once);

// The guessed column as all of its cells are. Its type is fixed.
CsvColumn settle_column(const CsvColumn& guess, const CellKinds& kinds, bool has_rows);

// Whether the file must be read again because a column is not what it was guessed to be, or because the cell must be
// found that is an error.
bool must_read_again(const CsvColumn& guess, const CsvColumn& settled, const CellKinds& kinds);

// How the columns of a file become those of a table.
struct TableLayout {
  std::vector<Attribute> attributes;
  std::vector<std::size_t> attribute_columns;  // positions among CsvSchema::columns
  std::vector<Field> fields;
  std::vector<std::size_t> field_columns;
};

// `kinds`: of each column's cells; they give the formats that no schema does. Throws InputError if there are no
// attributes, or too many columns. Fields of texts become filter columns.
TableLayout layout_of(const std::vector<CsvColumn>& columns, const std::vector<CellKinds>& kinds,
                      const std::string& file, bool may_have_no_attributes = false);

// Whether a filter column of these texts would mostly be a list of its rows. Looks at a sample first.
bool is_nearly_unique(const LabelsView& texts);

}  // namespace culmen::io
