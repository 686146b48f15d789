#include "index/storage/format.h"

#include <charconv>
#include <string_view>

#include "culmen/error.h"

namespace culmen::storage {

std::string manifest_name(std::uint64_t snapshot_number) {
  return "MANIFEST-" + std::to_string(snapshot_number);
}

std::string file_name(FileKind kind, std::uint64_t snapshot_number) {
  return "SNAP-" + std::to_string(snapshot_number) + "-" + std::string(kFileKindNames.name(kind));
}

std::string log_name(std::uint64_t log_number) {
  return "WAL-" + std::to_string(log_number);
}

namespace {

constexpr std::string_view kShardPrefix = "shard-";

// The number after the first dash; 0 if there is none or it is too large.
std::uint64_t number_in(const std::string& name) {
  std::uint64_t number = 0;
  const std::size_t dash = name.find('-');
  if (dash == std::string::npos) return 0;
  std::from_chars(name.data() + dash + 1, name.data() + name.size(), number);
  return number > kMaxNumber ? 0 : number;
}

}  // namespace

std::uint64_t log_number_of(const std::string& name) {
  const std::uint64_t number = number_in(name);
  return number > 0 && name == log_name(number) ? number : 0;
}

std::uint64_t snapshot_number_of(const std::string& name) {
  const std::uint64_t number = number_in(name);
  if (number == 0) return 0;
  if (name == manifest_name(number)) return number;
  for (FileKind kind : kFileKinds)
    if (name == file_name(kind, number)) return number;
  return 0;
}

std::string shard_name(std::uint64_t generation, std::uint64_t shard) {
  return std::string(kShardPrefix) + std::to_string(generation) + "-" + std::to_string(shard);
}

std::uint64_t shard_generation_of(const std::string& name) {
  if (!name.starts_with(kShardPrefix)) return 0;
  const char* const end = name.data() + name.size();
  std::uint64_t generation = 0, shard = 0;
  const auto [dash, error] = std::from_chars(name.data() + kShardPrefix.size(), end, generation);
  if (error != std::errc() || dash == end) return 0;
  std::from_chars(dash + 1, end, shard);
  return shard_name(generation, shard) == name ? generation : 0;
}

void throw_damaged(const std::string& path, std::uint64_t offset, const std::string& what) {
  throw FormatError(path + ", byte " + std::to_string(offset) + ": " + what);
}

}  // namespace culmen::storage
