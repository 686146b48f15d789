#include "cpu/code_table.h"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "base/floating_point_scope.h"
#include "cpu/leaf_visit.h"
#include "index/leaf_codes.h"
#include "index/read_session.h"
#include "query/code_bound.h"

namespace culmen::cpu {
namespace {

constexpr std::size_t kLeavesAtOnce = 256;

// The code of a row is in word row % num_words.
void repeat_last_code(std::size_t num_rows, std::uint16_t* codes, std::size_t num_words) {
  constexpr unsigned kBits = 4, kMask = (1u << kBits) - 1;
  const auto shift_of = [num_words](std::size_t row) {
    return kBits * static_cast<unsigned>(row / num_words);
  };
  const unsigned last = codes[(num_rows - 1) % num_words] >> shift_of(num_rows - 1) & kMask;
  for (std::size_t row = num_rows; row < num_words * 16 / kBits; ++row) {
    std::uint16_t& word = codes[row % num_words];
    word = static_cast<std::uint16_t>((word & ~(kMask << shift_of(row))) | last << shift_of(row));
  }
}

// One question.
template <typename T>
class LeafBounds {
  using Word = std::uint64_t;
  static constexpr std::size_t kOfWord = sizeof(Word) / sizeof(std::uint16_t);

 public:
  LeafBounds(const LeafShape& shape, const ResolvedQuery& query)
      : shape_(shape), num_words_(num_code_words(shape.leaf_rows)), query_(query) {}

  bool is_within_ranges(const T* zones) const {
    return std::ranges::all_of(query_.where, [&](const RangePredicate& range) {
      const auto a = static_cast<std::size_t>(range.attribute);
      return zone(zones, Extreme::maximum, a) >= range.minimum &&
             zone(zones, Extreme::minimum, a) <= range.maximum;
    });
  }

  double bound(const std::uint16_t* codes, const T* zones) {
    CodeParts parts;
    parts.add_offset(query_.offset);
    for (const Term& term : query_.terms) {
      const auto a = static_cast<std::size_t>(term.attribute);
      parts.add(term.weight, zone(zones, Extreme::minimum, a), zone(zones, Extreme::maximum, a));
    }
    const CodeScale scale(parts, query_.terms.size());
    if (!scale.has_bound()) return std::numeric_limits<double>::infinity();
    std::size_t t = 0;
    for (const Term& term : query_.terms) {
      const auto a = static_cast<std::size_t>(term.attribute);
      weights_[t++] = scale.weight_in_sums(term.weight, zone(zones, Extreme::minimum, a),
                                           zone(zones, Extreme::maximum, a));
    }
    return scale.bound(highest_sum(codes));
  }

  // The bound, or the score of the zones, which has no margin: for equal rows it is their score, and then ids decide.
  double at_most(double bound, const T* zones) const {
    const auto of = [&](Extreme which) {
      return zones + static_cast<std::size_t>(which) * shape_.num_attributes;
    };
    return std::min(bound, zone_score(query_, of(Extreme::maximum), of(Extreme::minimum)));
  }

 private:
  double zone(const T* zones, Extreme which, std::size_t attribute) const {
    return static_cast<double>(zones[static_cast<std::size_t>(which) * shape_.num_attributes + attribute]);
  }

  std::uint32_t highest_sum(const std::uint16_t* codes) const {
    std::uint32_t highest = 0;
    for (std::size_t w = 0; w < num_words_; w += kOfWord) {
      CodeSums<Word> sums;
      std::size_t t = 0;
      for (const Term& term : query_.terms) {
        Word word;
        std::memcpy(&word, codes + static_cast<std::size_t>(term.attribute) * num_words_ + w, sizeof word);
        sums.add(word, term.weight < 0, weights_[t++]);
      }
      highest = std::max(highest, sums.highest());
    }
    return highest;
  }

  const LeafShape& shape_;
  const std::size_t num_words_;  // of an attribute
  const ResolvedQuery& query_;
  std::array<std::uint32_t, kMaxCodeTerms> weights_ = {};  // of the terms, in the leaf
};

class CodeTableInMemory final : public CodeTable {
 public:
  explicit CodeTableInMemory(const Snapshot& tree)
      : CodeTable(tree),
        shape_(tree.leaf_shape()),
        leaves_(tree.order().leaves),
        value_type_(tree.value_type),
        codes_(std::make_unique_for_overwrite<std::uint16_t[]>(leaves_.size() * shape_.code_words())),
        zones_(std::make_unique_for_overwrite<std::byte[]>(leaves_.size() * zone_bytes_of(shape_))),
        min_ids_(leaves_.size()) {
    read_codes(tree, leaves_, codes_.get(), zones_.get(), min_ids_.data());
  }

