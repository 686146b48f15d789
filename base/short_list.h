// ShortList: a list of numbers and the like that allocates nothing as long as it has at most kInPlace elements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace culmen {

template <typename T, std::size_t kInPlace>
class ShortList {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  // NOLINTBEGIN(cppcoreguidelines-pro-type-member-init): the first size_ elements in place are written
  ShortList() = default;
  ~ShortList() = default;
  ShortList(const ShortList& other) : size_(other.size_), longer_(other.longer_) { copy_in_place(other); }
  ShortList(ShortList&& other) noexcept : size_(other.size_), longer_(std::move(other.longer_)) {
    copy_in_place(other);
    other.clear();
  }
  // NOLINTEND(cppcoreguidelines-pro-type-member-init)
  ShortList& operator=(const ShortList& other) {
    if (this != &other) *this = ShortList(other);
    return *this;
  }
  ShortList& operator=(ShortList&& other) noexcept {
    size_ = other.size_;
    longer_ = std::move(other.longer_);
    copy_in_place(other);
    other.clear();
    return *this;
  }

  void push_back(const T& value) {
    if (size_ < kInPlace) {
      in_place_[size_++] = value;
      return;
    }
    if (size_ == kInPlace) longer_.assign(in_place_, in_place_ + kInPlace);
    longer_.push_back(value);
    ++size_;
  }
  // Of an empty list.
  void assign(std::size_t count, const T& value) {
    size_ = count;
    if (count > kInPlace) longer_.assign(count, value);
    std::fill_n(in_place_, std::min(count, kInPlace), value);
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T* data() { return size_ <= kInPlace ? in_place_ : longer_.data(); }
  const T* data() const { return size_ <= kInPlace ? in_place_ : longer_.data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& front() const { return *data(); }
  const T& back() const { return data()[size_ - 1]; }

 private:
  void copy_in_place(const ShortList& other) {
    if (size_ <= kInPlace) std::copy_n(other.in_place_, size_, in_place_);
  }
  void clear() {
    size_ = 0;
    longer_.clear();
  }

  std::size_t size_ = 0;
  std::vector<T> longer_;  // all elements, if there are more than kInPlace
  T in_place_[kInPlace];   // or the first size_ of these
};

}  // namespace culmen
