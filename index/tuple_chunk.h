// TupleChunk: oriented values of some tuples. One attribute stands together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace culmen {

class TupleChunk {
 public:
  TupleChunk(std::size_t num_tuples, std::size_t num_attributes)
      : num_tuples_(num_tuples), num_attributes_(num_attributes), values_(num_tuples * num_attributes) {}

  std::size_t num_tuples() const { return num_tuples_; }
  std::size_t num_attributes() const { return num_attributes_; }
  double& operator()(std::size_t tuple, std::size_t attribute) {
    return values_[attribute * num_tuples_ + tuple];
  }
  double operator()(std::size_t tuple, std::size_t attribute) const {
    return values_[attribute * num_tuples_ + tuple];
  }
  std::span<double> attribute(std::size_t i) { return {values_.data() + i * num_tuples_, num_tuples_}; }
  std::span<const double> attribute(std::size_t i) const {
    return {values_.data() + i * num_tuples_, num_tuples_};
  }

 private:
  std::size_t num_tuples_, num_attributes_;
  std::vector<double> values_;
};

}  // namespace culmen
