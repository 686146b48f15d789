// RowChunk: oriented values of some rows, attribute by attribute.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "culmen/array.h"

namespace culmen {

class RowChunk {
 public:
  // memory: null for the heap.
  RowChunk(std::size_t num_rows, std::size_t num_attributes,
           const std::shared_ptr<ArrayMemory>& memory = nullptr)
      : num_rows_(num_rows), num_attributes_(num_attributes), values_(num_rows * num_attributes, memory) {}

  std::size_t num_rows() const { return num_rows_; }
  std::size_t num_attributes() const { return num_attributes_; }
  // For what is made of it.
  std::shared_ptr<ArrayMemory> memory() const { return values_.get_allocator().memory(); }
  double& operator()(std::size_t row, std::size_t attribute) { return values_[attribute * num_rows_ + row]; }
  double operator()(std::size_t row, std::size_t attribute) const {
    return values_[attribute * num_rows_ + row];
  }
  std::span<double> attribute(std::size_t i) { return {values_.data() + i * num_rows_, num_rows_}; }
  std::span<const double> attribute(std::size_t i) const {
    return {values_.data() + i * num_rows_, num_rows_};
  }

 private:
  std::size_t num_rows_, num_attributes_;
  Array<double> values_;
};

}  // namespace culmen
