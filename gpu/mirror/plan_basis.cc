#include "gpu/mirror/plan_basis.h"

#include <algorithm>
#include <vector>

#include "index/snapshot.h"
#include "index/snapshot_fields.h"

namespace culmen::gpu {

PlanBasis make_plan_basis(const Snapshot& snapshot) {
  PlanBasis basis = {.layout = snapshot.layout,
                     .units = {},
                     .stats = {},
                     .filled = {},
                     .preferences = {},
                     .exact_sums = snapshot.exact_sums};
  std::copy(snapshot.units.begin(), snapshot.units.end(), basis.units);
  std::copy(snapshot.stats.begin(), snapshot.stats.end(), basis.stats);
  const std::vector<AttributeStats> filled = filled_stats(snapshot);
  std::copy(filled.begin(), filled.end(), basis.filled);
  std::transform(snapshot.attributes.begin(), snapshot.attributes.end(), basis.preferences,
                 [](const Attribute& attribute) { return attribute.preference; });
  return basis;
}

}  // namespace culmen::gpu
