// The output of a command: standard output, or a file that appears only when it is complete.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "table/output_file.h"
#include "tools/interrupt.h"

namespace culmen::tools {

// Thrown when the reader of standard output has closed it, which is no error. A command whose exit code says more than
// that its output was written uses print_result() instead.
struct BrokenPipe {};

class Output {
 public:
  // `path`: as of io::OutputFile; empty: standard output.
  explicit Output(const std::string& path);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view bytes);
  void finish();

 private:
  void flush();

  std::string path_;
  std::unique_ptr<InterruptGuard> guard_;  // Ctrl-C must not leave a temporary file
  std::string buffer_;
  std::optional<io::OutputFile> file_;  // none: standard output
};

}  // namespace culmen::tools
