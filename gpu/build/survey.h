// The survey of a table by a device: what index/columns.h finds out about each column, and what there is to
// know of the ids.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "gpu/build/table_chunks.h"
#include "index/columns.h"

namespace culmen::gpu {

// ColumnFacts that many threads join by atomics: extremes are integers in the order of the doubles.
struct DeviceFacts {
  std::uint64_t minimum, maximum;
  std::uint64_t first_bad_row;
  std::uint64_t not_float32;
  std::int32_t quantum;
};

struct IdFacts {
  std::int64_t largest = std::numeric_limits<std::int64_t>::min();
  std::uint32_t is_unsorted = 0;  // not strictly ascending
};

// As they are before the first row, and what they say.
DeviceFacts no_facts();
ColumnFacts to_column_facts(const DeviceFacts& facts);

// Enqueues that the chunk's values join facts[num_columns], in device memory. `round`: to float32 before.
void launch_survey(const TableChunk& chunk, bool round, DeviceFacts* facts, cudaStream_t stream);
// The same for its ids, of which there are some. `previous`: the id before them.
void launch_id_survey(const TableChunk& chunk, std::optional<std::int64_t> previous, IdFacts* facts,
                      cudaStream_t stream);

}  // namespace culmen::gpu
