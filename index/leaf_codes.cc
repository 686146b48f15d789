#include "index/leaf_codes.h"

#include <algorithm>
#include <cmath>

#include "index/blocks.h"

namespace culmen {
namespace {

template <typename T>
void write_column(const T* column, std::size_t num_rows, double minimum, double step, std::uint16_t* words,
                  std::size_t num_words) {
  std::fill(words, words + num_words, std::uint16_t{0});
  if (!std::isfinite(step)) return;  // readers leave such a leaf's codes alone
  for (std::size_t r = 0; r < num_rows; ++r) {
    const double steps = (static_cast<double>(column[r]) - minimum) / step;
    const auto code = static_cast<std::uint32_t>(std::min(steps, kCodeIntervals - 1.0));
    words[r % num_words] |= static_cast<std::uint16_t>(code << (4 * (r / num_words)));
  }
}

template <typename T>
void write_codes(Blocks& blocks, std::size_t leaf, std::size_t num_rows) {
  const BlockShape& shape = blocks.shape();
  const T* values = reinterpret_cast<const T*>(blocks.values(leaf));
  const T* corners = reinterpret_cast<const T*>(blocks.corners(leaf));
  const std::size_t num_words = num_code_words(shape.block_rows);
  for (std::size_t i = 0; i < shape.num_attributes; ++i) {
    const auto maximum =
        static_cast<double>(corners[static_cast<std::size_t>(Corner::maximum) * shape.num_attributes + i]);
    const auto minimum =
        static_cast<double>(corners[static_cast<std::size_t>(Corner::minimum) * shape.num_attributes + i]);
    write_column(values + i * shape.block_rows, num_rows, minimum, code_step(minimum, maximum),
                 blocks.codes(leaf) + i * num_words, num_words);
  }
}

}  // namespace

void write_leaf_codes(Blocks& blocks, std::size_t leaf, std::size_t num_rows) {
  if (blocks.shape().value_bytes == sizeof(float)) {
    write_codes<float>(blocks, leaf, num_rows);
  } else {
    write_codes<double>(blocks, leaf, num_rows);
  }
}

}  // namespace culmen
