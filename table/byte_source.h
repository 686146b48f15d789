// Sources of bytes: memory, a file, standard input, or a decompressor of another source.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "culmen/array.h"

namespace culmen::io {

struct Progress {
  std::uint64_t done_bytes = 0;
  std::uint64_t total_bytes = 0;  // 0: unknown
};

// How long to wait for data before looking at signals and clocks.
inline constexpr std::chrono::milliseconds kPatience{100};

// Not thread-safe: one call at a time.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills `out` and returns num_bytes; fewer only at the end. Throws IoError or InputError.
  virtual std::size_t read(char* out, std::size_t num_bytes) = 0;

  // Reads what is available, at most num_bytes. Returns 0 only at the end, nullopt if nothing arrived within `patience`.
  virtual std::optional<std::size_t> read_available(char* out, std::size_t num_bytes,
                                                    std::chrono::milliseconds /*patience*/) {
    return read(out, num_bytes);
  }

  // The total that read() returns; nullopt if it is unknown before the end (pipes, compressed files). Of a file it is what
  // the file system says: there may be more, if another program appends to it, or in /proc.
  virtual std::optional<std::uint64_t> num_bytes() const = 0;

  // Begins again at the first byte. Returns false if that is impossible (pipes).
  virtual bool rewind() { return false; }

  // In bytes of the file itself, compressed or not.
  virtual Progress progress() const = 0;
};

// How many bytes to ask a source for, of which `most` would do: if it is short, so few that buffers are small, but more
// than it says it has, so that its end is seen.
std::size_t bytes_to_read(const ByteSource& source, std::size_t most);

class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}  // not owned

  std::size_t read(char* out, std::size_t num_bytes) override;
  std::optional<std::uint64_t> num_bytes() const override { return bytes_.size(); }
  bool rewind() override;
  Progress progress() const override { return {position_, bytes_.size()}; }

 private:
  std::string_view bytes_;
  std::size_t position_ = 0;
};

// Reads with read(2) instead of mmap, because another process may truncate a mapped file.
class FileSource : public ByteSource {
 public:
  explicit FileSource(const std::string& path);  // throws IoError
  static std::unique_ptr<FileSource> standard_input();
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::size_t read(char* out, std::size_t num_bytes) override;
  std::optional<std::size_t> read_available(char* out, std::size_t num_bytes,
                                            std::chrono::milliseconds patience) override;
  std::optional<std::uint64_t> num_bytes() const override { return size_; }
  bool rewind() override;
  Progress progress() const override { return {position_, size_.value_or(0)}; }

 private:
  FileSource(int descriptor, std::string name);

  int descriptor_ = -1;
  std::string name_;
  std::optional<std::uint64_t> size_;  // regular files
  std::int64_t start_ = 0;             // of a regular file
  std::uint64_t position_ = 0;
};

// A source whose beginning was looked at.
class SampledSource : public ByteSource {
 public:
  // Reads the beginning, up to num_bytes.
  SampledSource(ByteSource& source, std::size_t num_bytes);
  // Reads what has arrived, until it is enough. Calls on_wait() while nothing arrives.
  SampledSource(ByteSource& pipe, std::size_t num_bytes, const std::function<void()>& on_wait,
                const std::function<bool(std::string_view)>& is_enough = has_two_lines);

  std::string_view sample() const { return sample_; }
  bool is_whole() const { return is_whole_; }  // the sample ends the source

  std::size_t read(char* out, std::size_t num_bytes) override;
  std::optional<std::size_t> read_available(char* out, std::size_t num_bytes,
                                            std::chrono::milliseconds patience) override;
  std::optional<std::uint64_t> num_bytes() const override { return source_.num_bytes(); }
  bool rewind() override;
  Progress progress() const override { return source_.progress(); }

 private:
  static bool has_two_lines(std::string_view text);
  std::size_t take_sample(char* out, std::size_t num_bytes);

  ByteSource& source_;
  std::string sample_;
  bool is_whole_ = false;
  std::size_t position_ = 0;  // in the sample
};

// Keeps the bytes of a pipe, so that they can be read again.
class RecordedSource : public ByteSource {
 public:
  // memory: for the bytes.
  RecordedSource(ByteSource& pipe, std::shared_ptr<ArrayMemory> memory)
      : pipe_(pipe), bytes_(std::move(memory)) {}

  std::size_t read(char* out, std::size_t num_bytes) override;
  std::optional<std::uint64_t> num_bytes() const override { return pipe_.num_bytes(); }
  bool rewind() override;
  Progress progress() const override { return pipe_.progress(); }

 private:
  ByteSource& pipe_;
  Array<char> bytes_;
  std::size_t position_ = 0;  // in them
};

}  // namespace culmen::io
