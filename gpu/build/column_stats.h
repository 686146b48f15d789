// Column statistics (index/columns.h) and those of the ids, collected by a device.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "gpu/build/table_chunks.h"
#include "index/columns.h"

namespace culmen::gpu {

// ColumnStats that threads join by atomics: extremes are integers in the order of the doubles.
struct DeviceStats {
  std::uint64_t minimum, maximum;
  std::uint64_t first_bad_row, first_missing_row;
  std::uint64_t not_float32;
  std::int32_t quantum;
};

struct IdStats {
  std::int64_t largest = std::numeric_limits<std::int64_t>::min();
  std::uint32_t is_unsorted = 0;  // not strictly ascending
};

// Statistics of no rows, and the conversion.
DeviceStats no_stats();
ColumnStats to_column_stats(const DeviceStats& stats);

// Enqueues the addition of the chunk's values to stats[num_columns], in device memory. `round`: to float32 first.
void launch_column_stats(const TableChunk& chunk, bool round, DeviceStats* stats, cudaStream_t stream);
// The same for the chunk's ids, which must not be null. `previous`: the id before them.
void launch_id_stats(const TableChunk& chunk, std::optional<std::int64_t> previous, IdStats* stats,
                     cudaStream_t stream);

}  // namespace culmen::gpu
