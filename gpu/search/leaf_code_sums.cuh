// LeafCodeSums: whether rows of leaves may be in the answer, by codes alone.
#pragma once

#include "gpu/search/code_sums.h"
#include "gpu/search/leaf_rows.cuh"

namespace culmen::gpu {

// A warp's; every method is called by all of its lanes. A lane has an attribute of a leaf, and 8 neighbours, a group, those
// of one word: so a warp looks at 4 leaves of up to 8 attributes at once, at 2 of up to 16, or at one.
template <typename T>
class LeafCodeSums {
  static constexpr int kGroup = static_cast<int>(kCodesOfWord);
  static constexpr int kGroups = kWarpSize / kGroup;

 public:
  // For queries without functions to tables that have codes.
  __device__ LeafCodeSums(const MirrorRef& mirror, QueryRef query, int lane)
      : mirror_(mirror),
        scale_(query.header().key_scale),
        offset_(query.header().offset * query.header().key_scale),
        lane_(lane) {
    const auto num_words = static_cast<int>(mirror.codes.num_words);
    groups_ = num_words > 2 ? kGroups : num_words;
    attribute_ = lane % (groups_ * kGroup);
    for (int t = 0; t < query.header().num_terms; ++t)
      if (query.terms()[t].attribute == attribute_) weight_ = query.terms()[t].weight;
    is_scaled_ = __all_sync(kFullWarp, can_scale(weight_, scale_)) != 0;
    weight_ *= scale_;
  }

  __device__ std::uint32_t leaves_at_once() const { return kGroups / groups_; }
  // Which of these leaves is the lane's.
  __device__ std::uint32_t leaf_of_lane() const { return lane_ / (groups_ * kGroup); }
  __device__ bool is_first_lane() const { return (first_lanes() >> lane_ & 1) != 0; }

  // What is read of the lanes' leaves: callers load those that come next before they look at these.
  struct Loaded {
    std::uint32_t leaf;
    std::uint32_t words[kGroups][kRowsPerLane];  // of each group, of the first of the lane's rows
    ValueOf<T> minimum, maximum;                 // of the lane's attribute
  };
  // leaf: the lane's.
  __device__ Loaded load(std::uint32_t leaf) const {
    Loaded loaded;
    loaded.leaf = leaf;
    load_words(leaf, 0, loaded.words);
    const auto zone = [&](Extreme which) {
      return weight_ == 0 ? ValueOf<T>{0} : __ldg(mirror_.zone_vector<T>(leaf, which) + attribute_);
    };
    loaded.minimum = zone(Extreme::minimum);
    loaded.maximum = zone(Extreme::maximum);
    return loaded;
  }

  // Of the lanes' leaves those that are wanted, but for those of which no row has a score of kth_score or more: a bit for the
  // first lane of each.
  __device__ unsigned reaching(const Loaded& loaded, bool is_wanted, double kth_score) const {
    return __ballot_sync(kFullWarp, is_wanted) & may_reach(loaded, kth_score);
  }

 private:
  static_assert(kMaxCodedAttributes <= std::size_t{kGroups} * kCodesOfWord);

  // The first lane of each leaf, a bit a lane.
  __device__ unsigned first_lanes() const {
    return groups_ == kGroups ? 1u : groups_ == 1 ? 0x01010101u : 0x00010001u;
  }

