// TableStatistics: what an answer depends on besides the rows that it names: the range of each attribute, which of them
// have missing values, and what stands in for these. Scale, Missing::fill and the refusal of scores that could overflow
// go by them.
//
// If the rows of a table are spread over several indexes (shards), each must go by the statistics of the whole table:
//
//   const culmen::TableStatistics whole = culmen::merge(std::vector{a.statistics(), b.statistics()});
//   culmen::SearchResult part = a.search(query, {.statistics = &whole});
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace culmen {

// The mean and the standard deviation of an attribute's values, for Scale::zscore.
struct Spread {
  double mean = 0;  // both 0 if there are no values
  double deviation = 0;
  std::vector<std::uint64_t> sums;  // exact, in a form of the library's own; merge() adds these

  friend bool operator==(const Spread&, const Spread&) = default;
};

struct AttributeStatistics {
  // Of the stored values that are not missing; 0 if there are none.
  double minimum = 0;
  double maximum = 0;
  bool has_values = false;
  bool has_missing = false;
  std::optional<double> stand_in = {};  // what Missing::fill ranks; nullopt until rows have determined it
  std::optional<Spread> spread = {};  // nullopt unless the statistics are for Scale::zscore: it costs a pass
  // Ascending, with the users' signs, up to 257; none if the build had no values. nullopt unless for Scale::rank.
  std::optional<std::vector<double>> quantiles = {};

  friend bool operator==(const AttributeStatistics&, const AttributeStatistics&) = default;
};

struct TableStatistics {
  std::uint64_t num_rows = 0;
  std::vector<AttributeStatistics> attributes;

  friend bool operator==(const TableStatistics&, const TableStatistics&) = default;
};

// The statistics of all rows of some tables, in any order; for Scale::zscore or Scale::rank if all parts are. Throws
// InvalidArgument if the tables have different numbers of attributes, stand-ins or quantiles, and FormatError for sums that
// no values have.
[[nodiscard]] TableStatistics merge(std::span<const TableStatistics> parts);

// A compact form for other processes. decode throws FormatError for bytes that are not statistics, or of another
// version of the form.
[[nodiscard]] std::vector<std::byte> encode(const TableStatistics& statistics);
[[nodiscard]] TableStatistics decode_statistics(std::span<const std::byte> bytes);

}  // namespace culmen
