// TextCursor: a position in a text that is parsed, and what the parsers of filters and score terms share: words, names and
// numbers, and errors that say where.
#pragma once

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/below_one.h"
#include "culmen/error.h"
#include "culmen/filter.h"
#include "query/filter_words.h"

namespace culmen {

class TextCursor {
 protected:
  // kind: of the text, for errors.
  TextCursor(std::string_view kind, std::string_view text) : kind_(kind), text_(text) {}

  [[noreturn]] void fail(const std::string& what) const { fail_at(position_, what); }
  [[noreturn]] void fail_at(std::size_t position, const std::string& what) const {
    throw InvalidArgument(std::string(kind_) + " \"" + shown_text(position) + "\", position " +
                          std::to_string(position + 1) + ": " + what);
  }

  // The text, or what is around the position in a long one, without what a terminal could take for a command.
  std::string shown_text(std::size_t position) const {
    constexpr std::size_t kShown = 200;
    const std::size_t first = position > kShown ? position - kShown / 2 : 0;
    std::string shown(text_.substr(first, first + 2 * kShown < text_.size() ? 2 * kShown : text_.size()));
    for (char& c : shown)
      if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = ' ';
    return (first > 0 ? "..." : "") + shown + (first + shown.size() < text_.size() ? "..." : "");
  }

  void skip_space() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_])) != 0)
      ++position_;
  }

  bool take(char c) {
    skip_space();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  void require(char c) {
    if (!take(c)) fail(std::string("expected `") + c + "`");
  }

  // The name or keyword at the position, which stays.
  std::string_view word() const {
    std::size_t end = position_;
    while (end < text_.size() && is_name_character(text_[end])) ++end;
    return text_.substr(position_, end - position_);
  }

  bool take_keyword(std::string_view keyword) {
    skip_space();
    if (!are_same_word(word(), keyword)) return false;
    position_ += keyword.size();
    return true;
  }

  bool next_is(char c) {
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  // What follows a quote that begins at `start`. Quotes in it are doubled.
  std::string rest_of_quoted(char quote, std::size_t start) {
    std::string result;
    for (bool is_open = true; is_open;) {
      const std::size_t end = text_.find(quote, position_);
      if (end == std::string_view::npos) fail_at(start, "the quote is not closed");
      result += text_.substr(position_, end - position_);
      position_ = end + 1;
      is_open = next_is(quote);
      if (is_open) result += quote;
    }
    return result;
  }

  // None: there is none, or it is not finite. One that is too small is 0.
  std::optional<Literal> number() {
    // from_chars knows no plus sign; one before a minus sign is no number.
    const std::size_t start = position_;
    if (position_ + 1 < text_.size() && text_[position_] == '+' && text_[position_ + 1] != '-') ++position_;
    const char *const first = text_.data() + position_, *const last = text_.data() + text_.size();
    double value = 0;
    auto [end, error] = std::from_chars(first, last, value);
    const bool is_tiny = error == std::errc::result_out_of_range &&
                         is_below_one({first, static_cast<std::size_t>(end - first)});
    if (is_tiny) {
      value = 0;
      error = {};
    }
    if (error != std::errc() || !std::isfinite(value)) {
      position_ = start;
      return {};
    }
    position_ += static_cast<std::size_t>(end - first);
    std::int64_t integer = 0;
    const auto [integer_end, integer_error] = std::from_chars(first, last, integer);
    if (integer_error == std::errc() && integer_end == end) return integer;
    std::uint64_t large = 0;
    const auto [large_end, large_error] = std::from_chars(first, last, large);
    if (large_error == std::errc() && large_end == end) return LargeInteger{large};
    return value;
  }

  std::string_view kind_;
  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace culmen
