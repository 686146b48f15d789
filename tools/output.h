// The output of a command: standard output, or a file that appears only when it is complete.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tools/interrupt.h"

namespace culmen::tools {

// Thrown when the reader of standard output has closed it, which is no error. A command whose exit code says more than
// that its output was written uses print_result() instead.
struct BrokenPipe {};

class Output {
 public:
  // `path`: the file; empty: standard output. A regular file is written beside `path` under a temporary name, and
  // finish() renames it. A pipe or a device is written in place.
  explicit Output(const std::string& path);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view bytes);
  void finish();

 private:
  void open_temporary();
  void flush();

  std::string path_;
  std::string temporary_;                  // empty: nothing to rename
  std::unique_ptr<InterruptGuard> guard_;  // Ctrl-C must not leave a temporary file
  std::string buffer_;
  int file_ = -1;
};

}  // namespace culmen::tools
