#include "api/shard_answers.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <utility>

#include "api/batch_answers.h"
#include "gpu/group/merge_hits.h"

namespace culmen {
namespace {

constexpr std::size_t kGrainOfQueries = 64;

SearchResult merge_result(std::span<SearchResult* const> parts, std::size_t k) {
  SearchResult merged = *parts.front();
  std::vector<std::size_t> sizes, next(parts.size());
  for (const SearchResult* part : parts) {
    sizes.push_back(part->hits.size());
    if (part != parts.front()) merged.stats += part->stats;
    merged.stats.elapsed_us = std::max(merged.stats.elapsed_us, part->stats.elapsed_us);
  }
  merged.hits.clear();
  const auto hit = [&](std::size_t list, std::size_t rank) -> const Hit& { return parts[list]->hits[rank]; };
  gpu::merge_hits(
      sizes, k, next, [&](std::size_t list, std::size_t rank) { return hit(list, rank).score; },
      [&](std::size_t list, std::size_t rank) { return hit(list, rank).id; },
      [&](std::size_t list, std::size_t rank) { merged.hits.push_back(hit(list, rank)); });
  return merged;
}

}  // namespace

std::vector<SearchResult> merge_results(std::vector<std::vector<SearchResult>> parts,
                                        std::span<const std::size_t> ks) {
  std::vector<SearchResult> merged(ks.size());
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, ks.size(), kGrainOfQueries),
                    [&](const tbb::blocked_range<std::size_t>& range) {
                      std::vector<SearchResult*> of_query(parts.size());
                      for (std::size_t q = range.begin(); q < range.end(); ++q) {
                        for (std::size_t p = 0; p < parts.size(); ++p) of_query[p] = &parts[p][q];
                        merged[q] = merge_result(of_query, ks[q]);
                      }
                    });
  return merged;
}

void merge_answers(std::span<const BatchAnswers> parts, const AnswerArrays& answers) {
  const std::size_t k = parts.front().k;
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, answers.counts.size(), kGrainOfQueries),
                    [&](const tbb::blocked_range<std::size_t>& range) {
                      std::vector<std::size_t> sizes(parts.size()), next(parts.size());
                      std::vector<Hit> hits;
                      for (std::size_t q = range.begin(); q < range.end(); ++q) {
                        const std::size_t first = q * k;
                        for (std::size_t p = 0; p < parts.size(); ++p) sizes[p] = parts[p].counts[q];
                        hits.clear();
                        const auto id = [&](std::size_t part, std::size_t rank) {
                          return parts[part].ids[first + rank];
                        };
                        const auto score = [&](std::size_t part, std::size_t rank) {
                          return parts[part].scores[first + rank];
                        };
                        gpu::merge_hits(sizes, k, next, score, id, [&](std::size_t part, std::size_t rank) {
                          hits.push_back({id(part, rank), score(part, rank)});
                        });
                        set_answer(hits, q, answers);
                      }
                    });
}

}  // namespace culmen
