#include "gpu/mirror/plan_basis.h"

#include <cstring>

#include "index/snapshot.h"
#include "index/snapshot_fields.h"

namespace culmen::gpu {

std::vector<std::byte> make_plan_basis(const Snapshot& snapshot) {
  const PlanBasis basis = {.layout = snapshot.layout, .exact_sums = snapshot.exact_sums};
  std::vector<std::byte> bytes(plan_basis_bytes(snapshot.attributes.size()));
  std::byte* end = bytes.data();
  const auto append = [&end](const void* from, std::size_t num_bytes) {
    std::memcpy(end, from, num_bytes);
    end += num_bytes;
  };
  append(&basis, sizeof basis);
  append(snapshot.units.data(), snapshot.units.size() * sizeof(BoundUnit));
  append(snapshot.stats.data(), snapshot.stats.size() * sizeof(AttributeStats));
  const std::vector<AttributeStats> filled = filled_stats(snapshot);
  append(filled.data(), filled.size() * sizeof(AttributeStats));
  for (const Attribute& attribute : snapshot.attributes)
    append(&attribute.preference, sizeof attribute.preference);
  return bytes;
}

}  // namespace culmen::gpu
