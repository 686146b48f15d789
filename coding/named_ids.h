// Ids as people name them: numbers, or texts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/filter.h"
#include "culmen/id_set.h"
#include "culmen/write.h"

namespace culmen {

struct NamedIds {
  IdType type = IdType::int64;
  std::vector<std::int64_t> numbers = {};  // unless they are texts
  std::vector<std::string> texts = {};     // of IdType::text

  std::size_t size() const { return type == IdType::text ? texts.size() : numbers.size(); }
  std::string text(std::size_t i) const {
    return type == IdType::text ? texts[i] : id_text(numbers[i], type);
  }
  std::vector<std::string_view> views() const { return {texts.begin(), texts.end()}; }

  void keep_one_of_each() {
    const auto keep = [](auto& ids) {
      std::sort(ids.begin(), ids.end());
      ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    };
    keep(numbers);
    keep(texts);
  }
};

// The rows with these ids.
inline Filter filter_of(const NamedIds& ids) {
  if (ids.type != IdType::text) return Filter::ids_in(IdSet(ids.numbers, ids.type));
  return Filter::ids_in(IdSet(ids.views()));
}

// `views` has the texts until the batch is written.
inline void erase(const NamedIds& ids, std::vector<std::string_view>& views, WriteBatch& batch) {
  if (ids.type != IdType::text) {
    batch.erase(ids.numbers);
    return;
  }
  views.assign(ids.texts.begin(), ids.texts.end());
  batch.erase(views);
}

}  // namespace culmen
