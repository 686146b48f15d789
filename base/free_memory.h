// Gives memory that was freed back to the system, where the allocator would keep it.
#pragma once

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace culmen {

// For whoever has freed much and keeps to a limit: glibc keeps what threads have freed between other blocks. Takes some
// milliseconds.
inline void give_back_freed_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace culmen
