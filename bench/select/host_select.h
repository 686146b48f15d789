// k-selection on the CPU, by all threads: the rows that the methods of select.h find.
//
//   heap      a heap of k for each thread, the worst on top: next to nothing a row while k is small
//   bitonic   bitonic top-k (Shanbhag, Pirk, Madden 2018, appendix C), eight of them beside each other in the
//             lanes of a vector; ranks of 128 bits have no vectors and take the same way one by one
//   radix     radix select by digits of 11 bits: reads the input once a digit until what is left is exact
//
// Memory: k ranks a thread for `heap`, 16 times bit_ceil(k) for `bitonic`, some 2 k ranks in all for `radix`.
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

// The k best rows, best first; fewer where there are fewer. Columns are on the host. Throws InvalidArgument
// (k or num_rows is 0, types that do not go together).
std::vector<SelectedRow> select_best(HostMethod method, const KeyColumns& columns, std::uint32_t k);
std::vector<SelectedRow> select_best(HostMethod method, const ScoredColumns& columns, std::uint32_t k);

}  // namespace culmen::select
