// OutputFile: standard output, or a file that appears under its name only when it is complete.
#pragma once

#include <string>
#include <string_view>

namespace culmen::io {

// Writes a temporary file beside `path`, which commit() renames and the destructor otherwise removes. Data is passed to
// the operating system, not synced to the disk. All calls throw IoError.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);  // "-": standard output
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  void commit();

 private:
  void open_temporary();

  std::string path_;            // as errors name it
  std::string temporary_path_;  // empty: standard output, or committed
  int descriptor_ = -1;
};

}  // namespace culmen::io
