// A row of an answer.
#pragma once

#include <cstdint>

namespace culmen::select {

// The bits of a key fill the lower part. -0 comes back as 0, NaN with all bits but the sign.
struct SelectedRow {
  std::uint64_t key;
  std::uint64_t second_key;
  std::int64_t id;
};

inline constexpr std::int64_t kNoRow = 0x7fffffffffffffff;

}  // namespace culmen::select
