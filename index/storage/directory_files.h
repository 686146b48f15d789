// Which names in a directory are ours, and the small files among them.
#pragma once

#include <string>
#include <vector>

#include "index/storage/file_system.h"
#include "index/storage/format.h"
#include "index/storage/manifest.h"

namespace culmen::storage {

bool is_ours(const std::string& name);

// For a new file, after the highest number of its kind. InvalidArgument if none is left.
std::uint64_t number_after(std::uint64_t last, const Directory& directory);

// For tidying up: what fails, be it for want of memory for a name, is left for the next one who tidies up.
// Destructors call these.
template <typename F>
void quietly(F&& f) noexcept {
  try {
    f();
  } catch (...) {
    // It is not part of the index.
  }
}
void remove_quietly(Directory& directory, const std::string& name);
std::vector<std::string> list_quietly(const Directory& directory);
// Every file of another snapshot than `number`.
void remove_other_snapshots(Directory& directory, std::uint64_t number);
// Every log whose number is in [first, last).
void remove_logs(Directory& directory, std::uint64_t first, std::uint64_t last);

// FormatError if it is longer.
std::string read_text(const ReadableFile& file, std::uint64_t max_bytes);
// Durable on return, but for the name.
void write_text(Directory& directory, const std::string& name, const std::string& text);

// NoIndex if no file in the directory is ours.
std::string read_current_text(const Directory& directory);
Manifest read_manifest(const Directory& directory, const Current& current);

// Gives the index its new CURRENT. All other names become durable before it, and it on return.
class CurrentSwitch {
 public:
  CurrentSwitch(Directory& directory, const Current& current) : directory_(directory), current_(current) {}
  CurrentSwitch(const CurrentSwitch&) = delete;
  CurrentSwitch& operator=(const CurrentSwitch&) = delete;
  ~CurrentSwitch() {
    if (!switched_) remove_quietly(directory_, kNewCurrentName);
  }

  void run();
  // Whether programs see the new one. If run() failed, a power cut may bring back the old one.
  bool switched() const { return switched_; }

 private:
  Directory& directory_;
  const Current current_;
  bool switched_ = false;
};

}  // namespace culmen::storage
