#include "index/dictionary.h"

#include <algorithm>
#include <numeric>

namespace culmen {

// Texts with consecutive codes.
struct Dictionary::Segment {
  std::uint32_t first_code = 0;
  std::vector<char> bytes;
  std::vector<std::uint64_t> ends;  // by code
  std::vector<std::uint32_t>
      by_text;  // codes, without first_code, in the texts' order; empty: the codes' order

  std::uint32_t size() const { return static_cast<std::uint32_t>(ends.size()); }
};

}  // namespace culmen
