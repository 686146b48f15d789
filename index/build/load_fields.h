// Loads fields: the texts of a table as codes, then the LeafFields of the tree, which say what attributes rows miss and
// what their fields are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/pages.h"
#include "culmen/table.h"
#include "index/dictionary.h"
#include "index/leaf_fields.h"
#include "index/snapshot.h"

namespace culmen {

// The row of the table that is at a position of a leaf.
using RowOfLeaf = std::function<std::uint64_t(std::size_t leaf, std::uint32_t position)>;

// The texts of a filter column as codes, which follow the order of the texts' bytes, whatever the order of the rows.
// Empty for other fields.
struct CodedColumn {
  std::shared_ptr<const Dictionary> dictionary;
  PageBuffer<std::uint32_t> codes;  // of all rows; of missing ones 0
};
// [num_fields]. files: for the codes; null: memory.
std::vector<CodedColumn> code_fields(const TableView& table,
                                     const std::shared_ptr<TemporaryFiles>& files = nullptr);

// Some rows of field `f`, texts of filter columns as codes.
FieldRows read_coded_field(const TableView& table, std::size_t f, const CodedColumn& coded,
                           std::span<const std::uint64_t> rows);

// The leaves of the tree are slots 0 .. num_leaves - 1, with stand-ins in place. Sets the snapshot's dictionaries, too.
// Returns at once if the table has neither gaps nor fields.
void load_fields(Snapshot& snapshot, const TableView& table, std::span<const CodedColumn> coded,
                 const std::vector<bool>& has_gaps, const RowOfLeaf& row_of);

}  // namespace culmen
