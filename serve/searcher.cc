#include "serve/searcher.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "culmen/device.h"
#include "culmen/device_group.h"
#include "culmen/error.h"

namespace culmen::serve {
namespace {

// A single query has a call of its own: a batch of one would be slower.
std::vector<SearchResult> search_with(const auto& index, std::span<const Query> queries,
                                      const SearchOptions& how) {
  if (queries.size() != 1) return index.search(queries, how);
  std::vector<SearchResult> results;
  results.push_back(index.search(queries.front(), how));
  return results;
}

}  // namespace

Searcher::Search copy_to_devices(const AnyIndex& index, const ServeOptions& options) {
  if (options.devices.empty()) return {};
  const Index& one = index.only("--device");
  if (options.devices.size() > 1)
    return [copies = one.to_devices(options.devices, options.on_devices)](std::span<const Query> queries,
                                                                          const SearchOptions& how) {
      return search_with(copies, queries, how);
    };
  return [copy = one.to_device({.device = options.devices.front(), .memory = options.on_devices.memory})](
             std::span<const Query> queries, const SearchOptions& how) {
    return search_with(copy, queries, how);
  };
}

Searcher::Searcher(const AnyIndex& index, Search on_devices, std::function<void(const std::string&)> report)
    : index_(index), report_(std::move(report)), on_devices_(std::move(on_devices)) {}

std::vector<SearchResult> Searcher::search(std::span<const Query> queries, const SearchOptions& how) {
  return on_devices_ ? search_on_devices(queries, how) : search_on_cpu(queries, how);
}

std::vector<SearchResult> Searcher::search_on_devices(std::span<const Query> queries,
                                                      const SearchOptions& how) {
  std::string problem;
  try {
    return on_devices_(queries, how);
  } catch (const CudaError& error) {  // no room for a new version of the index, say
    problem = error.what();
  }
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(last_problem_, problem) == problem) problem.clear();
  }
  if (!problem.empty()) report_("answering on the CPU: " + problem);
  return search_on_cpu(queries, how);
}

std::vector<SearchResult> Searcher::search_on_cpu(std::span<const Query> queries,
                                                  const SearchOptions& how) const {
  return search_with(index_, queries, how);
}

}  // namespace culmen::serve
