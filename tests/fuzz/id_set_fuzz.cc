// Sets of ids: any bytes give an error, or a set whose ids, members and bytes agree.
#include <algorithm>
#include <functional>
#include <span>

#include "culmen/error.h"
#include "culmen/id_set.h"
#include "tests/fuzz/fuzz_target.h"

namespace culmen::fuzz {
namespace {

std::string bytes_of(const IdSet& set) {
  const std::vector<std::byte> bytes = set.to_bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string bytes_of(std::vector<std::int64_t> ids) {
  return bytes_of(IdSet(ids));
}

}  // namespace

std::vector<std::string> seed_inputs() {
  std::vector<std::int64_t> array, gaps;
  for (std::int64_t id = 0; id < 300; ++id) array.push_back(id * id);
  for (std::int64_t id = 0; id < 300; ++id) gaps.push_back(id * 70'000 - 3);
  const std::vector<IdRange> ranges = {{-10, 100'000}, {200'000, 200'500}, {1LL << 40, (1LL << 40) + 99}};
  return {bytes_of(array), bytes_of(gaps), bytes_of({INT64_MIN, -1, 0, INT64_MAX}),
          bytes_of(IdSet::of_ranges(ranges))};
}

std::vector<std::string> tokens() {
  return {std::string("\x3a\x30\0\0", 4), std::string("\x3b\x30\0\0", 4), std::string("\x3b\x30\4\0", 4),
          std::string(8, '\0'),           std::string(2, '\xFF'),         std::string("\1\0\0\0", 4),
          std::string(8192, '\xFF')};
}

}  // namespace culmen::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culmen;
  using fuzz::require;
  IdSet set;
  try {
    set = IdSet::from_bytes(std::as_bytes(std::span(data, size)));
  } catch (const FormatError&) {
    return 0;
  }
  const std::vector<std::int64_t> ids = set.ids();
  require(ids.size() == set.size(), "its size is the number of its ids");
  require(std::ranges::adjacent_find(ids, std::greater_equal()) == ids.end(), "ids ascend");
  for (std::size_t i = 0; i < ids.size(); i += 1 + ids.size() / 100)
    require(set.contains(ids[i]), "it contains its ids");
  require(IdSet::from_bytes(set.to_bytes()) == set && IdSet(ids) == set, "the same set is read back");
  return 0;
}
