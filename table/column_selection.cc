#include "table/column_selection.h"

#include <algorithm>
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
    take_id_and_label();
    if (options_.schema) {
      take_schema(*options_.schema);
    } else {
      take_named_attributes();
      take_others();
    }
    return std::move(selection_);
  }

 private:
  std::optional<std::size_t> find(const std::string& wanted) const {
    const auto found = std::find(names_.begin(), names_.end(), wanted);
    if (wanted.empty() || found == names_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names_.begin());
  }

  std::size_t require(const std::string& wanted) const {
    if (const auto column = find(wanted)) return *column;
    throw InvalidArgument(file_ + ": no column " + quote_excerpt(wanted) + did_you_mean(wanted, names_) +
                          "; the columns are " + quote_list(names_));
  }

  void take_id_and_label() {
    if (!options_.id_column.empty()) selection_.id = require(options_.id_column);
    if (!options_.label_column.empty()) selection_.label = require(options_.label_column);
    if (options_.schema) {
      const std::optional<std::size_t> id = find(options_.schema->id_name);
      const std::optional<std::size_t> label = find(options_.schema->label_name);
      if (!selection_.id && !options_.assign_ids) selection_.id = id;
      if (!selection_.label && options_.schema->has_labels) selection_.label = label;
      if (id) is_taken_[*id] = true;
      if (label) is_taken_[*label] = true;
    }
    if (selection_.id) is_taken_[*selection_.id] = true;
    if (selection_.label) is_taken_[*selection_.label] = true;
  }

  void take(KeptColumn column) {
    is_taken_[column.position] = true;
    selection_.columns.push_back(std::move(column));
  }

  void take_attribute(std::size_t position, const Attribute& attribute, bool has_format) {
    KeptColumn column = {position, attribute.name, true};
    column.attribute = attribute;
    if (has_format) column.format = attribute.format;
    take(std::move(column));
  }

  void take_named_attributes() {
    if (const auto repeated = find_repeated_name(options_.attributes)) {
      throw InvalidArgument("attribute " + quote_excerpt(options_.attributes[*repeated].name) +
                            " is named twice");
    }
    for (const Attribute& attribute : options_.attributes)
      take_attribute(require(attribute.name), attribute, false);
  }

  bool is_chosen(std::size_t column) const {
    return !options_.columns ||
           std::ranges::find(*options_.columns, names_[column]) != options_.columns->end();
  }

  void take_others() {
    check_chosen();
    for (std::size_t position = 0; position < names_.size(); ++position) {
      if (is_taken_[position] || !is_chosen(position)) continue;
      if (names_[position].empty()) {
        throw InputError(
            file_ + ":1:" + std::to_string(position + 1) + ": expected a column name, found none",
            InputError::Remedy::choose_columns);
      }
      KeptColumn column = {position, names_[position]};
      if (std::ranges::find(options_.stored, column.name) != options_.stored.end())
        column.role = FieldRole::stored;
      column.is_undecided = !column.role && options_.attributes.empty();
      column.attribute.name = column.name;
      if (options_.numbers_only && column.is_undecided) {
        column.is_attribute = true;
        column.format.emplace();
      }
      take(std::move(column));
    }
  }

  void check_chosen() const {
    if (options_.columns)
      for (const std::string& name : *options_.columns) require(name);
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
    const std::vector<std::size_t> positions = schema_attributes(schema);
    for (std::size_t i = 0; i < positions.size(); ++i)
      take_attribute(positions[i], schema.attributes[i], true);
    for (const Field& field : schema.fields) {
      const std::optional<std::size_t> position = find(field.name);
      if (!position || is_taken_[*position] || !is_chosen(*position)) continue;
      take({*position, field.name, false, false, {}, field.role, field.format});
    }
    refuse_unknown(schema);
  }

  // The columns of the file that hold the schema's attributes.
  std::vector<std::size_t> schema_attributes(const Schema& schema) const {
    std::vector<std::size_t> positions;
    if (!options_.attributes.empty()) {
      for (const Attribute& attribute : options_.attributes) positions.push_back(require(attribute.name));
    } else if (by_position_ && !has_all_names(schema)) {
      for (std::size_t position = 0; position < names_.size(); ++position)
        if (!is_taken_[position]) positions.push_back(position);
    } else {
      for (const Attribute& attribute : schema.attributes) positions.push_back(require(attribute.name));
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
    for (const std::string& name : {schema.id_name, schema.label_name})
      if (!name.empty()) known.push_back(name);
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

}  // namespace

ColumnSelection select_columns(const std::vector<std::string>& names, const ReadOptions& options,
                               const std::string& file, bool by_position) {
  return Selector(names, options, file).select(by_position);
}

void check_column_counts(std::size_t num_attributes, std::size_t num_fields, bool chosen,
                         const std::string& file) {
  if (num_attributes == 0)
    throw InputError(file + ": no attribute: expected at least one numeric column besides id and label");
  if (num_attributes > kMaxAttributes && !chosen) {
    throw InputError(file + ": " + std::to_string(num_attributes) + " columns of numbers, and at most " +
                         std::to_string(kMaxAttributes) +
                         " can be ranked: choose them, the others become filter columns",
                     InputError::Remedy::choose_attributes);
  }
  if (num_fields > kMaxFields) {
    throw InputError(file + ": " + std::to_string(num_fields) +
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
