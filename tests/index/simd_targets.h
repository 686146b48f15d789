// For code that is compiled for several instruction sets (hwy/foreach_target.h): each of those that this machine has.
#pragma once

#include <hwy/targets.h>

#include <cstdint>

namespace culmen::test {

// Calls f() with each chosen in turn.
template <typename F>
void for_each_simd_target(const F& f) {
  const auto choose = [](std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);  // 0: all
    hwy::GetChosenTarget().DeInit();
  };
  const std::int64_t all = hwy::SupportedTargets();
  for (const std::int64_t target :
       {std::int64_t{HWY_AVX3}, std::int64_t{HWY_AVX2}, std::int64_t{HWY_SCALAR}}) {
    if (target != HWY_SCALAR && (all & target) == 0) continue;
    choose(target);
    f();
  }
  choose(0);
}

}  // namespace culmen::test
