#include "query/planner.h"

#include <bit>
#include <cstdio>

namespace culmen {
namespace {

// Beyond this share of the table a search by bounds would visit nearly every leaf, and a scan reads in a
// stream.
constexpr std::size_t kScanShare = 4;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

// "{price, rating}" for a row of subset maxima.
std::string row_name(const Snapshot& snapshot, int row) {
  const BoundLayout& layout = snapshot.layout;
  const auto name = [&](int attribute) {
    return snapshot.attributes[static_cast<std::size_t>(attribute)].name;
  };
  if (row >= layout.first_minimum_row()) return "min{" + name(row - layout.first_minimum_row()) + "}";
  if (layout.has_total() && row == layout.total_row()) return "max{all}";
  std::string text;
  for (const BoundLayout::Group& group : layout.groups()) {
    const int mask = row - group.first_row + 1;
    if (mask < 1 || mask >= 1 << group.size) continue;
    for (int i = 0; i < group.size; ++i)
      if ((mask >> i & 1) != 0) text += (text.empty() ? "max{" : " + ") + name(group.first_attribute + i);
  }
  return text + "}";
}

}  // namespace

Plan choose_engine(const Snapshot& snapshot, const ResolvedQuery& query, Engine wanted) {
  if (wanted != Engine::automatic) return {wanted, "asked for by name"};
  if (query.k > snapshot.num_tuples / kScanShare && snapshot.num_tuples > 0)
    return {Engine::scan, "k is more than a quarter of the table: nearly every block must be read"};
  return {Engine::bounded, "best-first over the tree reads the fewest blocks"};
}

Explanation explain_plan(const Snapshot& snapshot, const ResolvedQuery& query, const Plan& plan) {
  Explanation result{plan.engine, plan.reason, ""};
  std::string& text = result.text;
  text = "engine      " + std::string(engine_name(plan.engine)) + ": " + plan.reason + "\n";
  text += "table       " + std::to_string(snapshot.num_tuples) + " tuples in " +
          std::to_string(snapshot.num_leaves) + " blocks, tree of height " + std::to_string(snapshot.height) +
          "\n";
  text += "k           " + std::to_string(query.k) + "\n";
  if (plan.engine != Engine::bounded) return result;
  text +=
      "bound       " + number(query.bound.base) + (query.bound.exact ? " (no operation rounds)" : "") + "\n";
  for (const BoundTerm& term : query.bound.terms)
    text += "            + " + number(term.coefficient) + " * " + row_name(snapshot, term.row) + "\n";
  text += "            attributes in units of a power of two near their range, from their minimum on\n";
  return result;
}

}  // namespace culmen
