// parse_filter: "price<=200 and stars>=4".
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "culmen/error.h"
#include "culmen/schema.h"
#include "index/snapshot.h"
#include "query/resolve.h"

namespace culmen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class FilterParser {
 public:
  FilterParser(std::string_view text, const Snapshot& snapshot) : text_(text), snapshot_(snapshot) {}

  Filter run() {
    Filter filter;
    skip_space();
    if (position_ == text_.size()) return filter;  // no condition: every row passes
    do {
      filter.push_back(comparison());
    } while (take_and());
    skip_space();
    if (position_ < text_.size()) fail("expected `and` or the end");
    return filter;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InvalidArgument("filter \"" + std::string(text_) + "\", position " + std::to_string(position_ + 1) +
                          ": " + what);
  }

  void skip_space() {
    while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_])) != 0)
      ++position_;
  }

  static bool is_name_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || (c & 0x80) != 0;
  }

  std::string name() {
    skip_space();
    std::string result;
    if (take('"')) {
      for (bool is_open = true; is_open;) {
        const std::size_t end = text_.find('"', position_);
        if (end == std::string_view::npos) fail("the quote is not closed");
        result += text_.substr(position_, end - position_);
        position_ = end + 1;
        is_open = take('"');  // a quote in the name is doubled
        if (is_open) result += '"';
      }
    } else {
      while (position_ < text_.size() && is_name_character(text_[position_])) result += text_[position_++];
    }
    if (result.empty()) fail("expected an attribute's name");
    return result;
  }

  int attribute() {
    skip_space();
    const std::size_t start = position_;
    const std::string wanted = name();
    for (int i = 0; i < snapshot_.num_attributes(); ++i)
      if (snapshot_.attributes[static_cast<std::size_t>(i)].name == wanted) return i;
    position_ = start;
    fail("no attribute \"" + wanted + "\"; known: " + known_attributes(snapshot_));
  }

  bool take(char c) {
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  Range comparison() {
    Range range;
    range.attribute = attribute();
    skip_space();
    if (take('<')) {
      const bool inclusive = take('=');
      const double value = number();
      range.maximum = inclusive ? value : std::nextafter(value, -kInfinity);
    } else if (take('>')) {
      const bool inclusive = take('=');
      const double value = number();
      range.minimum = inclusive ? value : std::nextafter(value, kInfinity);
    } else if (take('=')) {
      take('=');
      range.minimum = range.maximum = number();
    } else {
      fail("expected < <= > >= or =");
    }
    return range;
  }

  double number() {
    skip_space();
    // from_chars rejects a plus sign. "+-1" is not a number.
    if (position_ + 1 < text_.size() && text_[position_] == '+' && text_[position_ + 1] != '-') ++position_;
    double value = 0;
    const char* first = text_.data() + position_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
    if (error != std::errc() || !std::isfinite(value)) fail("expected a finite number");
    position_ += static_cast<std::size_t>(end - first);
    return value;
  }

  bool take_and() {
    skip_space();
    constexpr std::string_view kAnd = "and";
    if (text_.size() - position_ < kAnd.size()) return false;
    for (std::size_t i = 0; i < kAnd.size(); ++i)
      if (std::tolower(static_cast<unsigned char>(text_[position_ + i])) != kAnd[i]) return false;
    position_ += kAnd.size();
    return true;
  }

  std::string_view text_;
  const Snapshot& snapshot_;
  std::size_t position_ = 0;
};

}  // namespace

Filter parse_filter(std::string_view where, const Snapshot& snapshot) {
  return FilterParser(where, snapshot).run();
}

}  // namespace culmen
