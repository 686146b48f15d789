#include "culmen/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>

#include "culmen/error.h"
#include "culmen/schema.h"
#include "index/quantiles.h"
#include "index/spreads.h"
#include "shard/bytes.h"
#include "shard/table_info.h"

namespace culmen {
namespace {

constexpr std::string_view kStatisticsName = "CLMS";
constexpr std::uint32_t kStatisticsVersion = 3;

bool is_same_number(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

void add(const AttributeStatistics& part, std::size_t attribute, AttributeStatistics& whole) {
  if (part.has_values) {
    whole.minimum = whole.has_values ? std::min(whole.minimum, part.minimum) : part.minimum;
    whole.maximum = whole.has_values ? std::max(whole.maximum, part.maximum) : part.maximum;
    whole.has_values = true;
  }
  whole.has_missing = whole.has_missing || part.has_missing;
  if (!part.stand_in) return;
  if (whole.stand_in && !is_same_number(*whole.stand_in, *part.stand_in))
    throw InvalidArgument("parts of a table have different stand-ins for missing values of attribute " +
                          std::to_string(attribute) + ": build them with BuildOptions::stand_ins");
  whole.stand_in = part.stand_in;
}

std::optional<Spread> merged_spread(std::span<const TableStatistics> parts, std::size_t attribute) {
  Moments moments;
  for (const TableStatistics& part : parts) {
    const std::optional<Spread>& spread = part.attributes[attribute].spread;
    if (!spread) return std::nullopt;
    moments.add(moments_of(*spread));
  }
  return parts.empty() ? std::nullopt : std::optional(spread_of(moments));
}

// Of parts that go by the same ones.
std::optional<std::vector<double>> common_quantiles(std::span<const TableStatistics> parts,
                                                    std::size_t attribute) {
  const auto has_none = [&](const TableStatistics& part) { return !part.attributes[attribute].quantiles; };
  if (parts.empty() || std::ranges::any_of(parts, has_none)) return std::nullopt;
  const std::vector<double>& first = *parts.front().attributes[attribute].quantiles;
  for (const TableStatistics& part : parts)
    if (*part.attributes[attribute].quantiles != first)
      throw InvalidArgument("parts of a table have different quantiles of attribute " +
                            std::to_string(attribute) +
                            ": build them together, or with BuildOptions::quantiles");
  return first;
}

void write_spread(const std::optional<Spread>& spread, ByteWriter& out) {
  out.number(static_cast<std::uint8_t>(spread.has_value()));
  if (!spread) return;
  out.number(static_cast<std::uint64_t>(spread->sums.size()));
  for (const std::uint64_t word : spread->sums) out.number(word);
}

// Mean and deviation follow from the sums.
std::optional<Spread> read_spread(ByteReader& in) {
  if (!in.flag()) return std::nullopt;
  Spread spread;
  spread.sums.resize(in.count(sizeof(std::uint64_t)));
  for (std::uint64_t& word : spread.sums) word = in.number<std::uint64_t>();
  return spread_of(moments_of(spread));
}

void write_quantiles(const std::optional<std::vector<double>>& quantiles, ByteWriter& out) {
  out.number(static_cast<std::uint8_t>(quantiles.has_value()));
  if (!quantiles) return;
  out.number(static_cast<std::uint64_t>(quantiles->size()));
  for (const double value : *quantiles) out.number(value);
}

std::optional<std::vector<double>> read_quantiles(ByteReader& in) {
  if (!in.flag()) return std::nullopt;
  std::vector<double> quantiles(in.count(sizeof(double)));
  for (double& value : quantiles) value = in.number<double>();
  if (!are_quantiles(quantiles)) in.fail("have quantiles that no attribute has");
  return quantiles;
}

bool is_in_range(const Spread& spread, const AttributeStatistics& attribute) {
  if (!attribute.has_values) return spread.sums.empty();
  return attribute.minimum <= spread.mean && spread.mean <= attribute.maximum &&
         spread.deviation <= attribute.maximum - attribute.minimum;
}

}  // namespace

TableStatistics merge(std::span<const TableStatistics> parts) {
  TableStatistics whole;
  if (!parts.empty()) whole.attributes.resize(parts.front().attributes.size());
  for (const TableStatistics& part : parts) {
    if (part.attributes.size() != whole.attributes.size())
      throw InvalidArgument("parts of a table have " + std::to_string(whole.attributes.size()) + " and " +
                            std::to_string(part.attributes.size()) + " attributes");
    whole.num_rows += part.num_rows;
    for (std::size_t i = 0; i < part.attributes.size(); ++i) add(part.attributes[i], i, whole.attributes[i]);
  }
  for (std::size_t i = 0; i < whole.attributes.size(); ++i) {
    whole.attributes[i].spread = merged_spread(parts, i);
    whole.attributes[i].quantiles = common_quantiles(parts, i);
  }
  return whole;
}

std::vector<std::byte> encode(const TableStatistics& statistics) {
  ByteWriter out(kStatisticsName, kStatisticsVersion);
  out.number(statistics.num_rows);
  out.number(static_cast<std::uint64_t>(statistics.attributes.size()));
  for (const AttributeStatistics& attribute : statistics.attributes) {
    out.number(attribute.minimum);
    out.number(attribute.maximum);
    out.number(static_cast<std::uint8_t>(attribute.has_values));
    out.number(static_cast<std::uint8_t>(attribute.has_missing));
    out.number(static_cast<std::uint8_t>(attribute.stand_in.has_value()));
    out.number(attribute.stand_in.value_or(0));
    write_spread(attribute.spread, out);
    write_quantiles(attribute.quantiles, out);
  }
  return out.take();
}

TableStatistics decode_statistics(std::span<const std::byte> bytes) {
  constexpr std::size_t kAttributeBytes = 3 * sizeof(double) + 5;
  ByteReader in(bytes, kStatisticsName, kStatisticsVersion, "statistics");
  TableStatistics statistics;
  statistics.num_rows = in.number<std::uint64_t>();
  statistics.attributes.resize(in.count(kAttributeBytes));
  if (statistics.attributes.size() > static_cast<std::size_t>(kMaxAttributes))
    in.fail("have too many attributes");
  for (AttributeStatistics& attribute : statistics.attributes) {
    attribute.minimum = in.number<double>();
    attribute.maximum = in.number<double>();
    attribute.has_values = in.flag();
    attribute.has_missing = in.flag();
    const bool has_stand_in = in.flag();
    const auto stand_in = in.number<double>();
    if (has_stand_in) attribute.stand_in = stand_in;
    const bool is_range = std::isfinite(attribute.minimum) && std::isfinite(attribute.maximum) &&
                          attribute.minimum <= attribute.maximum;
    attribute.spread = read_spread(in);
    attribute.quantiles = read_quantiles(in);
    if (!is_range || !std::isfinite(stand_in) ||
        (attribute.spread && !is_in_range(*attribute.spread, attribute)))
      in.fail("have a range that no attribute has");
  }
  in.finish();
  return statistics;
}

void set_attributes(const TableStatistics& table, IndexInfo& info) {
  for (std::size_t i = 0; i < info.attributes.size(); ++i) {
    const AttributeStatistics& of = table.attributes[i];
    AttributeInfo& attribute = info.attributes[i];
    attribute.minimum = of.minimum;
    attribute.maximum = of.maximum;
    attribute.has_missing = of.has_missing;
    if (of.stand_in) attribute.stand_in_value = *of.stand_in;
    if (of.spread) {
      attribute.mean = of.spread->mean;
      attribute.deviation = of.spread->deviation;
    }
    attribute.quantiles = of.quantiles;
  }
}

}  // namespace culmen
