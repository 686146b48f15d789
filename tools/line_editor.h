// Lines from standard input: edited, with history and completion, if it is a terminal and libedit was there at the build.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace culmen::tools {

class LineEditor {
 public:
  // `words`: what Tab completes. One at a time: the library has one state for all.
  LineEditor(std::string prompt, std::vector<std::string> words);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // The next line; nullopt at the end of the input. Ctrl-C has no effect meanwhile.
  std::optional<std::string> next();

 private:
  std::string prompt_;
  bool is_terminal_;
};

}  // namespace culmen::tools
