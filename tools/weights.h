// Parses weights: from the command line, or from a file with one query per row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "culmen/index.h"

namespace culmen::tools {

// "price=-0.4,rating=1.2" (attributes not named get 0) or "-0.4,1.2" (one number per attribute, in order). Names may be
// in double quotes; a quote inside is doubled. Throws InvalidArgument listing the names.
std::vector<double> parse_weights(std::string_view text, const Index& index);

// Reads one weight vector per row. CSV: the header names attributes; those not named get 0. NPY, fvecs, fbin: by
// position. Throws InvalidArgument for names and shapes that do not match the index, otherwise as read_table.
std::vector<std::vector<double>> read_weights_file(const std::string& path, const Index& index);

// "price=-0.4, rating=1.2": the non-zero weights.
std::string weights_text(const std::vector<double>& weights, const IndexInfo& info);

}  // namespace culmen::tools
