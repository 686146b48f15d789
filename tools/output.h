// Where the data of a command goes: standard output, or a file that appears whole or not at all.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tools/interrupt.h"

namespace culmen::tools {

// Thrown when the reader of our standard output has gone away; no error of anybody's. A command whose exit code
// says more than that its output was written uses print_result() instead.
struct BrokenPipe {};

class Output {
 public:
  // `path`: the file to make; empty: standard output. A file is written beside `path` under a name of its own
  // and renamed by finish(). A pipe or a device is written as it stands.
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
  std::unique_ptr<InterruptGuard> guard_;  // a temporary must not outlive Ctrl-C
  std::string buffer_;
  int file_ = -1;
};

}  // namespace culmen::tools
