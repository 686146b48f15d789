// Rows that are added one by one, as the columns of a table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "culmen/table.h"

namespace culmen::test {

class RowColumns {
 public:
  explicit RowColumns(std::vector<Attribute> attributes, bool has_labels = false)
      : attributes_(std::move(attributes)), has_labels_(has_labels), columns_(attributes_.size()) {
    labels_.offsets.push_back(0);
  }

  void add(std::int64_t id, std::span<const double> values, std::string_view label = {}) {
    ids_.push_back(id);
    for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].push_back(values[i]);
    labels_.bytes.insert(labels_.bytes.end(), label.begin(), label.end());
    labels_.offsets.push_back(labels_.bytes.size());
  }

  // Points into this object.
  TableView view() const {
    TableView view = {ids_.size(), attributes_, {}, ids_, has_labels_ ? labels_.view() : LabelsView{}};
    for (const std::vector<double>& column : columns_) view.columns.emplace_back(column);
    return view;
  }

 private:
  std::vector<Attribute> attributes_;
  bool has_labels_;
  std::vector<std::vector<double>> columns_;
  std::vector<std::int64_t> ids_;
  Labels labels_;
};

}  // namespace culmen::test
