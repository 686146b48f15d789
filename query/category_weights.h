// CategoryWeights: a weight for each of some values of a column, of which a row has at most one. Host and device run this
// code; query/function_terms.h has the terms of a query.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/host_device.h"
#include "index/child_zones.h"
#include "index/field_key.h"

namespace culmen {

struct KeyWeight {
  std::int64_t key;
  double weight;
};

struct CategoryWeights {
  const KeyWeight* weights;  // [size] by key; no two are equal
  std::uint32_t size;

  // The position of the weight of that key or the next one.
  CULMEN_HOST_DEVICE std::uint32_t first_from(std::int64_t key) const {
    std::uint32_t first = 0, end = size;
    while (first < end) {
      const std::uint32_t middle = (first + end) / 2;
      if (weights[middle].key < key) {
        first = middle + 1;
      } else {
        end = middle;
      }
    }
    return first;
  }
  // Null: the key is none of them.
  CULMEN_HOST_DEVICE const double* weight_of(std::int64_t key) const {
    const std::uint32_t at = first_from(key);
    return at < size && weights[at].key == key ? &weights[at].weight : nullptr;
  }
  // The most that one of some rows gets: of rows with such keys and, unless there is only one and no gap, of others.
  CULMEN_HOST_DEVICE double highest(const ColumnSummary& zone) const {
    if (zone.minimum > zone.maximum) return 0;
    if (zone.minimum == zone.maximum && !zone.some_missing) {
      const double* weight = weight_of(zone.minimum);
      return weight == nullptr ? 0 : *weight;
    }
    double highest = 0;
    for (std::uint32_t at = first_from(zone.minimum); at < size && weights[at].key <= zone.maximum; ++at)
      if ((zone.set & key_set_bit(weights[at].key)) != 0) highest = std::fmax(highest, weights[at].weight);
    return highest;
  }
};

}  // namespace culmen
