// PageBuffer: a large, zeroed, page-aligned piece of memory of trivially copyable values, on huge pages where
// the system has them. A query touches a few hundred scattered places in gigabytes: with 4 KiB pages each of
// them would cost a page walk beside the cache miss.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace culmen {

template <typename T>
class PageBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PageBuffer() = default;
  explicit PageBuffer(std::size_t size) : size_(size) {
    if (size == 0) return;
    if (size > kMaxBytes / sizeof(T)) throw std::bad_alloc();
    void* memory = ::mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    ::madvise(memory, size * sizeof(T), MADV_HUGEPAGE);  // a wish; refusal costs speed only
    data_ = static_cast<T*>(memory);
  }
  PageBuffer(PageBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PageBuffer& operator=(PageBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  PageBuffer(const PageBuffer&) = delete;
  PageBuffer& operator=(const PageBuffer&) = delete;
  ~PageBuffer() {
    if (data_ != nullptr) ::munmap(data_, size_ * sizeof(T));
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t size_bytes() const { return size_ * sizeof(T); }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 47;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace culmen
