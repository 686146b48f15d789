// Writes and reads the compact forms that go to other processes: little-endian numbers, texts with their lengths. Each
// form begins with its name and its version.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "culmen/error.h"

namespace culmen {

static_assert(std::endian::native == std::endian::little, "numbers are copied without conversion");

class ByteWriter {
 public:
  // name: 4 letters.
  ByteWriter(std::string_view name, std::uint32_t version) {
    append(name.data(), name.size());
    number(version);
  }

  template <typename T>
  requires std::is_arithmetic_v<T>
  void number(T value) { append(&value, sizeof value); }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void choice(Enum value) { number(static_cast<std::uint8_t>(value)); }
  void text(std::string_view value) {
    number(static_cast<std::uint64_t>(value.size()));
    append(value.data(), value.size());
  }

  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void append(const void* data, std::size_t size) {
    if (size == 0) return;
    bytes_.resize(bytes_.size() + size);
    std::memcpy(bytes_.data() + bytes_.size() - size, data, size);
  }

  std::vector<std::byte> bytes_;
};

// Trusts nothing: throws FormatError for bytes that a ByteWriter would not have written in these calls.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::string_view name, std::uint32_t version, const char* what)
      : bytes_(bytes), what_(what) {
    char found[4] = {};
    if (name.size() != sizeof found || bytes.size() < sizeof found) fail("are too short");
    std::memcpy(found, take(sizeof found), sizeof found);
    if (std::string_view(found, sizeof found) != name) fail("are something else");
    if (const auto other = number<std::uint32_t>(); other != version)
      fail("have version " + std::to_string(other) + " of their form; this program reads version " +
           std::to_string(version));
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw FormatError("the bytes of " + std::string(what_) + " " + problem);
  }

  template <typename T>
  requires std::is_arithmetic_v<T> T number() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  template <typename Enum>
  Enum choice(Enum last) {
    const auto value = number<std::uint8_t>();
    if (value > static_cast<std::uint8_t>(last)) fail("have an unknown choice");
    return static_cast<Enum>(value);
  }
  bool flag() { return choice(static_cast<std::uint8_t>(1)) != 0; }
  // The number of items that follow, each of at least so many bytes: limits what is allocated for them.
  std::size_t count(std::size_t item_bytes) {
    const auto value = number<std::uint64_t>();
    if (value > (bytes_.size() - position_) / item_bytes) fail("end early");
    return value;
  }
  std::string text() {
    const std::size_t size = count(1);
    return {reinterpret_cast<const char*>(take(size)), size};
  }
  // To be called last.
  void finish() const {
    if (position_ != bytes_.size()) fail("go on after their end");
  }

 private:
  std::uint8_t choice(std::uint8_t last) {
    const auto value = number<std::uint8_t>();
    if (value > last) fail("have an unknown choice");
    return value;
  }
  const std::byte* take(std::size_t size) {
    if (size > bytes_.size() - position_) fail("end early");
    const std::byte* at = bytes_.data() + position_;
    position_ += size;
    return at;
  }

  std::span<const std::byte> bytes_;
  const char* what_;
  std::size_t position_ = 0;
};

}  // namespace culmen
