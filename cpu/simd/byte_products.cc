#include "cpu/simd/byte_products.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace culmen::simd {
namespace {

// ---- Plain code

template <typename Take>
void each_product(const ByteRows& rows, const ByteWeights& questions, const Take& take) {
  const std::size_t num_rows = rows.num_vectors * kByteRows;
  for (std::size_t q = 0; q < questions.num_questions; ++q) {
    const std::int8_t* weights = questions.weights + q * rows.num_quads * 4;
    for (std::size_t r = 0; r < num_rows; ++r) {
      std::int32_t sum = 0;
      for (std::size_t i = 0; i < rows.num_quads * 4; ++i)
        sum += weights[i] * rows.codes[(i / 4 * rows.stride * kByteRows + r) * 4 + i % 4];
      take(q, r, sum);
    }
  }
}

#if defined(__x86_64__)
#define CULMEN_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

// The products of kVectors vectors of rows with kByteQuestions questions stay in registers: 24 of 32.
constexpr std::size_t kVectorsAtOnce = 6;

template <std::size_t kVectors>
struct Sums {
  __m512i of[kByteQuestions][kVectors];
};

template <std::size_t kVectors>
CULMEN_VNNI inline Sums<kVectors> multiply(const ByteRows& rows, std::size_t vector,
                                           const std::int8_t* weights) {
  Sums<kVectors> sums;
  for (auto& of_question : sums.of)
    for (__m512i& sum : of_question) sum = _mm512_setzero_si512();
  for (std::size_t quad = 0; quad < rows.num_quads; ++quad) {
    const std::uint8_t* from = rows.codes + (quad * rows.stride + vector) * kByteRows * 4;
    __m512i codes[kVectors];
#pragma GCC unroll 8
    for (std::size_t v = 0; v < kVectors; ++v) codes[v] = _mm512_loadu_si512(from + v * kByteRows * 4);
#pragma GCC unroll 8
    for (std::size_t q = 0; q < kByteQuestions; ++q) {
      std::int32_t word;  // 4 weights
      __builtin_memcpy(&word, weights + (q * rows.num_quads + quad) * 4, sizeof word);
      const __m512i weight = _mm512_set1_epi32(word);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < kVectors; ++v)
        sums.of[q][v] = _mm512_dpbusd_epi32(sums.of[q][v], codes[v], weight);
    }
  }
  return sums;
}

template <std::size_t kVectors>
CULMEN_VNNI void append_of_vectors(const ByteRows& rows, std::size_t vector, const ByteWeights& questions,
                                   const std::int32_t* least, std::vector<ReachingRow>& reaching) {
  for (std::size_t first = 0; first < questions.num_questions; first += kByteQuestions) {
    const Sums<kVectors> sums =
        multiply<kVectors>(rows, vector, questions.weights + first * rows.num_quads * 4);
#pragma GCC unroll 8
    for (std::size_t q = 0; q < kByteQuestions; ++q) {
      const __m512i limit = _mm512_set1_epi32(least[first + q]);
      std::uint32_t masks[kVectors], any = 0;
#pragma GCC unroll 8
      for (std::size_t v = 0; v < kVectors; ++v)
        any |= masks[v] = _mm512_cmpge_epi32_mask(sums.of[q][v], limit);
      if (any == 0) continue;
      for (std::size_t v = 0; v < kVectors; ++v)
        for (std::uint32_t left = masks[v]; left != 0; left &= left - 1)
          reaching.push_back({static_cast<std::uint32_t>(first + q),
                              static_cast<std::uint32_t>((vector + v) * kByteRows +
                                                         static_cast<std::size_t>(__builtin_ctz(left)))});
    }
  }
}

template <std::size_t kVectors>
CULMEN_VNNI void raise_of_vectors(const ByteRows& rows, std::size_t vector, const ByteWeights& questions,
                                  std::size_t stride, std::int32_t* maxima) {
  for (std::size_t first = 0; first < questions.num_questions; first += kByteQuestions) {
    const Sums<kVectors> sums =
        multiply<kVectors>(rows, vector, questions.weights + first * rows.num_quads * 4);
#pragma GCC unroll 8
    for (std::size_t q = 0; q < kByteQuestions; ++q) {
      std::int32_t* to = maxima + (first + q) * stride;
      __m512i highest = _mm512_loadu_si512(to);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < kVectors; ++v) highest = _mm512_max_epi32(highest, sums.of[q][v]);
      _mm512_storeu_si512(to, highest);
    }
  }
}

// Calls visit.template operator()<number>(first) for groups of vectors.
template <typename Visit>
void each_group(std::size_t num_vectors, const Visit& visit) {
  std::size_t vector = 0;
  for (; vector + kVectorsAtOnce <= num_vectors; vector += kVectorsAtOnce)
    visit.template operator()<kVectorsAtOnce>(vector);
  for (; vector + 2 <= num_vectors; vector += 2) visit.template operator()<2>(vector);
  if (vector < num_vectors) visit.template operator()<1>(vector);
}
#endif

}  // namespace

bool has_fast_byte_products() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return has;
#else
  return false;
#endif
}

void append_reaching(const ByteRows& rows, const ByteWeights& questions, const std::int32_t* least,
                     std::vector<ReachingRow>& reaching) {
#if defined(__x86_64__)
  if (has_fast_byte_products())
    return each_group(rows.num_vectors, [&]<std::size_t kVectors>(std::size_t vector) {
      append_of_vectors<kVectors>(rows, vector, questions, least, reaching);
    });
#endif
  each_product(rows, questions, [&](std::size_t q, std::size_t r, std::int32_t sum) {
    if (sum >= least[q])
      reaching.push_back({static_cast<std::uint32_t>(q), static_cast<std::uint32_t>(r)});
  });
}

void raise_maxima(const ByteRows& rows, const ByteWeights& questions, std::size_t stride,
                  std::int32_t* maxima) {
#if defined(__x86_64__)
  if (has_fast_byte_products())
    return each_group(rows.num_vectors, [&]<std::size_t kVectors>(std::size_t vector) {
      raise_of_vectors<kVectors>(rows, vector, questions, stride, maxima);
    });
#endif
  each_product(rows, questions, [&](std::size_t q, std::size_t r, std::int32_t sum) {
    std::int32_t& highest = maxima[q * stride + r % kByteRows];
    highest = std::max(highest, sum);
  });
}

}  // namespace culmen::simd
