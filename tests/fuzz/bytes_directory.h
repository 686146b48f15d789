// A directory whose files are bytes in memory, with only what a reader needs, so that a fuzz target spends its time on
// the reader.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "index/storage/file_system.h"

namespace culmen::fuzz {

class BytesFile : public storage::ReadableFile {
 public:
  BytesFile(std::span<const std::byte> bytes, const std::string& path) : bytes_(bytes), path_(path) {}
  const std::string& path() const override { return path_; }
  std::uint64_t size() const override { return bytes_.size(); }
  void refresh() override {}
  void sync() override {}
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) throw FormatError(path_ + " is cut");
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
  }

 private:
  std::span<const std::byte> bytes_;
  std::string path_;
};

// The bytes outlive it.
class BytesDirectory : public storage::Directory {
 public:
  using Entry = std::pair<std::string, std::span<const std::byte>>;
  explicit BytesDirectory(std::vector<Entry> files) : files_(std::move(files)) {}

  const std::string& path() const override { return path_; }
  std::unique_ptr<storage::ReadableFile> open(const std::string& name) const override {
    for (const auto& [file, bytes] : files_)
      if (file == name) return std::make_unique<BytesFile>(bytes, name);
    throw IoError("no file " + name);
  }
  std::unique_ptr<storage::WritableFile> create(const std::string&) override { fail(); }
  std::unique_ptr<storage::WritableFile> open_to_write(const std::string&) override { fail(); }
  std::unique_ptr<storage::DirectoryLock> lock(const std::string&) override { fail(); }
  void rename(const std::string&, const std::string&) override { fail(); }
  void remove(const std::string&) override { fail(); }
  std::vector<std::string> list() const override { fail(); }
  void sync() override { fail(); }
  void sync_parent() override { fail(); }

 private:
  [[noreturn]] static void fail() { throw std::logic_error("broken promise: a reader changes nothing"); }

  std::vector<Entry> files_;
  std::string path_ = "index";
};

}  // namespace culmen::fuzz
