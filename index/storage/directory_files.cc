#include "index/storage/directory_files.h"

#include <algorithm>

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

std::string read_text(const ReadableFile& file, std::uint64_t max_bytes) {
  if (file.size() > max_bytes)
    throw_damaged(file.path(), max_bytes, "the file is longer than one of its kind can be");
  std::string text(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

void write_text(Directory& directory, const std::string& name, const std::string& text) {
  const auto file = directory.create(name);
  file->write(0, std::as_bytes(std::span(text)));
  file->sync();
}

std::string read_current_text(const Directory& directory) {
  constexpr std::uint64_t kMaxCurrentBytes = 256;
  try {
    return read_text(*directory.open(kCurrentName), kMaxCurrentBytes);
  } catch (const IoError&) {
    const std::vector<std::string> names = directory.list();
    if (std::any_of(names.begin(), names.end(), is_ours)) throw;
    throw NoIndex(directory.path() + " holds no index");
  }
}

Manifest read_manifest(const Directory& directory, const Current& current) {
  const auto file = directory.open(manifest_name(current.snapshot_number));
  if (file->size() != current.manifest_bytes)
    throw_damaged(file->path(), std::min(file->size(), current.manifest_bytes),
                  "the file has " + std::to_string(file->size()) + " bytes; CURRENT says " +
                      std::to_string(current.manifest_bytes));
  const std::string text = read_text(*file, kMaxManifestBytes);
  if (digest_of(std::as_bytes(std::span(text))) != current.manifest_digest)
    throw_damaged(file->path(), 0,
                  "the digest does not match: the file is damaged, or CURRENT names another");
  Manifest manifest = parse_manifest(text, file->path());
  if (manifest.snapshot.number != current.snapshot_number)
    throw_damaged(file->path(), 0, "the manifest of another snapshot");
  if (manifest.log.number > current.log.number)
    throw_damaged(file->path(), 0, "the manifest names a later log than CURRENT");
  return manifest;
}

void CurrentSwitch::run() {
  remove_quietly(directory_, kNewCurrentName);
  write_text(directory_, kNewCurrentName, to_text(current_));
  directory_.sync();  // all names are durable before one of them is given the index
  directory_.rename(kNewCurrentName, kCurrentName);
  switched_ = true;
  directory_.sync();
}

}  // namespace culmen::storage
