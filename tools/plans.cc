#include "tools/plans.h"

#include <fmt/core.h>

#include <string>

#include "coding/answer_json.h"
#include "coding/json_text.h"
#include "tools/weights.h"

namespace culmen::tools {
namespace {

Json placement_json(const Placement& place) {
  return {{"device", device_text(place.device)},
          {"reason", place.reason},
          {"cpu_us", place.cpu_us},
          {"device_us", place.device_us},
          {"copy_us", place.copy_us}};
}

Placement placement_of(const PlannedQueries& planned) {
  return planned.index.place(planned.queries, {.num_threads = planned.options.num_threads});
}

void write_text(const PlannedQueries& planned, Output& out) {
  const IndexInfo info = planned.index.info();
  for (std::size_t i = 0; i < planned.queries.size(); ++i) {
    if (planned.batch)
      out.write(fmt::format("query {}: {}\n", i + 1, weights_text(planned.queries[i].weights, info)));
    std::string text = planned.index.explain(planned.queries[i], planned.options).text;
    if (!text.ends_with('\n')) text += '\n';
    out.write(text);
  }
  if (!planned.batch || planned.queries.empty()) return;
  const Placement place = placement_of(planned);
  out.write(fmt::format("all {} queries: on {}, {}\n", planned.queries.size(),
                        place.device == kNoDevice ? "the CPU" : fmt::format("GPU {}", place.device),
                        place.reason));
}

}  // namespace

void write_plans(const PlannedQueries& planned, std::string_view format, Output& out) {
  if (format == "table") return write_text(planned, out);
  const bool in_lines = format == "jsonl";
  const IndexInfo info = planned.index.info();
  if (!in_lines) out.write("{\"queries\":[");
  for (std::size_t i = 0; i < planned.queries.size(); ++i) {
    if (i != 0 && !in_lines) out.write(",\n");
    const Query& query = planned.queries[i];
    out.write(json_text(plan_json(query, info, planned.index.explain(query, planned.options))));
    if (in_lines) out.write("\n");
  }
  const bool has_placement = planned.batch && !planned.queries.empty();
  const std::string placement = has_placement ? json_text(placement_json(placement_of(planned))) : "";
  if (!in_lines) {
    out.write(has_placement ? "],\"placement\":" + placement + "}\n" : "]}\n");
  } else if (has_placement) {
    out.write("{\"placement\":" + placement + "}\n");
  }
}

}  // namespace culmen::tools
