#include "index/storage/directory_files.h"

#include <filesystem>
#include <span>

#include "culmen/error.h"

namespace culmen::storage {

bool is_ours(const std::string& name) {
  return name == kCurrentName || name == kNewCurrentName || name == kLockName ||
         snapshot_number_of(name) > 0 || log_number_of(name) > 0;
}

std::uint64_t number_after(std::uint64_t last, const Directory& directory) {
  if (last >= kMaxNumber)
    throw InvalidArgument(directory.path() + " has no number left for new files: choose another directory");
  return last + 1;
}

void throw_not_replaced(const Directory& directory, bool is_sharded) {
  throw InvalidArgument(directory.path() + (is_sharded ? " holds a sharded index" : " holds an index") +
                        ", and `overwrite` is not set");
}

void remove_quietly(Directory& directory, const std::string& name) {
  quietly([&] { directory.remove(name); });
}

std::vector<std::string> list_quietly(const Directory& directory) {
  try {
    return directory.list();
  } catch (...) {
    return {};
  }
}

void remove_other_snapshots(Directory& directory, std::uint64_t number) {
  for (const std::string& name : list_quietly(directory))
    if (snapshot_number_of(name) > 0 && snapshot_number_of(name) != number) remove_quietly(directory, name);
}

void remove_logs(Directory& directory, std::uint64_t first, std::uint64_t last) {
  for (const std::string& name : list_quietly(directory)) {
    const std::uint64_t number = log_number_of(name);
    if (number > 0 && number >= first && number < last) remove_quietly(directory, name);
  }
}

void remove_other_shards(const Directory& directory, std::uint64_t kept) {
  for (const std::string& name : list_quietly(directory))
    if (shard_generation_of(name) > 0 && shard_generation_of(name) != kept)
      quietly([&] { std::filesystem::remove_all(directory.path_of(name)); });
}

void remove_index(Directory& directory) {
  directory.remove(kCurrentName);
  directory.sync();  // no crash leaves a CURRENT without its files
  remove_other_snapshots(directory, 0);
  remove_logs(directory, 0, kMaxNumber + 1);
}

std::string read_text(const ReadableFile& file, std::uint64_t max_bytes) {
  if (file.size() > max_bytes) throw_damaged(file.path(), max_bytes, "the file is too long");
  std::string text(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

void write_text(Directory& directory, const std::string& name, const std::string& text) {
  const auto file = directory.create(name);
  file->write(0, std::as_bytes(std::span(text)));
  file->sync();
}

void replace_text(Directory& directory, const std::string& name, const std::string& new_name,
                  const std::string& text, bool& switched) {
  remove_quietly(directory, new_name);
  try {
    write_text(directory, new_name, text);
    directory.sync();  // every file that the new text refers to has a durable name
    directory.rename(new_name, name);
  } catch (...) {
    remove_quietly(directory, new_name);
    throw;
  }
  switched = true;
  directory.sync();
}

}  // namespace culmen::storage
