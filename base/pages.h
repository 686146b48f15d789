// PageBuffer: a large, zeroed, page-aligned array of trivially copyable values, on huge pages if the system has them. A
// query reads a few hundred scattered cache lines in gigabytes: with 4 KiB pages, each would cost a page walk as well.
// An array of which little will ever be written is on small pages: each first write to a huge one zeroes 2 MiB.
// An array may also be in temporary files, on small pages.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "base/assert.h"
#include "base/page_size.h"
#include "base/temporary_files.h"

namespace culmen {

enum class PageSize { huge, small };

// Reserves addresses for `capacity` values, of which the first `size` are backed by memory, or by temporary files. It grows
// without moving, so concurrent readers are not affected.
template <typename T>
class PageBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PageBuffer() = default;
  explicit PageBuffer(std::size_t size) : PageBuffer(size, size) {}
  // files: null for memory.
  PageBuffer(std::size_t size, std::size_t capacity, PageSize pages = PageSize::huge,
             std::shared_ptr<TemporaryFiles> files = nullptr)
      : capacity_(capacity), files_(std::move(files)) {
    if (capacity == 0) return;
    if (capacity > kMaxBytes / sizeof(T)) throw std::bad_alloc();
    void* memory =
        ::mmap(nullptr, capacity * sizeof(T), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(memory);
    if (pages == PageSize::huge && files_ == nullptr) use_huge_pages();
    try {
      grow(size);
    } catch (...) {
      ::munmap(data_, capacity_ * sizeof(T));
      throw;
    }
  }
  PageBuffer(PageBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)),
        files_(std::move(other.files_)),
        file_bytes_(std::exchange(other.file_bytes_, 0)) {}
  PageBuffer& operator=(PageBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(files_, other.files_);
    std::swap(file_bytes_, other.file_bytes_);
    return *this;
  }
  PageBuffer(const PageBuffer&) = delete;
  PageBuffer& operator=(const PageBuffer&) = delete;
  ~PageBuffer() {
    if (data_ != nullptr) ::munmap(data_, capacity_ * sizeof(T));
  }

  // For what is not written yet.
  void use_huge_pages() {
    if (data_ != nullptr)
      ::madvise(data_, capacity_ * sizeof(T), MADV_HUGEPAGE);  // a hint: failure only costs speed
  }

  // Backs the first `size` <= capacity() values. New values are zero.
  void grow(std::size_t size) {
    CULMEN_ASSERT(size <= capacity_);
    if (size <= size_) return;
    if (files_ != nullptr) {
      grow_files(size * sizeof(T));
    } else if (::mprotect(data_, size * sizeof(T), PROT_READ | PROT_WRITE) != 0) {
      throw std::bad_alloc();
    }
    size_ = size;
  }

  // Gives back the memory of values that nobody reads any more, as far as they fill small pages: those are zero afterwards.
  // Not of files.
  void discard(std::size_t first, std::size_t end) {
    const std::size_t from = whole_pages(first * sizeof(T));
    const std::size_t to = end * sizeof(T) / kPageBytes * kPageBytes;
    if (from < to) ::madvise(reinterpret_cast<std::byte*>(data_) + from, to - from, MADV_DONTNEED);
  }

  // Of files: from now on they are accessed at many places in turn. To read ahead at each of them would be in vain.
  void expect_scattered_access() { advise(MADV_RANDOM); }
  // As at first: near where they were accessed before.
  void expect_usual_access() { advise(MADV_NORMAL); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  std::size_t size_bytes() const { return size_ * sizeof(T); }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }

 private:
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 47;

  void advise(int advice) {
    if (file_bytes_ > 0) ::madvise(data_, file_bytes_, advice);
  }

  // After the first time by an eighth at least, because each file is a mapping, and a process has 65,530 of them.
  void grow_files(std::size_t num_bytes) {
    if (num_bytes <= file_bytes_) return;
    const std::size_t wanted = std::max(num_bytes, file_bytes_ + file_bytes_ / 8);
    const std::size_t end = whole_pages(std::min(wanted, capacity_ * sizeof(T)));
    files_->map_at(reinterpret_cast<std::byte*>(data_) + file_bytes_, end - file_bytes_);
    file_bytes_ = end;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::shared_ptr<TemporaryFiles> files_;
  std::size_t file_bytes_ = 0;  // whole pages
};

}  // namespace culmen
