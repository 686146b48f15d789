#include "table/column_selection.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <unordered_set>

#include "base/suggestion.h"
#include "culmen/error.h"
#include "table/text.h"

namespace culmen::io {
namespace {

// Resolves names against those of the file, and counts which columns of the file are used.
class Selector {
 public:
  Selector(const std::vector<std::string>& names, const ReadOptions& options, const std::string& file)
      : names_(names), options_(options), file_(file), is_taken_(names.size()) {}

  ColumnSelection select(bool by_position) {
    by_position_ = by_position;
    selection_.has_choice = options_.columns.has_value();
    if (!options_.types.empty() && (options_.schema || by_position))
      throw InvalidArgument(file_ + ": " + (options_.schema ? "the index" : "the file") +
                            " says what its columns hold: types are for CSV without an index");
    take_id_and_label();
    if (options_.schema) {
      take_schema(*options_.schema);
    } else {
      take_named_attributes();
      take_others();
      check_types();
    }
    return std::move(selection_);
  }

 private:
  std::optional<std::size_t> find(const std::string& wanted) const {
    const auto found = std::find(names_.begin(), names_.end(), wanted);
    if (wanted.empty() || found == names_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names_.begin());
  }

  std::optional<std::size_t> find_either(const std::string& first, const std::string& second) const {
    const std::optional<std::size_t> found = find(first);
    return found ? found : find(second);
  }

  std::size_t require(const std::string& wanted) const {
    if (const auto column = find(wanted)) return *column;
    throw InvalidArgument(text_of_missing(wanted));
  }

  std::string text_of_missing(const std::string& wanted) const {
    return file_ + ": no column " + quote_excerpt(wanted) + did_you_mean(wanted, names_) +
           "; the columns are " + quote_list(names_);
  }

  void take_id_and_label() {
    if (!options_.id_column.empty()) selection_.id = require(options_.id_column);
    if (!options_.label_column.empty()) selection_.label = require(options_.label_column);
    if (options_.schema) {
      const std::optional<std::size_t> id = find_either(id_title(*options_.schema), options_.schema->id_name);
      const std::optional<std::size_t> label = find_either(
          options_.schema->has_labels ? label_title(*options_.schema) : "", options_.schema->label_name);
      if (!selection_.id && !options_.assign_ids) selection_.id = id;
      if (!selection_.label && options_.schema->has_labels) selection_.label = label;
      if (id) is_taken_[*id] = true;
      if (label) is_taken_[*label] = true;
    }
    if (given_id_type(options_) == IdType::text && !options_.label_column.empty())
      throw InvalidArgument(file_ + ": a table whose ids are texts has no labels besides: keep " +
                            quote_excerpt(options_.label_column) + " as an ordinary column");
    if (selection_.id) is_taken_[*selection_.id] = true;
    if (selection_.label) is_taken_[*selection_.label] = true;
  }

  void take(KeptColumn column) {
    is_taken_[column.position] = true;
    selection_.columns.push_back(std::move(column));
  }

  void take_attribute(std::size_t position, const Attribute& attribute, bool has_format) {
    KeptColumn column = {position, attribute.name};
    column.is_attribute = column.is_named = true;
    column.attribute = attribute;
    if (has_format) column.format = attribute.format;
    set_type(column);
    if (column.type == ColumnType::text)
      throw InvalidArgument(file_ + ": attribute " + quote_excerpt(attribute.name) +
                            " cannot be text: texts are not ranked");
    take(std::move(column));
  }

  void set_type(KeptColumn& column) const {
    const auto given = std::ranges::find(options_.types, names_[column.position], &GivenType::column);
    if (given == options_.types.end()) return;
    column.type = given->type;
    if (column.type != ColumnType::timestamp) column.format = ColumnFormat{given->type};
  }

  void take_named_attributes() {
    refuse_repeated_attributes();
    for (const Attribute& attribute : options_.attributes)
      take_attribute(require(attribute.name), attribute, false);
  }

  void refuse_repeated_attributes() const {
    if (const auto repeated = find_repeated_name(options_.attributes)) {
      throw InvalidArgument("attribute " + quote_excerpt(options_.attributes[*repeated].name) +
                            " is named twice");
    }
  }

  bool is_chosen(std::size_t column) const {
    return !options_.columns ||
           std::ranges::find(*options_.columns, names_[column]) != options_.columns->end();
  }

