// k-selection on the CPU with all threads. Finds the same rows as the methods of select.h.
//
//   heap      a heap of k ranks per thread, the worst on top: cheap while k is small
//   bitonic   bitonic top-k (Shanbhag, Pirk, Madden 2018, appendix C), eight selections in the lanes of a vector;
//             without vectors for ranks of 128 bits
//   radix     radix select by digits of 11 bits: reads the input once per digit
//
// Memory: k ranks per thread for `heap`, 16 * bit_ceil(k) per thread for `bitonic`, some 2 k ranks in all for `radix`.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/select/columns.h"

namespace culmen::select {

enum class HostMethod : std::uint8_t { heap, bitonic, radix };
inline constexpr std::array kAllHostMethods = {HostMethod::heap, HostMethod::bitonic, HostMethod::radix};
std::string_view method_name(HostMethod method);

// Returns the k best rows, best first, or all rows if there are fewer. The columns are in host memory. Throws
// InvalidArgument if k or num_rows is 0, or if the key types cannot be combined.
std::vector<SelectedRow> select_best(HostMethod method, const KeyColumns& columns, std::uint32_t k);
std::vector<SelectedRow> select_best(HostMethod method, const ScoredColumns& columns, std::uint32_t k);

}  // namespace culmen::select
