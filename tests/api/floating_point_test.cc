// A host program may have changed the processor's floating-point rules: answers must not.
#include <gtest/gtest.h>

#include <cfenv>

#include "culmen/culmen.h"

#if defined(__x86_64__)
#include <xmmintrin.h>

namespace culmen {
namespace {

TEST(FloatingPoint, RulesOfTheHostChangeNoAnswerAndAreGivenBack) {
  const Table table = generate_table({.kind = TableKind::independent, .num_rows = 3000, .num_attributes = 5});
  const Query query{.weights = {0.1, 0.7, -0.3, 1e-310, 0.9}, .k = 40};
  const SearchResult wanted = Index::build(table.view()).search(query);
  const unsigned usual = _mm_getcsr();
  for (const unsigned rounding : {0x0000u, 0x2000u, 0x4000u, 0x6000u}) {
    for (const unsigned flush : {0x0000u, 0x8000u, 0x0040u, 0x8040u}) {  // FTZ is 0x8000, DAZ 0x0040
      _mm_setcsr(0x1f80u | rounding | flush);
      const Index index = Index::build(table.view());
      for (const Engine engine : {Engine::bounded, Engine::scan, Engine::gta, Engine::ta})
        EXPECT_EQ(index.search(query, {.engine = engine}).hits.front().score, wanted.hits.front().score);
      const SearchResult found = index.search(query);
      const unsigned after = _mm_getcsr() & ~0x3fu;  // without the exception flags
      _mm_setcsr(usual);
      EXPECT_EQ(after, 0x1f80u | rounding | flush);
      ASSERT_EQ(found.hits.size(), wanted.hits.size());
      for (std::size_t i = 0; i < found.hits.size(); ++i) {
        EXPECT_EQ(found.hits[i].id, wanted.hits[i].id);
        EXPECT_EQ(found.hits[i].score, wanted.hits[i].score);
      }
    }
  }
}

}  // namespace
}  // namespace culmen
#endif
