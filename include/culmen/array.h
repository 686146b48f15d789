// Arrays of a table, which may be too large for memory: vectors that live on the heap, or in memory of another kind, such
// as files (ReadOptions::temp_directory).
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace culmen {

// Gives memory for arrays. Many threads may call it.
class ArrayMemory {
 public:
  virtual ~ArrayMemory() = default;
  // Aligned for any number. Throws std::bad_alloc or IoError.
  virtual void* allocate(std::size_t num_bytes) = 0;
  virtual void deallocate(void* array, std::size_t num_bytes) noexcept = 0;
};

// A container that is moved or swapped takes its memory with it; a copy gets memory of the same kind.
template <typename T>
class ArrayAllocator {
 public:
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  ArrayAllocator() = default;  // the heap
  template <std::derived_from<ArrayMemory> Memory>
  ArrayAllocator(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}  // null: the heap
  template <typename U>
  ArrayAllocator(const ArrayAllocator<U>& other) : memory_(other.memory()) {}

  T* allocate(std::size_t num_values) {
    if (memory_ == nullptr) return std::allocator<T>().allocate(num_values);
    return static_cast<T*>(memory_->allocate(num_values * sizeof(T)));
  }
  void deallocate(T* array, std::size_t num_values) noexcept {
    if (memory_ == nullptr) return std::allocator<T>().deallocate(array, num_values);
    memory_->deallocate(array, num_values * sizeof(T));
  }

  const std::shared_ptr<ArrayMemory>& memory() const { return memory_; }
  template <typename U>
  friend bool operator==(const ArrayAllocator& a, const ArrayAllocator<U>& b) {
    return a.memory() == b.memory();
  }

 private:
  std::shared_ptr<ArrayMemory> memory_;
};

template <typename T>
using Array = std::vector<T, ArrayAllocator<T>>;

template <typename T>
bool operator==(const Array<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace culmen
