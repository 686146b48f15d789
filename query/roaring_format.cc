#include "query/roaring_format.h"

#include <bit>
#include <cstring>
#include <optional>
#include <string>

#include "culmen/error.h"

namespace culmen {
namespace {

constexpr std::uint32_t kCookie = 12346, kCookieWithRuns = 12347;
constexpr std::uint32_t kMaxContainers = 1 << 16, kMaxOfArray = 4096;
constexpr std::size_t kBitsetBytes = 8192;
constexpr std::uint32_t kOffsetsFrom = 4;  // with runs, fewer containers have no offsets

class RoaringReader {
 public:
  explicit RoaringReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::vector<RoaringPiece> read() {
    std::vector<RoaringPiece> pieces;
    std::optional<std::uint32_t> before;
    for (auto left = take<std::uint64_t>(); left > 0; --left) {
      const auto high = take<std::uint32_t>();
      if (before && high <= *before) fail("its bitmaps are not in order");
      before = high;
      const std::size_t begin = at_;
      check_bitmap();
      pieces.push_back({high, bytes_.subspan(begin, at_ - begin)});
    }
    if (at_ != bytes_.size()) fail("more follows");
    return pieces;
  }

 private:
  struct Container {
    std::uint32_t num_values;
    bool has_runs;
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw FormatError("this is no Roaring bitmap of 64-bit numbers: byte " + std::to_string(at_) + ": " +
                      what);
  }

  void require(std::size_t count) const {
    if (bytes_.size() - at_ < count) fail("it ends too early");
  }

  template <typename T>
  T take() {
    require(sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  void check_bitmap() {
    const std::size_t begin = at_;
    const auto cookie = take<std::uint32_t>();
    const bool may_have_runs = (cookie & 0xFFFF) == kCookieWithRuns;
    if (!may_have_runs && cookie != kCookie) fail("a bitmap begins with another number");
    const std::uint32_t count = may_have_runs ? (cookie >> 16) + 1 : take<std::uint32_t>();
    if (count > kMaxContainers) fail("a bitmap has too many containers");
    const std::size_t run_flags = at_;
    if (may_have_runs) skip((count + 7) / 8);
    const std::vector<Container> containers = take_containers(count, may_have_runs ? &run_flags : nullptr);
    const std::size_t offsets = at_;
    const bool has_offsets = !may_have_runs || count >= kOffsetsFrom;
    if (has_offsets) skip(sizeof(std::uint32_t) * count);
    for (std::size_t i = 0; i < count; ++i) {
      if (has_offsets && at_ - begin != peek<std::uint32_t>(offsets + i * sizeof(std::uint32_t)))
        fail("the offset of a container is another");
      check_container(containers[i]);
    }
  }

  // Keys and numbers of values. run_flags: where the bits are that tell containers with runs; nullptr: none has.
  std::vector<Container> take_containers(std::uint32_t count, const std::size_t* run_flags) {
    require(std::size_t{2} * sizeof(std::uint16_t) * count);
    std::vector<Container> containers;
    std::int32_t before = -1;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::int32_t key = take<std::uint16_t>();
      if (key <= before) fail("containers are not in order");
      before = key;
      const std::uint32_t num_values = take<std::uint16_t>() + 1U;
      const bool has_runs =
          run_flags != nullptr && (peek<std::uint8_t>(*run_flags + i / 8) >> i % 8 & 1) != 0;
      containers.push_back({num_values, has_runs});
    }
    return containers;
  }

  void check_container(const Container& container) {
    if (container.has_runs) {
      check_runs(container.num_values);
    } else if (container.num_values <= kMaxOfArray) {
      std::int32_t before = -1;
      for (std::uint32_t i = 0; i < container.num_values; ++i) {
        const std::int32_t value = take<std::uint16_t>();
        if (value <= before) fail("values are not in order");
        before = value;
      }
    } else {
      require(kBitsetBytes);
      std::uint32_t count = 0;
      for (std::size_t w = 0; w < kBitsetBytes / sizeof(std::uint64_t); ++w)
        count += static_cast<std::uint32_t>(std::popcount(take<std::uint64_t>()));
      if (count != container.num_values) fail("a container has another number of values");
    }
  }

  void check_runs(std::uint32_t num_values) {
    std::uint32_t count = 0;
    std::int32_t end = 0;  // after the values so far
    for (std::uint32_t left = take<std::uint16_t>(); left > 0; --left) {
      const std::int32_t first = take<std::uint16_t>();
      const std::int32_t length = take<std::uint16_t>() + 1;
      if (first < end || first + length > 1 << 16) fail("runs are not in order");
      end = first + length;
      count += static_cast<std::uint32_t>(length);
    }
    if (count != num_values) fail("a container has another number of values");
  }

  void skip(std::size_t count) {
    require(count);
    at_ += count;
  }

  // Of bytes that were skipped or taken.
  template <typename T>
  T peek(std::size_t at) const {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<RoaringPiece> checked_roaring_pieces(std::span<const std::byte> bytes) {
  return RoaringReader(bytes).read();
}

}  // namespace culmen
