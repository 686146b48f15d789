// CodeTable: the codes of all rows of a tree whose leaves are in files (OpenOptions::codes), with their zone maps, in memory or on a
// GPU. A search asks it which leaves may have a row for it, and reads those alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "index/published.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen::cpu {

// A leaf, what none of its rows scores more than, and their smallest id.
struct BoundedLeaf {
  std::uint32_t leaf;
  double bound;
  std::int64_t min_id;
};

class CodeTable {
 public:
  explicit CodeTable(const Snapshot& tree) : arena_(tree.arena) {}
  CodeTable(const CodeTable&) = delete;
  CodeTable& operator=(const CodeTable&) = delete;
  virtual ~CodeTable() = default;

  // Whether the tree is the one that it was made of; slots of files do not change.
  bool is_of(const Snapshot& tree) const {
    return tree.arena != nullptr && is_same(arena_, std::shared_ptr<const SlotArena>(tree.arena));
  }

  // Those whose bound is `score` or more, and whose zones are not outside of the query's ranges; in any order. The query is
  // one that suits(). Thread-safe.
  virtual std::vector<BoundedLeaf> leaves_reaching(const ResolvedQuery& query, double score) const = 0;
  // As many leaves are read from files in the time of a call, about: who has read as many may ask.
  virtual std::uint64_t num_reads_of_a_call(std::size_t num_terms) const = 0;
  virtual std::size_t num_bytes() const = 0;

  // Queries whose scores depend on attributes alone, and whose filters on these, but for ids that are left out.
  static bool suits(const ResolvedQuery& query);

 private:
  std::weak_ptr<const SlotArena> arena_;
};

// In memory. Reads every leaf, in the caller's arena. Throws what reading throws.
std::unique_ptr<CodeTable> make_code_table(const Snapshot& tree);

// The bytes of a leaf's zone maps: [kZoneVectors][num_attributes] of the values' type. Its codes are LeafShape::code_words()
// words of 16 bits, [num_attributes][num_code_words].
inline std::size_t zone_bytes_of(const LeafShape& shape) {
  return kZoneVectors * shape.zone_vector_bytes();
}

// Writes the codes, the zones and the smallest ids of these leaves, one after the other. Behind the last row of a leaf its
// codes repeat.
void read_codes(const Snapshot& tree, std::span<const std::uint32_t> leaves, std::uint16_t* codes,
                std::byte* zones, std::int64_t* min_ids);

}  // namespace culmen::cpu
