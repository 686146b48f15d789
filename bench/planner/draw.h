// The tables and random questions that the planner is measured with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "culmen/query.h"

namespace culmen::bench {

struct TableCase {
  std::string kind;  // one of generate_table's
  std::uint64_t rows;
  int dims;
};

// Every kind in every size and width of up to `max_values` attribute values.
std::vector<TableCase> table_cases(std::uint64_t max_values);

// One question and its parameters.
struct Question {
  Query query;
  int num_used = 0;      // attributes with a weight
  int num_negative = 0;  // of those
};

//   used      all attributes half of the time, else 1 to d of them
//   signs     all positive half of the time, else each by a coin; every attribute is better when it is high
//   size      uniform in (0, 1], a quarter of the time 8, 4, 2, 1, 1/2, ...
//   k         log-uniform 1 .. 1,000 nine times of ten, else log-uniform 1 .. rows
//   where     none six times of ten, else 1 or 2 ranges around two rows' values: `sample` [rows][dims]
Question draw_question(std::mt19937_64& random, const TableCase& table,
                       const std::vector<std::vector<double>>& sample);

}  // namespace culmen::bench
