#include "tools/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>

#include "tools/numbers.h"
#include "tools/streams.h"

namespace culmen::tools {
namespace {

template <typename Counter>
double mean(std::span<const SearchResult> results, Counter counter) {
  double sum = 0;
  for (const SearchResult& result : results) sum += static_cast<double>(result.stats.*counter);
  return sum / static_cast<double>(results.size());
}

std::string whole(double value) {
  return grouped(static_cast<std::uint64_t>(std::llround(value)));
}

// The planner may choose differently from query to query.
std::string engine_names(std::span<const SearchResult> results) {
  std::set<std::string_view> names;
  for (const SearchResult& result : results)
    names.insert(result.stats.ids_looked_up > 0 ? "none (ids looked up)" : engine_name(result.stats.engine));
  std::set<int> devices;
  for (const SearchResult& result : results)
    if (result.stats.device != kNoDevice) devices.insert(result.stats.device);
  return fmt::format("{}{}", fmt::join(names, " and "),
                     devices.empty() ? "" : fmt::format(" on GPU {}", fmt::join(devices, " and ")));
}

}  // namespace

void print_summary(std::span<const SearchResult> results) {
  if (results.empty()) return;
  const bool many = results.size() > 1;
  const double scored = mean(results, &SearchStats::rows_scored);
  const double in_index = mean(results, &SearchStats::rows_in_index);
  say("{}{} of {} rows scored ({}), {}, engine {}\n",
      many ? fmt::format("{} queries, each on average: ", grouped(results.size())) : "", whole(scored),
      whole(in_index), in_percent(scored, in_index), in_time(mean(results, &SearchStats::elapsed_us)),
      engine_names(results));
}

void print_profile(std::span<const SearchResult> results, std::uint64_t num_reads, double elapsed_us) {
  if (results.empty()) return;
  say("leaves visited   {}\n", whole(mean(results, &SearchStats::leaves_visited)));
  say("rows by codes    {}\n", whole(mean(results, &SearchStats::rows_by_codes)));
  say("nodes visited    {}\n", whole(mean(results, &SearchStats::nodes_visited)));
  say("bounds computed  {}\n", whole(mean(results, &SearchStats::bounds_computed)));
  say("tied out         {}\n", whole(mean(results, &SearchStats::leaves_tied_out)));
  say("candidates       {}\n", whole(mean(results, &SearchStats::candidates)));
  say("replacements     {}\n", whole(mean(results, &SearchStats::replacements)));
  say("bytes touched    {}\n", whole(mean(results, &SearchStats::bytes_touched)));
  if (const double ids = mean(results, &SearchStats::ids_looked_up); ids > 0)
    say("ids looked up    {}, {} of {} by the map of ids\n", whole(ids),
        std::ranges::count_if(results, [](const SearchResult& result) { return result.stats.by_id_map; }),
        results.size());
  if (num_reads > 0) say("read from files  {} leaves and nodes, by all queries\n", grouped(num_reads));
  say("time of all      {}\n", in_time(elapsed_us));
}

void print_prediction(const Index& index, std::span<const Query> queries,
                      std::span<const SearchResult> results, const SearchOptions& options) {
  constexpr std::size_t kMaxPlans = 100;
  double predicted = 0, measured = 0;
  for (std::size_t q = 0; q < std::min(kMaxPlans, results.size()); ++q) {
    const SearchStats& stats = results[q].stats;
    if (stats.device >= 0 && results.size() > 1)
      continue;  // each query of a batch on a GPU has the time of all
    if (stats.ids_looked_up > 0) continue;
    SearchOptions named = options;
    named.engine = stats.engine;  // by name a probe predicts it: a plan for `auto` would search again
    const Explanation explanation = index.explain(queries[q], named);
    for (const Prediction& prediction : explanation.predictions)
      if (prediction.engine == stats.engine && prediction.device == stats.device) {
        predicted += prediction.elapsed_us;
        measured += stats.elapsed_us;
      }
  }
  if (measured > 0)
    say("predicted        {}, measured {} ({:.2f} x)\n", in_time(predicted), in_time(measured),
        measured / predicted);
}

}  // namespace culmen::tools
