// PredicateList: the predicates of a batch's queries one after the other, equal ones once.
#pragma once

#include <tbb/concurrent_unordered_map.h>

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace culmen::gpu {

class PredicateList {
 public:
  // For queries that may have one; 0: no query has.
  explicit PredicateList(std::size_t num_queries) : of_query_(num_queries) {}

  // As pack_predicate returns it. By any thread, for different queries. Of equal ones only the first is kept, as queries
  // that share a large set of ids may be thousands.
  void set(std::size_t query, std::vector<std::byte> predicate) {
    if (!predicate.empty()) of_query_[query] = &*offsets_.emplace(std::move(predicate), 0).first;
  }

  // All of them, each aligned as the first is.
  std::vector<std::byte> join() {
    std::size_t size = 0;
    for (const auto& [predicate, offset] : offsets_) size += predicate.size();
    std::vector<std::byte> joined;
    joined.reserve(size);
    for (auto& [predicate, offset] : offsets_) {
      offset = joined.size();
      joined.insert(joined.end(), predicate.begin(), predicate.end());
    }
    return joined;
  }

  // After join(): calls use(query, offset) for each query that has one.
  template <typename Use>
  void for_each(Use&& use) const {
    for (std::size_t q = 0; q < of_query_.size(); ++q)
      if (of_query_[q] != nullptr) use(q, of_query_[q]->second);
  }

 private:
  struct Hash {
    std::size_t operator()(const std::vector<std::byte>& bytes) const {
      return std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    }
  };
  using Offsets =
      tbb::concurrent_unordered_map<std::vector<std::byte>, std::size_t, Hash>;  // in what join() returns

  Offsets offsets_;
  std::vector<const Offsets::value_type*> of_query_;
};

}  // namespace culmen::gpu
