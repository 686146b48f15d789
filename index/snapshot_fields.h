// Fields and gaps of a snapshot: what files and verify check, and statistics that count stand-ins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "index/snapshot.h"

namespace culmen {

// [num_fields] The number of texts of each dictionary; 0 of a field without one.
std::vector<std::uint32_t> dictionary_sizes(const IndexMetadata& metadata);

// What is wrong with the gaps in valid LeafFields of a leaf (fault_of_leaf_fields); empty if nothing is. Missing
// values must be stored as the stand-in, and AttributeGaps have the exact range of the others.
std::string_view fault_of_gaps(const Snapshot& snapshot, std::size_t leaf, const LeafFields& fields);

// The value of a row in a column that partitions are cut by (Partitioner::cluster).
double cut_value(const Snapshot& snapshot, std::size_t leaf, std::size_t row, std::uint32_t column);

// The range of the values of an attribute that a leaf does not miss; minimum > maximum: all are.
AttributeStats present_range(const Snapshot& snapshot, std::size_t leaf, std::size_t attribute);

// The same of all rows. Reads the root's zone map, and where stand-ins may hide the range, what is below.
AttributeStats present_range_of_index(const Snapshot& snapshot, std::size_t attribute);

// Which rows of the whole index miss an attribute.
ChildGaps gaps_of_index(const Snapshot& snapshot, std::int32_t attribute);

// The keys of a filter column in the whole index.
ColumnSummary summary_of_index(const Snapshot& snapshot, std::int32_t field);

// A bit for each attribute that some row misses, in words; none if no row misses any.
std::vector<std::uint64_t> attributes_with_gaps(const Snapshot& snapshot);

// [num_attributes] The statistics, with stand-ins counted as values where some row has them: what exact sums depend on.
std::vector<AttributeStats> filled_stats(const Snapshot& snapshot);

}  // namespace culmen
