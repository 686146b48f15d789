#include "query/sample_index.h"

#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace culmen {

Index sample_index(std::size_t num_rows, int dims, SampleValues kind) {
  std::mt19937_64 random(1);
  std::vector<float> values(num_rows * static_cast<std::size_t>(dims), 0.3F);
  if (kind == SampleValues::independent)
    for (float& value : values) value = static_cast<float>(random() >> 40) * 0x1p-24F;
  std::vector<Attribute> attributes;
  for (int i = 0; i < dims; ++i) attributes.push_back({"a" + std::to_string(i)});
  return Index::build(row_major_table(std::span<const float>(values), std::move(attributes)));
}

}  // namespace culmen
