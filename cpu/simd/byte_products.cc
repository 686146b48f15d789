#include "cpu/simd/byte_products.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "cpu/simd/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace culmen::simd {
namespace {

constexpr std::size_t kQuad = 4;  // attributes whose codes are neighbours

// ---- Plain code

template <typename Take>
void each_product(const ByteRows& rows, const ByteWeights& questions, const Take& take) {
  const std::size_t num_rows = rows.num_vectors * kByteRows;
  for (std::size_t q = 0; q < questions.num_questions; ++q) {
    const std::int8_t* weights = questions.weights + q * rows.num_quads * kQuad;
    for (std::size_t r = 0; r < num_rows; ++r) {
      std::int32_t sum = 0;
      for (std::size_t i = 0; i < rows.num_quads * kQuad; ++i)
        sum += weights[i] * rows.codes[(i / kQuad * rows.stride * kByteRows + r) * kQuad + i % kQuad];
      take(q, r, sum);
    }
  }
}

std::size_t reaching_plain(const ByteRows& rows, const ByteWeights& questions, const std::int32_t* least,
                           ReachingRow* out) {
  std::size_t count = 0;
  each_product(rows, questions, [&](std::size_t q, std::size_t r, std::int32_t sum) {
    if (sum >= least[q]) out[count++] = {static_cast<std::uint32_t>(q), static_cast<std::uint32_t>(r), sum};
  });
  return count;
}

void raise_plain(const ByteRows& rows, const ByteWeights& questions, std::size_t stride,
                 std::int32_t* maxima) {
  each_product(rows, questions, [&](std::size_t q, std::size_t r, std::int32_t sum) {
    std::int32_t& highest = maxima[q * stride + r % kByteRows];
    highest = std::max(highest, sum);
  });
}

#if defined(__x86_64__)

// Calls visit.template operator()<number>(first) for groups of vectors.
template <typename Visit>
void each_group(std::size_t num_vectors, const Visit& visit) {
  if (num_vectors == kByteVectors) return visit.template operator()<kByteVectors>(0);
  std::size_t vector = 0;
  for (; vector + 2 <= num_vectors; vector += 2) visit.template operator()<2>(vector);
  if (vector < num_vectors) visit.template operator()<1>(vector);
}

// Writes the rows of a group whose bit in `reaching` is set, one of kByteRows bits for each vector.
std::size_t write_reaching(const std::int32_t* sums, std::size_t num_vectors, const std::uint16_t* reaching,
                           std::size_t question, std::size_t first_row, ReachingRow* out) {
  std::size_t count = 0;
  for (std::size_t v = 0; v < num_vectors; ++v)
    for (std::uint32_t left = reaching[v]; left != 0; left &= left - 1) {
      const std::size_t row = v * kByteRows + static_cast<std::size_t>(__builtin_ctz(left));
      out[count++] = {static_cast<std::uint32_t>(question), static_cast<std::uint32_t>(first_row + row),
                      sums[row]};
    }
  return count;
}

const std::uint8_t* codes_of(const ByteRows& rows, std::size_t quad, std::size_t vector) {
  return rows.codes + (quad * rows.stride + vector) * kByteRows * kQuad;
}

std::int32_t quad_of(const std::int8_t* weights) {
  std::int32_t word = 0;
  std::memcpy(&word, weights, sizeof word);
  return word;
}

// Vectors that stay in registers get their values after their declarations.
// NOLINTBEGIN(cppcoreguidelines-pro-type-member-init)

// ---- AVX-512 VNNI: one instruction for 64 products
//
// The sums of kVectors vectors of rows with kByteQuestions questions stay in registers, 24 of 32. For that, loops over
// them are folds, so that every index is a constant, and the instruction is written out: of the intrinsic, g++ 12 copies
// each sum before, and stores it after.

#define CULMEN_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))
#define CULMEN_VNNI_INLINE \
  inline __attribute__((always_inline, target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))

template <std::size_t kVectors>
struct Wide {
  __m512i of[kVectors];
};

template <std::size_t... v>
CULMEN_VNNI_INLINE void clear(Wide<sizeof...(v)>& sums, std::index_sequence<v...> /*vectors*/) {
  ((sums.of[v] = _mm512_setzero_si512()), ...);
}

template <std::size_t... v>
CULMEN_VNNI_INLINE void load(const std::uint8_t* from, Wide<sizeof...(v)>& codes,
                             std::index_sequence<v...> /*vectors*/) {
  ((codes.of[v] = _mm512_loadu_si512(from + v * kByteRows * kQuad)), ...);
}

CULMEN_VNNI_INLINE void add_products(__m512i codes, __m512i weights, __m512i& sums) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(codes), "v"(weights));  // NOLINT(hicpp-no-assembler)
}

template <std::size_t... v>
CULMEN_VNNI_INLINE void add_products(const Wide<sizeof...(v)>& codes, std::int32_t quad,
                                     Wide<sizeof...(v)>& sums, std::index_sequence<v...> /*vectors*/) {
  const __m512i weights = _mm512_set1_epi32(quad);
  (add_products(codes.of[v], weights, sums.of[v]), ...);
}