  void take_others() {
    check_chosen();
    for (std::size_t position = 0; position < names_.size(); ++position) {
      if (is_taken_[position] || !is_chosen(position)) continue;
      KeptColumn column = {position, names_[position]};
      if (std::ranges::find(options_.stored, column.name) != options_.stored.end())
        column.role = FieldRole::stored;
      set_type(column);
      const bool may_be_ranked =
          !column.role && options_.attributes.empty() && !(options_.numbers_only && column.type);
      column.is_undecided = may_be_ranked && !column.type;
      column.is_attribute =
          may_be_ranked && (column.type == ColumnType::floating || column.type == ColumnType::integer);
      column.attribute.name = column.name;
      if (options_.numbers_only && column.is_undecided) {
        column.is_attribute = column.is_named = true;
        column.format.emplace();
      }
      take(std::move(column));
    }
  }

  // `list`: what names them.
  void refuse_repeated(std::span<const std::string> names, const char* list) const {
    std::unordered_set<std::string_view> seen;
    for (const std::string& name : names)
      if (!seen.insert(name).second)
        throw InvalidArgument(file_ + ": column " + quote_excerpt(name) + " is named twice in the list of " +
                              list);
  }

  void check_types() const {
    std::vector<std::string> typed;
    for (const GivenType& given : options_.types) typed.push_back(given.column);
    refuse_repeated(typed, "types");
    for (const GivenType& given : options_.types) {
      if (options_.numbers_only && !find(given.column)) continue;
      const std::size_t position = require(given.column);
      if (std::ranges::find(selection_.columns, position, &KeptColumn::position) != selection_.columns.end())
        continue;
      throw InvalidArgument(
          file_ + ": column " + quote_excerpt(given.column) + " is given a type, but " +
          (is_taken_[position] ? "it is the id or label" : "it is not among those that are kept"));
    }
  }

  // Rows of an input without it miss it.
  bool is_field_of_index(const std::string& name) const {
    return options_.schema &&
           std::ranges::find(options_.schema->fields, name, &Field::name) != options_.schema->fields.end();
  }

  void check_chosen() const {
    if (options_.columns) refuse_repeated(*options_.columns, "columns to keep");
    refuse_repeated(options_.stored, "stored columns");
    if (options_.columns)
      for (const std::string& name : *options_.columns)
        if (!is_field_of_index(name)) require(name);
    for (const std::string& name : options_.stored) {
      const std::size_t column = require(name);
      if (!is_taken_[column] && is_chosen(column)) continue;
      throw InvalidArgument(
          file_ + ": column " + quote_excerpt(name) + " cannot be stored: it is " +
          (is_taken_[column] ? "ranked, or the id or label" : "not among the columns that are kept"));
    }
  }

  void take_schema(const Schema& schema) {
    check_chosen();
    if (options_.is_partial) {
      for (const Attribute& attribute : schema.attributes)
        if (const std::optional<std::size_t> position = find(attribute.name))
          take_attribute(*position, attribute, true);
    } else {
      const std::vector<std::size_t> positions = schema_attributes(schema);
      for (std::size_t i = 0; i < positions.size(); ++i)
        take_attribute(positions[i], schema.attributes[i], true);
    }
    for (const Field& field : schema.fields) {
      const std::optional<std::size_t> position = find(field.name);
      if (!position || is_taken_[*position] || !is_chosen(*position)) continue;
      KeptColumn column = {*position, field.name};
      column.role = field.role;
      column.format = field.format;
      take(std::move(column));
    }
    refuse_unknown(schema);
  }

  // The columns of the file that hold the schema's attributes.
  std::vector<std::size_t> schema_attributes(const Schema& schema) const {
    std::vector<std::size_t> positions;
    if (!options_.attributes.empty()) {
      refuse_repeated_attributes();
      for (const Attribute& attribute : options_.attributes) positions.push_back(require(attribute.name));
    } else if (by_position_ && !has_all_names(schema)) {
      for (std::size_t position = 0; position < names_.size(); ++position)
        if (!is_taken_[position]) positions.push_back(position);
    } else {
      for (const Attribute& attribute : schema.attributes) {
        const std::optional<std::size_t> position = find(attribute.name);
        if (!position) throw MissingColumn(text_of_missing(attribute.name));
        positions.push_back(*position);
      }
    }
    if (positions.size() == schema.attributes.size()) return positions;
    throw InvalidArgument(file_ + ": " + std::to_string(positions.size()) +
                          (positions.size() == 1 ? " column" : " columns") + " for the " +
                          std::to_string(schema.attributes.size()) + " attributes of the index (" +
                          attribute_list(schema) + "): name the columns to take");
  }

