// Answers: of one query, and of many that differ in their weights.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string_view>

#include "culmen/index.h"

namespace culmen::python {

// Which version answered is part of it, so that attributes and labels of the hits stay readable.
struct ManyAnswers {
  BatchAnswers answers;
  Index index;  // that version
};

// The rows of `weights` as queries, with one version of the index. Stops between parts of the batch when a
// signal wants it to.
ManyAnswers search_many(const Index& index, const QueryBatch& batch, const SearchOptions& options);

}  // namespace culmen::python
