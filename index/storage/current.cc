#include "index/storage/current.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>
#include <vector>

#include "culmen/error.h"
#include "index/storage/directory_files.h"
#include "index/storage/format.h"
#include "index/storage/hex.h"

namespace culmen::storage {
namespace {

constexpr const char* kCurrentPrefix = "culmen-index ";
constexpr std::uint64_t kMaxCurrentBytes = 256;

// The line ends in a checksum of what precedes it, in every version of the format.
bool ends_in_its_checksum(std::string_view text) {
  constexpr std::size_t kEndBytes = 16 + 1;  // the checksum's digits and the newline
  std::uint64_t checksum = 0;
  if (text.size() < kEndBytes || text.back() != '\n') return false;
  const std::string_view line = text.substr(0, text.size() - kEndBytes);
  return from_hex(text.substr(line.size(), 16), checksum) &&
         checksum == checksum_of(std::as_bytes(std::span(line)));
}

std::uint64_t count_in(const std::string& word) {
  std::uint64_t count = 0;
  std::from_chars(word.data(), word.data() + word.size(), count);
  return count;
}

}  // namespace

std::string to_text(const Current& current) {
  const std::string line = kCurrentPrefix + manifest_name(current.snapshot_number) + " " +
                           std::to_string(current.manifest_bytes) + " " + to_hex(current.manifest_digest) +
                           " " + log_name(current.log.number) + " " + std::to_string(current.log.bytes) +
                           " " + to_hex(current.log.chain) + " ";
  return line + to_hex(checksum_of(std::as_bytes(std::span(line)))) + "\n";
}

bool looks_like_current(const std::string& text) {
  return text.starts_with(kCurrentPrefix);
}

// Parses leniently, then compares the text with what to_text() writes: only our own writing passes.
Current parse_current(const std::string& text, const std::string& path) {
  constexpr std::size_t kNumWords = 8;
  Current current;
  std::vector<std::string> words;
  for (std::size_t start = 0, end = 0; end != std::string::npos && words.size() < kNumWords;
       start = end + 1) {
    end = text.find_first_of(" \n", start);
    words.push_back(text.substr(start, end == std::string::npos ? end : end - start));
  }
  words.resize(kNumWords);
  current.snapshot_number = snapshot_number_of(words[1]);
  current.manifest_bytes = count_in(words[2]);
  current.log = {log_number_of(words[4]), count_in(words[5]), 0};
  const bool good = from_hex(words[3], current.manifest_digest) && from_hex(words[6], current.log.chain) &&
                    current.snapshot_number > 0 && current.log.number > 0 &&
                    current.log.bytes >= sizeof(LogHeader) && current.manifest_bytes <= kMaxManifestBytes &&
                    to_text(current) == text;
  if (good) return current;
  if (looks_like_current(text) && ends_in_its_checksum(text))
    throw FormatError(path + ": this index is of another format than version " +
                      std::to_string(kFormatVersion) + ", which this program reads");
  throw_damaged(path, 0, "the line that names the manifest is damaged");
}

std::string read_current_text(const Directory& directory) {
  const std::vector<std::string> names = directory.list();
  if (std::ranges::find(names, kShardsName) != names.end())
    throw NoIndex(directory.path() + " holds a sharded index: open it by ShardedIndex, or one of its shards");
  try {
    return read_text(*directory.open(kCurrentName), kMaxCurrentBytes);
  } catch (const IoError&) {
    if (std::any_of(names.begin(), names.end(), is_ours)) throw;
    throw NoIndex(directory.path() + " holds no index");
  }
}

std::string replaceable_current_text(const Directory& directory) {
  const auto file = directory.open(kCurrentName);
  std::string text(std::min(file->size(), kMaxCurrentBytes), '\0');
  file->read(0, std::as_writable_bytes(std::span(text)));
  if (!looks_like_current(text))
    throw InvalidArgument(file->path() + " was not written by culmen: choose another directory");
  return text;
}

void switch_current(Directory& directory, const Current& current, bool& switched) {
  replace_text(directory, kCurrentName, kNewCurrentName, to_text(current), switched);
}

}  // namespace culmen::storage
