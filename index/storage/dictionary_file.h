// The dictionaries file: the texts of each filter column of text, in the order of their codes.
//
// The texts of a dictionary are one run of bytes: where each text ends, then the texts. Frames cut it into pieces of
// bounded size, so the manifest's two sizes tell a reader where every frame is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "index/dictionary.h"
#include "index/storage/frame_file.h"
#include "index/storage/manifest.h"

namespace culmen::storage {

inline constexpr std::uint64_t kDictionaryFrameBytes = std::uint64_t{1} << 20;  // of payload, at most

// The frames of all dictionaries, one after the other.
class DictionaryFrames {
 public:
  explicit DictionaryFrames(const Manifest& manifest);

  // The frames of a field's dictionary are [first, last). None, if it has no text.
  std::uint64_t first(std::size_t field) const { return runs_[field].first_frame; }
  std::uint64_t last(std::size_t field) const { return runs_[field + 1].first_frame; }
  std::uint64_t size() const { return runs_.back().first_frame; }
  std::uint64_t end() const { return runs_.back().offset; }
  std::uint64_t offset(std::size_t field) const { return runs_[field].offset; }  // of the first one
  std::size_t field_of(std::uint64_t frame) const;
  // Of a frame's payload in its dictionary's bytes.
  std::uint64_t start_of(std::uint64_t frame) const {
    return (frame - first(field_of(frame))) * kDictionaryFrameBytes;
  }
  ExtentOf extents() const;  // this object must outlive the result

 private:
  struct Run {
    std::uint64_t first_frame = 0, offset = 0, bytes = 0;
  };
  std::vector<Run> runs_;  // [num_fields + 1]
};

// Throws FormatError at the file's `offset` if these bytes are not distinct texts.
Dictionary read_dictionary(std::span<const std::byte> bytes, const DictionarySize& size,
                           const std::string& path, std::uint64_t offset);

}  // namespace culmen::storage
