// parse_filter: "price <= 200 and not stars in (1, 2)". A recursive descent over
//
//   any    = all {"or" all}            all       = not {"and" not}
//   not    = "not" not | "(" any ")" | condition
//   condition = column op number | number op column | column ["not"] "between" number "and" number
//             | column ["not"] "in" "(" number {"," number} ")" | column "is" ["not"] "null"
//   op     = "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">="
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/suggestion.h"
#include "culmen/error.h"
#include "culmen/schema.h"
#include "index/snapshot.h"
#include "query/filter_words.h"
#include "query/resolve.h"

namespace culmen {
namespace {

class FilterParser {
 public:
  FilterParser(std::string_view text, const Snapshot& snapshot) : text_(text), snapshot_(snapshot) {}

  Filter run() {
    skip_space();
    if (position_ == text_.size()) return {};  // no condition: every row passes
    Filter filter = any();
    if (position_ < text_.size()) fail(found_instead("`and`, `or` or the end"));
    return filter;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InvalidArgument("filter \"" + shown_text() + "\", position " + std::to_string(position_ + 1) +
                          ": " + what);
  }

  // The text, or what is around the position in a long one, without what a terminal could take for a command.
  std::string shown_text() const {
    constexpr std::size_t kShown = 200;
    const std::size_t first = position_ > kShown ? position_ - kShown / 2 : 0;
    std::string shown(text_.substr(first, first + 2 * kShown < text_.size() ? 2 * kShown : text_.size()));
    for (char& c : shown)
      if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = ' ';
    return (first > 0 ? "..." : "") + shown + (first + shown.size() < text_.size() ? "..." : "");
  }

  // For what people write in other languages.
  std::string found_instead(const std::string& expected) const {
    const char next = position_ < text_.size() ? text_[position_] : ' ';
    if (next == '&') return "write `and`";
    if (next == '|') return "write `or`";
    if (next == '!') return "write `not`";
    if (next == '\'') return "texts cannot be compared, only numbers";
    return "expected " + expected;
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

  bool is_attribute(std::string_view name) const {
    return std::ranges::find(snapshot_.attributes, name, &Attribute::name) != snapshot_.attributes.end();
  }

  // An attribute may be called like a keyword: "not < 3".
  bool take_not() {
    const std::size_t before = position_;
    skip_space();
    const std::string_view spelled = word();
    if (!take_keyword("not")) return false;
    skip_space();
    const bool compares =
        position_ < text_.size() && std::string_view("<>=!").find(text_[position_]) != std::string_view::npos;
    if (!compares || !is_attribute(spelled)) return true;
    position_ = before;
    return false;
  }

  // Nesting is recursion here and in all that walk the tree.
  class Nesting {
   public:
    explicit Nesting(FilterParser& parser) : parser_(parser) {
      if (++parser_.depth_ > Filter::kMaxDepth)
        parser_.fail("nested more than " + std::to_string(Filter::kMaxDepth) + " deep");
    }
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    FilterParser& parser_;
  };

  Filter any() {
    std::vector<Filter> filters;
    do filters.push_back(all());
    while (take_keyword("or"));
    return Filter::any_of(filters);
  }

  Filter all() {
    std::vector<Filter> filters;
    do filters.push_back(negation());
    while (take_keyword("and"));
    return Filter::all_of(filters);
  }

  Filter negation() {
    const Nesting nesting(*this);
    if (take_not()) return !negation();
    if (!take('(')) return condition();
    Filter filter = any();
    skip_space();
    if (!take(')')) fail(found_instead("`and`, `or` or `)`"));
    return filter;
  }

  Filter condition() {
    skip_space();
    if (const std::optional<Literal> literal = leading_number()) {
      const Comparison comparison = comparison_sign();
      return Filter(Condition{column(), turned(comparison), {*literal}});
    }
    const Column left = column();
    if (take_keyword("is")) return null_test(left);
    const bool negated = take_keyword("not");
    if (take_keyword("between")) return unless(negated, range_of(left));
    if (take_keyword("in")) return unless(negated, left.in(list()));
    if (negated) fail("expected `between` or `in`");
    const Comparison comparison = comparison_sign();
    return Filter(Condition{left, comparison, {number()}});
  }

  static Filter unless(bool negated, const Filter& filter) { return negated ? !filter : filter; }

  Filter null_test(const Column& column) {
    const bool negated = take_keyword("not");
    if (!take_keyword("null")) fail("expected `null`");
    return negated ? column.is_not_null() : column.is_null();
  }

  Filter range_of(const Column& column) {
    const Literal minimum = number();
    if (!take_keyword("and")) fail("expected `and`, as in `between 1 and 5`");
    return column.between(minimum, number());
  }

  std::vector<Literal> list() {
    require('(');
    std::vector<Literal> values;
    do {
      values.push_back(number());
    } while (take(','));
    require(')');
    return values;
  }

  Comparison comparison_sign() {
    skip_space();
    if (take('<'))
      return next_is('=') ? Comparison::less_equal : next_is('>') ? Comparison::not_equal : Comparison::less;
    if (take('>')) return next_is('=') ? Comparison::greater_equal : Comparison::greater;
    if (take('=')) {
      next_is('=');
      return Comparison::equal;
    }
    if (take('!') && next_is('=')) return Comparison::not_equal;
    fail("expected a comparison: = != < <= > >=, between, in or is null");
  }

  bool next_is(char c) {
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  // For `200 >= price`, which says price <= 200.
  static Comparison turned(Comparison comparison) {
    switch (comparison) {
      case Comparison::less:
        return Comparison::greater;
      case Comparison::less_equal:
        return Comparison::greater_equal;
      case Comparison::greater:
        return Comparison::less;
      case Comparison::greater_equal:
        return Comparison::less_equal;
      default:
        return comparison;
    }
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
        is_open = next_is('"');  // a quote in the name is doubled
        if (is_open) result += '"';
      }
    } else {
      result = word();
      position_ += result.size();
    }
    if (result.empty()) fail(found_instead("a condition, such as `price <= 200`"));
    return result;
  }

