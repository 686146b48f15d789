// Who searches: the CPU, or GPUs, with the CPU where those fail.
#pragma once

#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "coding/any_index.h"
#include "culmen/search.h"
#include "serve/options.h"

namespace culmen::serve {

class Searcher {
 public:
  using Search = std::function<std::vector<SearchResult>(std::span<const Query>, const SearchOptions&)>;

  // `on_devices`: empty if there are none. `report` is told why they could not answer, once for each reason. `index` must
  // live as long.
  Searcher(const AnyIndex& index, Search on_devices, std::function<void(const std::string&)> report);

  // Throws as Index::search. May be called by several threads.
  std::vector<SearchResult> search(std::span<const Query> queries, const SearchOptions& how);

 private:
  std::vector<SearchResult> search_on_devices(std::span<const Query> queries, const SearchOptions& how);
  std::vector<SearchResult> search_on_cpu(std::span<const Query> queries, const SearchOptions& how) const;

  const AnyIndex& index_;
  const std::function<void(const std::string&)> report_;
  const Search on_devices_;
  std::mutex mutex_;
  std::string last_problem_;
};

// Copies the index to `options.devices`; empty if it names none. Throws as Index::to_devices, and InvalidArgument for a
// sharded index.
Searcher::Search copy_to_devices(const AnyIndex& index, const ServeOptions& options);

}  // namespace culmen::serve
