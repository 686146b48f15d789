// Queries: weights, k and a filter. docs/contract.md has the rules for answers (order, ties, k, NaN).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace culmen {

// An attribute of the index, by its position (from 0) or by its name.
using AttributeRef = std::variant<int, std::string>;

// A row passes if minimum <= value <= maximum.
struct Range {
  AttributeRef attribute = 0;
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();

  friend bool operator==(const Range&, const Range&) = default;
};

// A conjunction of ranges; without any, every row passes. An attribute may appear more than once.
using Filter = std::vector<Range>;

enum class Scale : std::uint8_t {
  none,    // weights apply to the attributes as they are
  minmax,  // weights apply to (a - min) / (max - min), with the index's own minimum and maximum
};

struct Query {
  std::vector<double> weights;  // [num_attributes] finite, at least one not zero; 0 = attribute not used
  // The number of rows, 1 or more; if fewer pass, all of them. nullopt, only with min_score: every row that reaches it.
  std::optional<std::size_t> k = 10;
  Filter where = {};
  std::optional<double> min_score = {};  // only rows with score >= min_score
  Scale scale = Scale::none;
};

// Many queries that differ in their weights alone.
struct QueryBatch {
  std::span<const double> weights;  // [num_queries][num_attributes], each row as in Query::weights
  std::size_t k = 10;               // 1 or more
  Filter where = {};
  std::optional<double> min_score = {};
  Scale scale = Scale::none;
};

}  // namespace culmen