template <std::size_t kVectors>
CULMEN_VNNI_INLINE void multiply(const ByteRows& rows, std::size_t vector, const std::int8_t* weights,
                                 Wide<kVectors>& a, Wide<kVectors>& b, Wide<kVectors>& c, Wide<kVectors>& d) {
  constexpr auto kAll = std::make_index_sequence<kVectors>();
  const std::size_t stride = rows.num_quads * kQuad;
  clear(a, kAll);
  clear(b, kAll);
  clear(c, kAll);
  clear(d, kAll);
  for (std::size_t quad = 0; quad < rows.num_quads; ++quad, weights += kQuad) {
    Wide<kVectors> codes;
    load(codes_of(rows, quad, vector), codes, kAll);
    add_products(codes, quad_of(weights), a, kAll);
    add_products(codes, quad_of(weights + stride), b, kAll);
    add_products(codes, quad_of(weights + 2 * stride), c, kAll);
    add_products(codes, quad_of(weights + 3 * stride), d, kAll);
  }
}

template <std::size_t... v>
CULMEN_VNNI_INLINE std::size_t take_reaching(const Wide<sizeof...(v)>& sums, std::int32_t least,
                                             std::size_t question, std::size_t vector, ReachingRow* out,
                                             std::index_sequence<v...> /*vectors*/) {
  const __m512i limit = _mm512_set1_epi32(least);
  const std::uint16_t reaching[] = {_mm512_cmpge_epi32_mask(sums.of[v], limit)...};
  if ((reaching[v] | ...) == 0) return 0;
  std::int32_t written[sizeof...(v) * kByteRows];
  (_mm512_storeu_si512(written + v * kByteRows, sums.of[v]), ...);
  return write_reaching(written, sizeof...(v), reaching, question, vector * kByteRows, out);
}

template <std::size_t kVectors>
CULMEN_VNNI std::size_t reaching_by_vnni(const ByteRows& rows, std::size_t vector,
                                         const ByteWeights& questions, const std::int32_t* least,
                                         ReachingRow* out) {
  constexpr auto kAll = std::make_index_sequence<kVectors>();
  std::size_t count = 0;
  for (std::size_t q = 0; q < questions.num_questions; q += kByteQuestions) {
    Wide<kVectors> a, b, c, d;
    multiply(rows, vector, questions.weights + q * rows.num_quads * kQuad, a, b, c, d);
    count += take_reaching(a, least[q], q, vector, out + count, kAll);
    count += take_reaching(b, least[q + 1], q + 1, vector, out + count, kAll);
    count += take_reaching(c, least[q + 2], q + 2, vector, out + count, kAll);
    count += take_reaching(d, least[q + 3], q + 3, vector, out + count, kAll);
  }
  return count;
}

template <std::size_t... v>
CULMEN_VNNI_INLINE void raise_to(const Wide<sizeof...(v)>& sums, std::int32_t* maxima,
                                 std::index_sequence<v...> /*vectors*/) {
  __m512i highest = _mm512_loadu_si512(maxima);
  // With a mask of all, because g++ 12 warns of the one without (-Wmaybe-uninitialized).
  ((highest = _mm512_maskz_max_epi32(0xffff, highest, sums.of[v])), ...);
  _mm512_storeu_si512(maxima, highest);
}

template <std::size_t kVectors>
CULMEN_VNNI void raise_by_vnni(const ByteRows& rows, std::size_t vector, const ByteWeights& questions,
                               std::size_t stride, std::int32_t* maxima) {
  constexpr auto kAll = std::make_index_sequence<kVectors>();
  for (std::size_t q = 0; q < questions.num_questions; q += kByteQuestions) {
    Wide<kVectors> a, b, c, d;
    multiply(rows, vector, questions.weights + q * rows.num_quads * kQuad, a, b, c, d);
    raise_to(a, maxima + q * stride, kAll);
    raise_to(b, maxima + (q + 1) * stride, kAll);
    raise_to(c, maxima + (q + 2) * stride, kAll);
    raise_to(d, maxima + (q + 3) * stride, kAll);
  }
}

std::size_t reaching_vnni(const ByteRows& rows, const ByteWeights& questions, const std::int32_t* least,
                          ReachingRow* out) {
  std::size_t count = 0;
  each_group(rows.num_vectors, [&]<std::size_t kVectors>(std::size_t vector) {
    count += reaching_by_vnni<kVectors>(rows, vector, questions, least, out + count);
  });
  return count;
}

void raise_vnni(const ByteRows& rows, const ByteWeights& questions, std::size_t stride,
                std::int32_t* maxima) {
  each_group(rows.num_vectors, [&]<std::size_t kVectors>(std::size_t vector) {
    raise_by_vnni<kVectors>(rows, vector, questions, stride, maxima);
  });
}

// ---- AVX2: three instructions for 32 products
//
// vpmaddubsw adds two products in 16 bits: 2 * 255 * 64 is the most that fits.

