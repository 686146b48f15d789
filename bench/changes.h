// What the benchmarks of changes have in common: the size of an index and of the batches that change it, and random rows.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "bench/flags.h"
#include "culmen/culmen.h"

namespace culmen::bench {

struct ChangeSettings {
  std::uint64_t rows;
  int dims = 8;
  std::uint64_t batch = 1000;
  int batches = 200;
  int threads = 0;
};

// Returns whether `argument` is a flag of these, and sets it.
inline bool take_change_flag(std::string_view argument, ChangeSettings& settings) {
  return take_flag(argument, "--rows=", settings.rows) || take_flag(argument, "--dims=", settings.dims) ||
         take_flag(argument, "--batch=", settings.batch) ||
         take_flag(argument, "--batches=", settings.batches) ||
         take_flag(argument, "--threads=", settings.threads);
}

// Uniform values, row-major, of attributes with the names that generate_table gives them.
class RandomRows {
 public:
  RandomRows(int dims, std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < dims; ++i) attributes_.push_back({std::string("a").append(std::to_string(i))});
  }

  // Valid until the next call.
  TableView next(std::uint64_t count) {
    std::uniform_real_distribution<float> uniform(0, 1);
    values_.resize(count * attributes_.size());
    for (float& value : values_) value = uniform(random_);
    return row_major_table<float>(values_, attributes_);
  }

 private:
  std::mt19937_64 random_;
  std::vector<Attribute> attributes_;
  std::vector<float> values_;
};

}  // namespace culmen::bench