  std::vector<BoundedLeaf> leaves_reaching(const ResolvedQuery& query, double score) const override {
    return value_type_ == ValueType::float32 ? reaching<float>(query, score) : reaching<double>(query, score);
  }

  std::uint64_t num_reads_of_a_call(std::size_t num_terms) const override {
    constexpr std::uint64_t kColumnsOfARead = 1024;  // from the page cache (bench/limited_memory)
    return leaves_.size() * num_terms / kColumnsOfARead;
  }

  std::size_t num_bytes() const override {
    return leaves_.size() * (sizeof(std::uint32_t) + sizeof(std::int64_t) +
                             shape_.code_words() * sizeof(std::uint16_t) + zone_bytes_of(shape_));
  }

 private:
  template <typename T>
  std::vector<BoundedLeaf> reaching(const ResolvedQuery& query, double score) const {
    tbb::enumerable_thread_specific<std::vector<BoundedLeaf>> found;
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, leaves_.size(), kLeavesAtOnce), [&](const auto& range) {
          const FloatingPointScope floating_point;
          look_at(query.watch);
          LeafBounds<T> bounds(shape_, query);
          for (std::size_t i = range.begin(); i < range.end(); ++i) {
            const auto* zones = reinterpret_cast<const T*>(zones_.get() + i * zone_bytes_of(shape_));
            if (!bounds.is_within_ranges(zones)) continue;
            double bound = bounds.bound(codes_.get() + i * shape_.code_words(), zones);
            if (bound >= score) bound = bounds.at_most(bound, zones);
            if (bound >= score) found.local().push_back({leaves_[i], bound, min_ids_[i]});
          }
        });
    std::vector<BoundedLeaf> all;
    for (const std::vector<BoundedLeaf>& some : found) all.insert(all.end(), some.begin(), some.end());
    return all;
  }

  const LeafShape shape_;
  const std::vector<std::uint32_t> leaves_;
  const ValueType value_type_;
  const std::unique_ptr<std::uint16_t[]> codes_;
  const std::unique_ptr<std::byte[]> zones_;
  std::vector<std::int64_t> min_ids_;
};

}  // namespace

bool CodeTable::suits(const ResolvedQuery& query) {
  // Others pass some leaves' rows alone, of which zone maps of fields tell more than codes.
  const auto is_known = [](const Predicate& filter) {
    using Kind = Predicate::Kind;
    const bool leaves_out_ids = filter.kind == Kind::id_set && filter.passes_others;
    return filter.is_everything() || filter.kind == Kind::attribute || leaves_out_ids;
  };
  const Predicate& filter = query.filter;
  const bool is_filter_known =
      filter.kind == Predicate::Kind::all_of ? std::ranges::all_of(filter.parts, is_known) : is_known(filter);
  return is_filter_known && query.terms.size() > 0 && query.terms.size() <= kMaxCodeTerms &&
         query.functions.empty() && !query.groups;
}

std::unique_ptr<CodeTable> make_code_table(const Snapshot& tree) {
  return std::make_unique<CodeTableInMemory>(tree);
}

void read_codes(const Snapshot& tree, std::span<const std::uint32_t> leaves, std::uint16_t* codes,
                std::byte* zones, std::int64_t* min_ids) {
  const LeafShape shape = tree.leaf_shape();
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, leaves.size(), kLeavesAtOnce), [&](const auto& range) {
    ReadSession session(tree);
    for (std::size_t i = range.begin(); i < range.end(); ++i) {
      session.rest();
      const std::uint32_t leaf = leaves[i];
      const std::size_t num_rows = tree.leaf(leaf).num_rows;
      min_ids[i] = tree.leaf(leaf).min_id;
      std::uint16_t* const to = codes + i * shape.code_words();
      std::memcpy(to, tree.leaf_codes(leaf), shape.code_words() * sizeof(std::uint16_t));
      const std::size_t num_words = num_code_words(shape.leaf_rows);
      for (std::size_t a = 0; a < shape.num_attributes; ++a)
        repeat_last_code(num_rows, to + a * num_words, num_words);
      std::memcpy(zones + i * zone_bytes_of(shape), std::as_const(*tree.arena).zone_map(leaf),
                  zone_bytes_of(shape));
    }
  });
}

}  // namespace culmen::cpu
