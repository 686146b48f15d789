#include "planner/explain.h"

#include <cmath>
#include <cstdio>

namespace culmen {
namespace {

// Prints integers in full: a million leaves are not 1e+06.
std::string number(double value) {
  const bool is_whole = std::abs(value) <= 0x1p53 && value == std::trunc(value);
  char text[32];
  std::snprintf(text, sizeof text, is_whole ? "%.0f" : "%.9g", value);
  return text;
}

// "max{price + rating}" for a bounds row.
std::string row_name(const Snapshot& snapshot, int row) {
  const BoundLayout& layout = snapshot.layout;
  const auto name = [&](int attribute) {
    return snapshot.attributes[static_cast<std::size_t>(attribute)].name;
  };
  const bool is_minimum = row >= layout.first_minimum_row();
  const std::string extreme = is_minimum ? "min{" : "max{";
  if (is_minimum) row -= layout.first_minimum_row();
  if (layout.has_total() && row == layout.total_row(Extreme::maximum)) return extreme + "all}";
  if (layout.is_wide() && row == layout.length_row(Extreme::maximum)) return extreme + "length}";
  std::string text;
  for (int g = 0; g < layout.num_groups(); ++g) {
    const BoundLayout::Group group = layout.group(g);
    const int mask = row - group.first_row + 1;
    if (mask < 1 || mask >= 1 << group.size) continue;
    for (int i = 0; i < group.size; ++i)
      if ((mask >> i & 1) != 0) text += (text.empty() ? extreme : " + ") + name(group.first_attribute + i);
  }
  return text + "}";
}

std::string terms_text(const Snapshot& snapshot, const BoundTerms& terms) {
  std::string text;
  for (const BoundTerm& term : terms)
    text += "            + " + number(term.coefficient) + " * " + row_name(snapshot, term.row) + "\n";
  return text;
}

std::string in_us(double elapsed_us) {
  return number(std::round(elapsed_us * 10) / 10) + " us";
}

std::string share_text(const Plan& plan, const Snapshot& snapshot) {
  const double leaves = std::round(plan.bounded.leaves);
  const double share = plan.bounded.leaves / static_cast<double>(snapshot.num_leaves);
  return (plan.is_counted ? "" : "about ") + number(leaves) + (leaves == 1 ? " leaf" : " leaves") + " of " +
         std::to_string(snapshot.num_leaves) + ", " + number(std::round(1000 * share) / 10) + " %";
}

std::string reason_text(const Plan& plan, const Snapshot& snapshot) {
  switch (plan.reason) {
    case PlanReason::named:
      return "asked for by name";
    case PlanReason::no_rows:
      return "the index is empty";
    case PlanReason::most_rows:
      return "a good part of all rows is asked for";
    case PlanReason::bounds_prune:
      return "a search by bounds reads " + share_text(plan, snapshot);
    case PlanReason::few_ids:
      return "the filter leaves at most " + std::to_string(plan.num_ids) +
             (plan.num_ids == 1 ? " id" : " ids") + ", looked up " +
             (plan.has_id_map ? "by the map of ids" : "by a pass over the ids of all rows");
    case PlanReason::scan_is_faster:
      break;
  }
  return "a search by bounds would read " + share_text(plan, snapshot) + ", and a scan is faster";
}

std::string predictions_text(const Plan& plan) {
  if (plan.reason == PlanReason::few_ids) return "";
  std::string text;
  for (const Prediction& prediction : plan.predictions) {
    std::string name(engine_name(prediction.engine));
    name.resize(8, ' ');
    if (prediction.device >= 0) name += "on GPU " + std::to_string(prediction.device) + " ";
    text += (text.empty() ? "predicted   " : "            ") + name + "about " +
            in_us(prediction.elapsed_us) + "\n";
  }
  if (plan.copy_us == 0) return text + "GPU         none is there\n";
  return text + "            copying the index to a GPU first about " + in_us(plan.copy_us) + "\n";
}

std::string bound_text(const Snapshot& snapshot, const BoundPlan& bound) {
  std::string text =
      "bound       " + number(bound.base) + (bound.exact ? " (no operation rounds)" : "") + "\n";
  text += terms_text(snapshot, bound.terms);
  if (bound.capped)
    text += "or, within the filter's ranges, if it is less\n            " + number(bound.capped->base) +
            "\n" + terms_text(snapshot, bound.capped->terms);
  const std::string from = snapshot.layout.is_wide() ? "its middle" : "their minimum on";
  return text + "            attributes in units of a power of two near their range, from " + from + "\n";
}

}  // namespace

Explanation explain_plan(const Snapshot& snapshot, const ResolvedQuery& query, const Plan& plan) {
  Explanation result{plan.engine, reason_text(plan, snapshot), plan.predictions, ""};
  result.text = "engine      " + std::string(engine_name(plan.engine)) + ": " + result.reason + "\n" +
                "table       " + std::to_string(snapshot.num_rows) + " rows in " +
                std::to_string(snapshot.num_leaves) + " leaves, tree of height " +
                std::to_string(snapshot.height) + "\n" + "k           " + std::to_string(query.k) + "\n" +
                predictions_text(plan);
  if (plan.engine == Engine::bounded) result.text += bound_text(snapshot, query.bound);
  return result;
}

std::string placement_reason(const PlacementTimes& times, bool has_copy) {
  return "the CPU would take about " + in_us(times.cpu_us) + ", GPU 0 would take about " +
         in_us(times.device_us) + (has_copy ? "" : ", copying the index there " + in_us(times.copy_us));
}

}  // namespace culmen
