// Products of rows in codes of 8 bits with many questions in weights of 8 bits: the inner loop of cpu/byte_pass.h.
// Sums are exact in 32 bits, so every path returns the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace culmen::simd {

inline constexpr std::size_t kByteRows = 16;      // rows of a vector; leaves are padded to it
inline constexpr std::size_t kByteQuestions = 4;  // questions at once; tiles are padded to it

// The codes of a leaf, [num_quads][stride][kByteRows][4]: of each row the codes of 4 neighbouring attributes.
struct ByteRows {
  const std::uint8_t* codes;
  std::size_t num_quads;
  std::size_t stride;       // in vectors
  std::size_t num_vectors;  // to read, at most `stride`
};

// The weights of a tile of questions, [num_questions][num_quads][4].
struct ByteWeights {
  const std::int8_t* weights;
  std::size_t num_questions;  // a multiple of kByteQuestions
};

struct ReachingRow {
  std::uint32_t question;
  std::uint32_t row;
};

// Appends the rows whose product with a question is at least least[question], padded rows among them.
void append_reaching(const ByteRows& rows, const ByteWeights& questions, const std::int32_t* least,
                     std::vector<ReachingRow>& reaching);

// Raises maxima[question * stride + lane] to the highest product of the rows row % kByteRows == lane.
void raise_maxima(const ByteRows& rows, const ByteWeights& questions, std::size_t stride,
                  std::int32_t* maxima);

// Whether this machine has an instruction for such products (AVX-512 VNNI); without it they are slow.
bool has_fast_byte_products();

}  // namespace culmen::simd
