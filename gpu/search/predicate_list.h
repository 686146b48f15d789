// PredicateList: the predicates of a batch's queries one after the other, equal ones once.
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace culmen::gpu {

class PredicateList {
 public:
  // For queries that may have one; 0: no query has.
  explicit PredicateList(std::size_t num_queries) : predicates_(num_queries) {}

  // As pack_predicate returns it. By any thread, for different queries.
  void set(std::size_t query, std::vector<std::byte> predicate) { predicates_[query] = std::move(predicate); }

  // All of them, each aligned as the first is.
  std::vector<std::byte> join() {
    std::vector<std::byte> joined;
    std::unordered_map<std::string_view, std::size_t> known;
    offsets_.assign(predicates_.size(), kNone);
    for (std::size_t q = 0; q < predicates_.size(); ++q) {
      if (predicates_[q].empty()) continue;
      const std::string_view bytes(reinterpret_cast<const char*>(predicates_[q].data()),
                                   predicates_[q].size());
      const auto [place, is_new] = known.emplace(bytes, joined.size());
      if (is_new) joined.insert(joined.end(), predicates_[q].begin(), predicates_[q].end());
      offsets_[q] = place->second;
    }
    return joined;
  }

  // After join(): calls use(query, offset) for each query that has one.
  template <typename Use>
  void for_each(Use&& use) const {
    for (std::size_t q = 0; q < offsets_.size(); ++q)
      if (offsets_[q] != kNone) use(q, offsets_[q]);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::vector<std::vector<std::byte>> predicates_;
  std::vector<std::size_t> offsets_;
};

}  // namespace culmen::gpu
