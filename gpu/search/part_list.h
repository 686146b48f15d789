// PartList: the predicates of a batch's queries one after the other, equal ones once; or their functions.
#pragma once

#include <tbb/concurrent_unordered_map.h>

#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace culmen::gpu {

class PartList {
 public:
  // For queries that may have one; 0: no query has.
  explicit PartList(std::size_t num_queries) : of_query_(num_queries) {}

  // As pack_predicate and pack_functions return it. By any thread, for different queries. Of equal ones only the first is kept,
  // as queries that share a large set of ids may be thousands.
  void set(std::size_t query, std::vector<std::byte> part) {
    if (!part.empty()) of_query_[query] = &*offsets_.emplace(std::move(part), 0).first;
  }

  // All of them, each aligned as the first is.
  std::vector<std::byte> join() {
    std::size_t size = 0;
    for (const auto& [part, offset] : offsets_) size += part.size();
    std::vector<std::byte> joined;
    joined.reserve(size);
    for (auto& [part, offset] : offsets_) {
      offset = joined.size();
      joined.insert(joined.end(), part.begin(), part.end());
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
