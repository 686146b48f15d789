// The paper's optimisations of a tile in shared memory, each on top of those before it.
#pragma once

namespace culmen::select::ladder {

struct MergedOperators {
  static constexpr bool kTakesSeveralSteps = false;
  static constexpr bool kWorksBeforeWriting = false;
  static constexpr bool kPads = false;
  static constexpr bool kPermutesChunks = false;
  static constexpr bool kReassignsPartitions = false;
};
struct SeveralSteps : MergedOperators {
  static constexpr bool kTakesSeveralSteps = true;
};
struct WorkBeforeWriting : SeveralSteps {
  static constexpr bool kWorksBeforeWriting = true;
};
struct Padding : WorkBeforeWriting {
  static constexpr bool kPads = true;
};
struct ChunkPermutation : Padding {
  static constexpr bool kPermutesChunks = true;
};
struct ReassignedPartitions : ChunkPermutation {
  static constexpr bool kReassignsPartitions = true;
};

}  // namespace culmen::select::ladder
