// Parses weights: from the command line, or from a file with one query per row, which may also have its own filter, k and
// minimum score.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/index.h"

namespace culmen::tools {

// "price=-0.4,rating=1.2" (attributes not named get 0) or "-0.4,1.2" (one number per attribute, in order). Names may be
// in double quotes; a quote inside is doubled. Throws InvalidArgument listing the names.
std::vector<double> parse_weights(std::string_view text, const Index& index);

// A row of a file of weights.
struct WeightsRow {
  std::vector<double> weights;
  Filter where;                     // everything, if the row has none
  std::optional<std::size_t> k;     // nullopt: the row has none
  std::optional<double> min_score;  // so
};

// CSV and JSON Lines: columns are called as attributes, which get 0 if they are not named or if a line of JSON Lines leaves
// them out; or else where, k or min_score. NPY, fvecs, fbin: weights by position. Throws InvalidArgument for names, shapes and
// filters that do not match the index, otherwise as read_table.
std::vector<WeightsRow> read_weights_file(const std::string& path, const Index& index);

// "price=-0.4, rating=1.2": the non-zero weights.
std::string weights_text(const std::vector<double>& weights, const IndexInfo& info);

}  // namespace culmen::tools
