// OutputFile: the target of every -o FILE. A regular file appears under its name only when it is complete.
#pragma once

#include <string>
#include <string_view>

namespace culmen::io {

// Returns true for an existing pipe or device, directly or through a link: OutputFile writes it in place.
bool is_pipe_or_device(const std::string& path);

// Writes a temporary file beside `path`, which commit() renames and the destructor otherwise removes. The new file keeps
// the permissions of the one that it replaces. A link stays a link: its target is replaced. Data is passed to the
// operating system, not synced to the disk. All calls but append() throw IoError.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);  // "-": standard output
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  // As write(), but returns the errno of the write that failed, or 0.
  [[nodiscard]] int append(std::string_view bytes);
  void commit();

 private:
  void open_temporary();

  std::string path_;            // as errors name it
  std::string target_path_;     // with links followed
  std::string temporary_path_;  // empty: nothing to rename
  int descriptor_ = -1;
};

}  // namespace culmen::io
