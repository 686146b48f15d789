#include "gpu/search/pack_query.h"

#include <cmath>
#include <string>

#include "culmen/error.h"
#include "gpu/search/query_writer.h"

namespace culmen::gpu {

PackedRanges packed_ranges(const ResolvedQuery& query) {
  PackedRanges packed;
  for (std::size_t r = 0; r < query.where.size(); ++r) {
    const RangePredicate& range = query.where[r];
    const RangeBound& bound = query.where_bounds[r];
    if (range.minimum == -HUGE_VAL && range.maximum == HUGE_VAL) continue;  // only demands a value
    if (packed.size() == packed.capacity())
      throw InvalidArgument("a filter limits more than " + std::to_string(kMaxPackedRanges) +
                            " attributes, which a GPU does not take: search on the CPU");
    packed.push_back({range.minimum, range.maximum, bound.lowest, bound.highest,
                      static_cast<std::int16_t>(range.attribute),
                      static_cast<std::int16_t>(bound.maximum_row),
                      static_cast<std::int16_t>(bound.minimum_row), 0});
  }
  return packed;
}

namespace {

bool is_packed_capped(const ResolvedQuery& query) {
  return query.bound.capped && has_room_for_caps(static_cast<int>(query.terms.size()));
}

}  // namespace

std::size_t packed_bytes_of(const ResolvedQuery& query) {
  const std::size_t capped = is_packed_capped(query) ? query.bound.capped->terms.size() : 0;
  return packed_bytes(static_cast<int>(query.terms.size()),
                      static_cast<int>(query.bound.terms.size() + capped),
                      static_cast<int>(packed_ranges(query).size()));
}

void pack_query(const ResolvedQuery& query, std::byte* out, const void* parts) {
  QueryWriter writer(out);
  for (const Term& term : query.terms) writer.push_back(term);
  for (const BoundTerm& term : query.bound.terms) writer.push_back(term);
  if (is_packed_capped(query)) {
    writer.begin_capped(query.bound.capped->base);
    for (const BoundTerm& term : query.bound.capped->terms) writer.push_back(term);
  }
  for (const PackedRange& range : packed_ranges(query)) writer.push_back(range);
  writer.set_parts(parts);
  const BoundStart& bound = query.bound;
  BoundStart start = bound;
  if (!query.functions.empty()) start.magnitude = std::fmax(start.magnitude, query.largest);
  writer.finish(query.offset, query.min_score, start);
}

void set_parts(std::byte* packed, const void* parts) {
  reinterpret_cast<PackedHeader*>(packed)->parts = parts;
}

}  // namespace culmen::gpu
