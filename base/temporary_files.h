// Temporary files as memory: for arrays of a build that may be larger than memory. The system writes their pages out when
// memory is short, and reads them again.
//
// A file has no name from the beginning, so nothing is left of it however the process ends. Its room on the disk is
// reserved before it is mapped: a full disk is an error, and not a signal at the first write.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "culmen/array.h"

namespace culmen {

class TemporaryFiles final : public ArrayMemory {
 public:
  explicit TemporaryFiles(std::string directory) : directory_(std::move(directory)) {}

  // Zeroed. Small arrays are on the heap. Throws IoError, which names the directory.
  void* allocate(std::size_t num_bytes) override;
  void deallocate(void* array, std::size_t num_bytes) noexcept override;

  // Maps a new file at `where`: whole pages of addresses that are reserved. Zeroed. Throws as allocate.
  void map_at(void* where, std::size_t num_bytes) const;

 private:
  std::string directory_;
};

// Null for an empty path. Throws IoError if no file can be made there.
std::shared_ptr<TemporaryFiles> temporary_files(const std::filesystem::path& directory);

}  // namespace culmen
