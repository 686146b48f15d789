#include "tools/line_editor.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <utility>

#include "tools/streams.h"

#ifdef CULMEN_HAS_LIBEDIT
#include <editline/readline.h>

#include <cstring>
#endif

namespace culmen::tools {
namespace {

// While one exists, Ctrl-C does nothing.
class IgnoredInterrupts {
 public:
  IgnoredInterrupts() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, &previous_);
  }
  ~IgnoredInterrupts() { sigaction(SIGINT, &previous_, nullptr); }
  IgnoredInterrupts(const IgnoredInterrupts&) = delete;
  IgnoredInterrupts& operator=(const IgnoredInterrupts&) = delete;

 private:
  struct sigaction previous_ = {};
};

#ifdef CULMEN_HAS_LIBEDIT

std::vector<std::string> completions;

// As readline's: called with 0, 1, 2, ... until it returns null; the caller frees what it returns.
char* next_completion(const char* text, int state) {
  static std::size_t next = 0;
  if (state == 0) next = 0;
  const std::size_t length = std::strlen(text);
  while (next < completions.size())
    if (const std::string& word = completions[next++]; word.compare(0, length, text) == 0)
      return strdup(word.c_str());
  return nullptr;
}

char** complete(const char* text, int, int) {
  return rl_completion_matches(text, next_completion);
}

std::string history_file() {
  const char* const home = std::getenv("HOME");
  return home == nullptr ? "" : (std::filesystem::path(home) / ".culmen_history").string();
}

#endif

}  // namespace

LineEditor::LineEditor(std::string prompt, std::vector<std::string> words)
    : prompt_(std::move(prompt)), is_terminal_(stdin_is_terminal()) {
#ifdef CULMEN_HAS_LIBEDIT
  if (!is_terminal_) return;
  completions = std::move(words);
  rl_readline_name = const_cast<char*>("culmen");
  rl_attempted_completion_function = complete;
  rl_basic_word_break_characters = const_cast<char*>(" \t\n\"'=,()<>");
  rl_completion_append_character = '\0';
  rl_catch_signals = 0;  // it would pass them to all processes of the group
  using_history();
  read_history(history_file().c_str());
#else
  static_cast<void>(words);
#endif
}

LineEditor::~LineEditor() {
#ifdef CULMEN_HAS_LIBEDIT
  constexpr int kMaxLines = 1'000;
  if (!is_terminal_) return;
  stifle_history(kMaxLines);
  write_history(history_file().c_str());
#endif
}

std::optional<std::string> LineEditor::next() {
#ifdef CULMEN_HAS_LIBEDIT
  if (is_terminal_) {
    const IgnoredInterrupts ignored;
    char* const line = readline(prompt_.c_str());
    if (line == nullptr) return std::nullopt;
    if (*line != '\0') add_history(line);
    std::string text = line;
    std::free(line);
    return text;
  }
#endif
  if (is_terminal_) std::cout << prompt_ << std::flush;
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  return line;
}

}  // namespace culmen::tools
