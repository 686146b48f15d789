// FrameFiles: the frame files of a snapshot, open.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "index/storage/frame_file.h"
#include "index/storage/manifest.h"

namespace culmen::storage {

class FrameFiles {
 public:
  // Opens all files before the first is read: a new save may unlink them meanwhile.
  FrameFiles(const Directory& directory, const Manifest& manifest) {
    for (const FileKind kind : kFileKinds)
      if (manifest.has_file(kind))
        files_[position(kind)].emplace(directory, kind, manifest.snapshot, manifest.file(kind));
  }

  bool has(FileKind kind) const { return files_[position(kind)].has_value(); }
  FrameFileReader& operator[](FileKind kind) { return *files_[position(kind)]; }
  // Leaves it to a reader of its own, once.
  FrameFileReader take(FileKind kind) { return std::move(*files_[position(kind)]); }

 private:
  static std::size_t position(FileKind kind) { return static_cast<std::size_t>(kind) - 1; }

  std::array<std::optional<FrameFileReader>, kFileKinds.size()> files_;
};

}  // namespace culmen::storage
