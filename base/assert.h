// CULMEN_ASSERT states an invariant of ours. On in debug and sanitizer builds (CULMEN_ASSERTIONS), free in
// release. Arguments and data from files are not asserted: they are checked and thrown about.
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
