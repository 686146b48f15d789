// CURRENT: one line that names the manifest of the index and says how far its last log is known to be durable.
// Replacing it switches the directory to another snapshot.
#pragma once

#include <cstdint>
#include <string>

#include "index/storage/file_system.h"
#include "index/storage/hash.h"
#include "index/storage/log_reader.h"

namespace culmen::storage {

// Names and a few numbers per attribute: anything larger is not one of our manifests.
inline constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{16} << 20;

struct Current {
  std::uint64_t snapshot_number = 0;
  std::uint64_t manifest_bytes = 0;
  Digest manifest_digest;
  LogBound log;

  friend bool operator==(const Current&, const Current&) = default;
};
std::string to_text(const Current& current);
Current parse_current(const std::string& text, const std::string& path);  // throws FormatError
// Returns true if culmen wrote this as a CURRENT, damaged or not.
bool looks_like_current(const std::string& text);

// Throws NoIndex if no file in the directory is ours, or if there are shards: these count beside a CURRENT.
std::string read_current_text(const Directory& directory);
// Of a CURRENT that is to be replaced or removed. Throws InvalidArgument if culmen did not write it.
std::string replaceable_current_text(const Directory& directory);

// Replaces CURRENT. All other names are durable before the switch, and the switch is on return. Sets `switched` once
// other processes see the new one; if a call fails after that, a power cut may bring back the old one.
void switch_current(Directory& directory, const Current& current, bool& switched);

}  // namespace culmen::storage