  bool has_all_names(const Schema& schema) const {
    return std::ranges::all_of(schema.attributes,
                               [&](const Attribute& attribute) { return find(attribute.name).has_value(); });
  }

  static std::string attribute_list(const Schema& schema) {
    std::vector<std::string> names;
    for (const Attribute& attribute : schema.attributes) names.push_back(attribute.name);
    return quote_list(names);
  }

  // Names that are only positions are left out once others have been chosen.
  void refuse_unknown(const Schema& schema) const {
    if (by_position_ && !options_.attributes.empty()) return;
    std::vector<std::string> known;
    for (const Attribute& attribute : schema.attributes) known.push_back(attribute.name);
    for (const Field& field : schema.fields) known.push_back(field.name);
    known.push_back(id_title(schema));
    if (schema.has_labels) known.push_back(label_title(schema));
    for (std::size_t position = 0; position < names_.size(); ++position) {
      if (is_taken_[position] || !is_chosen(position)) continue;
      throw InputError(file_ + ": the index has no column " + quote_excerpt(names_[position]) +
                           did_you_mean(names_[position], known) + "; its columns are " + quote_list(known),
                       InputError::Remedy::choose_columns);
    }
  }

  const std::vector<std::string>& names_;
  const ReadOptions& options_;
  const std::string& file_;
  bool by_position_ = false;
  std::vector<bool> is_taken_;  // by attribute, field, id or label
  ColumnSelection selection_;
};

std::string title_beside_columns(std::string title, const Schema& schema) {
  const auto is_taken = [&] {
    return std::ranges::find(schema.attributes, title, &Attribute::name) != schema.attributes.end() ||
           std::ranges::find(schema.fields, title, &Field::name) != schema.fields.end();
  };
  while (is_taken()) title.insert(0, "row.");
  return title;
}

}  // namespace

std::optional<IdType> given_id_type(const ReadOptions& options) {
  return options.schema ? std::optional(options.schema->id_type) : options.id_type;
}

std::string id_title(const Schema& schema) {
  return title_beside_columns(schema.id_name.empty() ? "id" : schema.id_name, schema);
}

std::string label_title(const Schema& schema) {
  return title_beside_columns(schema.label_name.empty() ? "label" : schema.label_name, schema);
}

ColumnSelection select_columns(const std::vector<std::string>& names, const ReadOptions& options,
                               const std::string& file, bool by_position) {
  return Selector(names, options, file).select(by_position);
}

void check_column_counts(const std::vector<std::string>& attributes, const std::vector<std::string>& fields,
                         bool chosen, const std::string& file, bool may_be_none) {
  if (attributes.empty() && !may_be_none)
    throw InputError(file + ": no attribute: expected at least one numeric column besides id and label" +
                         (fields.empty() ? "" : "; the other columns are " + quote_list(fields)),
                     fields.empty() ? InputError::Remedy::none : InputError::Remedy::choose_attributes);
  if (attributes.size() > kMaxAttributes && !chosen) {
    constexpr std::size_t kShown = 10;
    throw InputError(file + ": " + std::to_string(attributes.size()) + " columns of numbers, and at most " +
                         std::to_string(kMaxAttributes) +
                         " can be ranked: choose them, the others become filter columns. They are " +
                         quote_list(std::span(attributes).first(kShown)) + " and " +
                         std::to_string(attributes.size() - kShown) + " more",
                     InputError::Remedy::choose_attributes);
  }
  if (fields.size() > kMaxFields) {
    throw InputError(file + ": " + std::to_string(fields.size()) +
                         " columns besides the ranked ones, and at most " + std::to_string(kMaxFields) +
                         " can be kept: choose them",
                     InputError::Remedy::choose_columns);
  }
}

std::vector<std::string> default_column_names(std::size_t num_columns) {
  std::vector<std::string> names;
  for (std::size_t column = 0; column < num_columns; ++column) {
    names.emplace_back("a").append(std::to_string(column));
  }
  return names;
}

std::optional<std::size_t> find_repeated_name(const std::vector<Attribute>& attributes) {
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    if (!seen.insert(attributes[i].name).second) return i;
  }
  return std::nullopt;
}

}  // namespace culmen::io
