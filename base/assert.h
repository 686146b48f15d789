// CULMEN_ASSERT checks an internal invariant in debug and sanitizer builds (CULMEN_ASSERTIONS), and costs nothing in
// release builds. Bad arguments and damaged files throw exceptions instead.
#pragma once

#ifdef CULMEN_ASSERTIONS
#include <cstdio>
#include <cstdlib>
#define CULMEN_ASSERT(condition)                                                             \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      std::fprintf(stderr, "%s:%d: broken invariant: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                          \
    }                                                                                        \
  } while (false)
#else
#define CULMEN_ASSERT(condition) static_cast<void>(0)
#endif
