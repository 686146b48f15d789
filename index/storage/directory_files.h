// Names and small text files in an index directory, and the removal of files that the index no longer needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "index/storage/file_system.h"
#include "index/storage/format.h"

namespace culmen::storage {

bool is_ours(const std::string& name);

// The number of a new file, after the highest of its kind. Throws InvalidArgument if none is left.
std::uint64_t number_after(std::uint64_t last, const Directory& directory);

// Throws InvalidArgument for a directory that holds an index, sharded or not, which nobody said may be replaced.
[[noreturn]] void throw_not_replaced(const Directory& directory, bool is_sharded);

// For cleanup: ignores every error, even bad_alloc; a later cleanup tries again. Safe in destructors.
template <typename F>
void quietly(F&& f) noexcept {
  try {
    f();
  } catch (...) {
    // The file is not part of the index.
  }
}
void remove_quietly(Directory& directory, const std::string& name);
std::vector<std::string> list_quietly(const Directory& directory);
// Removes the files of all snapshots except `number`.
void remove_other_snapshots(Directory& directory, std::uint64_t number);
// Removes the logs whose numbers are in [first, last).
void remove_logs(Directory& directory, std::uint64_t first, std::uint64_t last);

// Of a directory that now holds the other kind of index, or newer shards: removes the shards of all generations except `kept`.
// 0: keeps none.
void remove_other_shards(const Directory& directory, std::uint64_t kept);
// Removes CURRENT, and then what it needs.
void remove_index(Directory& directory);

// Throws FormatError if the file is longer.
std::string read_text(const ReadableFile& file, std::uint64_t max_bytes);
// The contents are durable on return, the name is not.
void write_text(Directory& directory, const std::string& name, const std::string& text);
// Replaces a file by way of `new_name`. All other names are durable before the switch, and the switch is on return. Sets
// `switched` once other processes see the new text; if a call fails after that, a power cut may bring back the old one.
void replace_text(Directory& directory, const std::string& name, const std::string& new_name,
                  const std::string& text, bool& switched);

}  // namespace culmen::storage
