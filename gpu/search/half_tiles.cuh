// Products, on tensor cores, of two tiles of binary16 numbers in shared memory, with sums in binary32.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace culmen::gpu {

// The rows of a tile have a multiple of kHalfStep numbers, padded by kHalfPadding, so that ldmatrix has no bank
// conflicts.
inline constexpr std::uint32_t kHalfStep = 16, kHalfPadding = 8;

// 16 x 16 numbers of a tile, as mma takes them.
struct HalfFragment {
  std::uint32_t words[4];

  // Four matrices of 8 x 8 from the rows that the lanes point to: lane l to row l % 8 of matrix l / 8.
  __device__ void load(const __half* row) {
    const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(address)
                 : "memory");
  }
};

// sums = before + a * b over kHalfStep numbers, for 16 rows of a and 8 of b. The lane's sums: row lane / 4 (the first
// two) or that + 8, by b's rows lane % 4 * 2 and the next.
__device__ inline void multiply_add(float (&sums)[4], const HalfFragment& a, std::uint32_t b_low,
                                    std::uint32_t b_high, const float (&before)[4]) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %11, %12, %13};"
      : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3])
      : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b_low), "r"(b_high),
        "f"(before[0]), "f"(before[1]), "f"(before[2]), "f"(before[3]));
#else
  const auto half_step = [&](std::uint32_t top, std::uint32_t bottom, std::uint32_t b, const float(&c)[4]) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, "
        "%10};"
        : "=f"(sums[0]), "=f"(sums[1]), "=f"(sums[2]), "=f"(sums[3])
        : "r"(top), "r"(bottom), "r"(b), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
  };
  half_step(a.words[0], a.words[1], b_low, before);
  half_step(a.words[2], a.words[3], b_high, sums);
#endif
}

}  // namespace culmen::gpu