  // Of first_lanes(), those of leaves of which a row may have a score of kth_score or more.
  __device__ unsigned may_reach(const Loaded& loaded, double kth_score) const {
    CodePart part;
    if (weight_ != 0)
      part = code_part(weight_, static_cast<double>(loaded.minimum), static_cast<double>(loaded.maximum));
    float largest = fabsf(part.step), base = part.base;
    for (int offset = groups_ * kGroup / 2; offset > 0; offset /= 2) {
      largest = fmaxf(largest, __shfl_xor_sync(kFullWarp, largest, offset));
      base += __shfl_xor_sync(kFullWarp, base, offset);
    }
    std::int32_t least = INT_MIN, weight = 0;
    if (is_scaled_ && has_code_sums(largest)) {
      const float per_score = codes_per_score(largest);
      least = least_code_sum(kth_score * scale_, base, offset_, per_score);
      if (weight_ != 0) weight = code_weight(part.step, per_score);
    }
    const std::uint32_t bytes = bytes_of_group(weight);
    unsigned reaching = leaves_with_a_row(loaded.words, bytes, least);
    for (std::uint32_t first = kRowsAtOnce; first < mirror_.codes.stride; first += kRowsAtOnce) {
      std::uint32_t words[kGroups][kRowsPerLane];
      load_words(loaded.leaf, first, words);
      reaching |= leaves_with_a_row(words, bytes, least);
    }
    return reaching;
  }

  // The first lane of a group gets the bytes of its attributes 0, 2, 4, 6, the second those of 1, 3, 5, 7.
  __device__ std::uint32_t bytes_of_group(std::int32_t weight) const {
    std::uint32_t bytes = (static_cast<std::uint32_t>(weight) & 0xff) << (lane_ % kGroup / 2 * 8);
    bytes |= __shfl_xor_sync(kFullWarp, bytes, 2);
    bytes |= __shfl_xor_sync(kFullWarp, bytes, 4);
    return bytes;
  }

  // A word of each group for each of the lane's rows.
  __device__ void load_words(std::uint32_t leaf, std::uint32_t first,
                             std::uint32_t (&words)[kGroups][kRowsPerLane]) const {
    const CodeWords& codes = mirror_.codes;
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const std::uint32_t of_group = __shfl_sync(kFullWarp, leaf, g * kGroup);
      const std::uint32_t w = min(static_cast<std::uint32_t>(g & (groups_ - 1)), codes.num_words - 1);
      const std::uint32_t* from =
          codes.words + (std::size_t{of_group} * codes.num_words + w) * codes.stride + lane_;
#pragma unroll
      for (int j = 0; j < kRowsPerLane; ++j)
        words[g][j] = __ldg(from + min(first + static_cast<std::uint32_t>(j * kWarpSize),
                                       codes.stride - static_cast<std::uint32_t>(kWarpSize)));
    }
  }

  __device__ unsigned leaves_with_a_row(const std::uint32_t (&words)[kGroups][kRowsPerLane],
                                        std::uint32_t bytes, std::int32_t least) const {
    constexpr std::uint32_t kEven = 0x0f0f0f0f;  // the codes of attributes 0, 2, 4, 6 of a word
    unsigned reaching = 0;
    std::int32_t sums[kRowsPerLane] = {};
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      // 0 for groups without attributes, whose words are those of another
      const auto even = static_cast<std::int32_t>(__shfl_sync(kFullWarp, bytes, g * kGroup));
      const auto odd = static_cast<std::int32_t>(__shfl_sync(kFullWarp, bytes, g * kGroup + 1));
      bool any = false;
      const std::int32_t least_of_leaf = __shfl_sync(kFullWarp, least, g * kGroup);
#pragma unroll
      for (int j = 0; j < kRowsPerLane; ++j) {
        sums[j] = __dp4a(static_cast<std::int32_t>(words[g][j] & kEven), even, sums[j]);
        sums[j] = __dp4a(static_cast<std::int32_t>(words[g][j] >> 4 & kEven), odd, sums[j]);
        any |= sums[j] >= least_of_leaf;
      }
      if (((g + 1) & (groups_ - 1)) != 0) continue;  // the leaf has another group
      if (__any_sync(kFullWarp, any)) reaching |= 1u << ((g + 1 - groups_) * kGroup);
#pragma unroll
      for (std::int32_t& of_row : sums) of_row = 0;
    }
    return reaching;
  }

  const MirrorRef& mirror_;
  double scale_, offset_, weight_ = 0;  // weights and scores are scaled
  bool is_scaled_;                      // exactly; otherwise all leaves may be in the answer
  int lane_, attribute_, groups_;       // groups of a leaf: 1, 2 or 4
};

}  // namespace culmen::gpu