#define CULMEN_AVX2 __attribute__((target("avx2")))
#define CULMEN_AVX2_INLINE inline __attribute__((always_inline, target("avx2")))

// One vector of rows.
struct Halves {
  __m256i low, high;
};

CULMEN_AVX2_INLINE void add_products(__m256i codes, __m256i weights, __m256i ones, __m256i& sums) {
  const __m256i pairs = _mm256_maddubs_epi16(codes, weights);
  sums = _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, ones));
}

CULMEN_AVX2_INLINE void add_products(const Halves& codes, std::int32_t quad, Halves& sums) {
  const __m256i weights = _mm256_set1_epi32(quad), ones = _mm256_set1_epi16(1);
  add_products(codes.low, weights, ones, sums.low);
  add_products(codes.high, weights, ones, sums.high);
}

CULMEN_AVX2_INLINE void multiply(const ByteRows& rows, std::size_t vector, const std::int8_t* weights,
                                 Halves& a, Halves& b, Halves& c, Halves& d) {
  const std::size_t stride = rows.num_quads * kQuad;
  a.low = a.high = b.low = b.high = c.low = c.high = d.low = d.high = _mm256_setzero_si256();
  for (std::size_t quad = 0; quad < rows.num_quads; ++quad, weights += kQuad) {
    const auto* from = reinterpret_cast<const __m256i*>(codes_of(rows, quad, vector));
    const Halves codes = {_mm256_loadu_si256(from), _mm256_loadu_si256(from + 1)};
    add_products(codes, quad_of(weights), a);
    add_products(codes, quad_of(weights + stride), b);
    add_products(codes, quad_of(weights + 2 * stride), c);
    add_products(codes, quad_of(weights + 3 * stride), d);
  }
}

CULMEN_AVX2_INLINE std::size_t take_reaching(const Halves& sums, std::int32_t least, std::size_t question,
                                             std::size_t vector, ReachingRow* out) {
  const __m256i limit = _mm256_set1_epi32(least);
  const int low = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(limit, sums.low)));
  const int high = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(limit, sums.high)));
  const auto reaching = static_cast<std::uint16_t>(~(low | high << 8));  // not below
  if (reaching == 0) return 0;
  std::int32_t written[kByteRows];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(written), sums.low);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(written + kByteRows / 2), sums.high);
  return write_reaching(written, 1, &reaching, question, vector * kByteRows, out);
}

CULMEN_AVX2 std::size_t reaching_avx2(const ByteRows& rows, const ByteWeights& questions,
                                      const std::int32_t* least, ReachingRow* out) {
  std::size_t count = 0;
  for (std::size_t vector = 0; vector < rows.num_vectors; ++vector)
    for (std::size_t q = 0; q < questions.num_questions; q += kByteQuestions) {
      Halves a, b, c, d;
      multiply(rows, vector, questions.weights + q * rows.num_quads * kQuad, a, b, c, d);
      count += take_reaching(a, least[q], q, vector, out + count);
      count += take_reaching(b, least[q + 1], q + 1, vector, out + count);
      count += take_reaching(c, least[q + 2], q + 2, vector, out + count);
      count += take_reaching(d, least[q + 3], q + 3, vector, out + count);
    }
  return count;
}

CULMEN_AVX2_INLINE void raise_to(const Halves& sums, std::int32_t* maxima) {
  auto* low = reinterpret_cast<__m256i*>(maxima);
  _mm256_storeu_si256(low, _mm256_max_epi32(_mm256_loadu_si256(low), sums.low));
  _mm256_storeu_si256(low + 1, _mm256_max_epi32(_mm256_loadu_si256(low + 1), sums.high));
}

CULMEN_AVX2 void raise_avx2(const ByteRows& rows, const ByteWeights& questions, std::size_t stride,
                            std::int32_t* maxima) {
  for (std::size_t vector = 0; vector < rows.num_vectors; ++vector)
    for (std::size_t q = 0; q < questions.num_questions; q += kByteQuestions) {
      Halves a, b, c, d;
      multiply(rows, vector, questions.weights + q * rows.num_quads * kQuad, a, b, c, d);
      raise_to(a, maxima + q * stride);
      raise_to(b, maxima + (q + 1) * stride);
      raise_to(c, maxima + (q + 2) * stride);
      raise_to(d, maxima + (q + 3) * stride);
    }
}

// NOLINTEND(cppcoreguidelines-pro-type-member-init)

bool has_vnni() {
  return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
#endif

}  // namespace

const ByteKernels& byte_kernels() {
  static constexpr ByteKernels kPlain = {reaching_plain, raise_plain, 127, 2, false};
#if defined(__x86_64__)
  static constexpr ByteKernels kAvx2 = {reaching_avx2, raise_avx2, 64, 0.08, true};
  static constexpr ByteKernels kVnni = {reaching_vnni, raise_vnni, 127, 0.022, true};
  const std::string target = current_target();
  if (target.starts_with("AVX3")) return has_vnni() ? kVnni : kAvx2;
  if (target == "AVX2") return kAvx2;
#endif
  return kPlain;
}

}  // namespace culmen::simd