  Column column() {
    skip_space();
    const std::size_t start = position_;
    const std::string wanted = name();
    if (is_attribute(wanted)) return Column(wanted);
    if (wanted == kIdName) return Column::id();
    position_ = start;
    fail(unknown_attribute(wanted, snapshot_) + "; id is that of the row");
  }

  // A name may begin with digits, or be nothing else.
  std::optional<Literal> leading_number() {
    const std::string_view first = word();
    if (is_attribute(first) || position_ >= text_.size()) return {};
    if (std::string_view("+-.0123456789").find(text_[position_]) == std::string_view::npos) return {};
    const std::size_t start = position_;
    const Literal literal = number();
    if (position_ == text_.size() || !is_name_character(text_[position_])) return literal;
    position_ = start;
    return {};
  }

  Literal number() {
    skip_space();
    // from_chars knows no plus sign; one before a minus sign is no number.
    if (position_ + 1 < text_.size() && text_[position_] == '+' && text_[position_ + 1] != '-') ++position_;
    const char *const first = text_.data() + position_, *const last = text_.data() + text_.size();
    double value = 0;
    const auto [end, error] = std::from_chars(first, last, value);
    if (error != std::errc() || !std::isfinite(value)) fail(found_instead("a finite number"));
    position_ += static_cast<std::size_t>(end - first);
    std::int64_t integer = 0;
    const auto [integer_end, integer_error] = std::from_chars(first, last, integer);
    if (integer_error == std::errc() && integer_end == end) return integer;
    return value;
  }

  std::string_view text_;
  const Snapshot& snapshot_;
  std::size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace

Filter parse_filter(std::string_view where, const Snapshot& snapshot) {
  return FilterParser(where, snapshot).run();
}

}  // namespace culmen
