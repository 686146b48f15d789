// Products of rows in codes of 8 bits with many questions in weights of 8 bits: the inner loop of cpu/byte_pass.h.
// Sums are exact in 32 bits, so every path returns the same.
#pragma once

#include <cstddef>
#include <cstdint>

namespace culmen::simd {

inline constexpr std::size_t kByteRows = 16;      // rows of a vector; leaves are padded to it
inline constexpr std::size_t kByteVectors = 6;    // the most of one call
inline constexpr std::size_t kByteQuestions = 4;  // questions at once; tiles are padded to it

// Codes, [num_quads][stride][kByteRows][4]: of each row the codes of 4 neighbouring attributes.
struct ByteRows {
  const std::uint8_t* codes;
  std::size_t num_quads;
  std::size_t stride;       // in vectors
  std::size_t num_vectors;  // to read: at most `stride`, and kByteVectors
};

// The weights of some questions, [num_questions][num_quads][4].
struct ByteWeights {
  const std::int8_t* weights;
  std::size_t num_questions;  // a multiple of kByteQuestions
};

struct ReachingRow {
  std::uint32_t question;
  std::uint32_t row;
  std::int32_t sum;
};

// One way to multiply.
struct ByteKernels {
  // Writes the rows whose product with a question is at least least[question], padded rows among them, and returns how
  // many. out: room for all products.
  std::size_t (*reaching)(const ByteRows& rows, const ByteWeights& questions, const std::int32_t* least,
                          ReachingRow* out);
  // Raises maxima[question * stride + lane] to the highest product of the rows row % kByteRows == lane.
  void (*raise)(const ByteRows& rows, const ByteWeights& questions, std::size_t stride, std::int32_t* maxima);
  int most_weight;  // weights are at most this, so that no sum on the way overflows
  double quad_ns;   // of a row, a question and 4 attributes, on the processor of planner/cost_model.h
  bool is_fast;     // beside searches one by one
};

// AVX-512 VNNI, AVX2 or plain code: the best that the current target (cpu/simd/kernels.h) allows.
const ByteKernels& byte_kernels();

}  // namespace culmen::simd
