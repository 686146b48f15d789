// The three standard streams. Messages to people go to standard error; one that cannot be written is dropped.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <exception>
#include <iterator>
#include <string_view>
#include <utility>

namespace culmen::tools {

// Call it first in main(). Failed writes become errors instead of signals. Opens /dev/null for each stream that is
// closed: otherwise the next file to be opened, perhaps one of an index, would become that stream. Writing to such a
// stream has no effect, reading from it is an error.
void prepare_streams();

bool stdin_is_terminal();
bool stdout_is_terminal();
bool stderr_is_terminal();

// The columns of the terminal that standard output is, or of COLUMNS; 0: it is none, or does not say.
std::size_t stdout_width();

// Writes to standard error unchanged, in one piece.
void write_message(std::string_view text) noexcept;

// Formats a message and writes it to standard error.
template <typename... T>
void say(fmt::format_string<T...> format, T&&... arguments) noexcept {
  try {
    fmt::memory_buffer text;
    fmt::format_to(std::back_inserter(text), format, std::forward<T>(arguments)...);
    write_message({text.data(), text.size()});
  } catch (const std::exception&) {
    // Out of memory: the message is dropped.
  }
}

}  // namespace culmen::tools
