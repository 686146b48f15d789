// parse_filter: "price <= 200 and not brand in ('Sony', 'Canon')". A recursive descent over
//
//   any    = all {"or" all}            all       = not {"and" not}
//   not    = "not" not | "(" any ")" | condition
//   condition = column op literal | literal op column | column ["not"] "between" literal "and" literal
//             | column ["not"] "in" "(" literal {"," literal} ")" | column ["not"] "like" text ["escape" text]
//             | column "is" ["not"] "null"
//   op      = "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">="
//   literal = number | text | "true" | "false"           text: in single quotes, a quote in it is doubled
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "culmen/error.h"
#include "index/snapshot.h"
#include "query/filter_column.h"
#include "query/filter_words.h"
#include "query/resolve.h"
#include "query/text_cursor.h"

namespace culmen {
namespace {

class FilterParser : private TextCursor {
 public:
  FilterParser(std::string_view text, const Snapshot& snapshot)
      : TextCursor("filter", text), snapshot_(snapshot) {}

  Filter run() {
    skip_space();
    if (position_ == text_.size()) return {};  // no condition: every row passes
    Filter filter = any();
    if (position_ < text_.size()) fail(found_instead("`and`, `or` or the end"));
    return filter;
  }

 private:
  // For what people write in other languages.
  std::string found_instead(const std::string& expected) const {
    const char next = position_ < text_.size() ? text_[position_] : ' ';
    if (next == '&') return "write `and`";
    if (next == '|') return "write `or`";
    if (next == '!') return "write `not`";
    return "expected " + expected;
  }

  bool is_column(std::string_view name) const { return find_filter_column(name, snapshot_).has_value(); }

  // A column may be called like a keyword: "not < 3".
  bool take_not() {
    const std::size_t before = position_;
    skip_space();
    const std::string_view spelled = word();
    if (!take_keyword("not")) return false;
    skip_space();
    const bool compares =
        position_ < text_.size() && std::string_view("<>=!").find(text_[position_]) != std::string_view::npos;
    if (!compares || !is_column(spelled)) return true;
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
    const bool negated = take_not();
    if (take('(')) return unless(negated, rest_of_group());
    return negated ? !negation() : condition();
  }

  Filter rest_of_group() {
    Filter filter = any();
    skip_space();
    if (!take(')')) fail(found_instead("`and`, `or` or `)`"));
    return filter;
  }

  // A column as written, and what it is.
  struct Operand {
    Column column;
    FilterColumn found;
  };

  Filter condition() {
    skip_space();
    if (const std::optional<Value> value = leading_value()) {
      const Comparison comparison = comparison_sign();
      const Operand right = column();
      return Filter(Condition{right.column, turned(comparison), {checked(*value, right)}});
    }
    const Operand left = column();
    if (take_keyword("is")) return null_test(left.column);
    const bool negated = take_keyword("not");
    if (take_keyword("between")) return unless(negated, range_of(left));
    if (take_keyword("in")) return unless(negated, left.column.in(list(left)));
    const std::size_t start = position_;
    if (take_keyword("like")) return unless(negated, pattern_of(left, start));
    if (negated) fail("expected `between`, `in` or `like`");
    const Comparison comparison = comparison_sign();
    return Filter(Condition{left.column, comparison, {literal(left)}});
  }

  static Filter unless(bool negated, const Filter& filter) { return negated ? !filter : filter; }

  Filter null_test(const Column& column) {
    const bool negated = take_keyword("not");
    if (!take_keyword("null")) fail("expected `null`");
    return negated ? column.is_not_null() : column.is_null();
  }

  Filter range_of(const Operand& left) {
    const Literal minimum = literal(left);
    if (!take_keyword("and")) fail("expected `and`, as in `between 1 and 5`");
    return left.column.between(minimum, literal(left));
  }

  std::vector<Literal> list(const Operand& left) {
    require('(');
    std::vector<Literal> values;
    do {
      values.push_back(literal(left));
    } while (take(','));
    require(')');
    return values;
  }

  // A text, and possibly one wildcard at its end. `start`: where `like` is.
  Filter pattern_of(const Operand& left, std::size_t start) {
    if (const std::string fault = fault_of_comparison(left.found, Comparison::starts_with, snapshot_);
        !fault.empty())
      fail_at(start, fault);
    skip_space();
    start = position_;
    const std::string pattern = text("a pattern in single quotes, such as 'abc%'");
    std::string escape;
    if (take_keyword("escape")) {
      skip_space();
      const std::size_t start_of_escape = position_;
      escape = text("a character in single quotes");
      if (escape.size() != 1) fail_at(start_of_escape, "`escape` takes one character");
    }
    std::string prefix;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      const bool is_escaped = !escape.empty() && pattern[i] == escape[0];
      if (!is_escaped && pattern[i] == '%' && i + 1 == pattern.size()) return left.column.starts_with(prefix);
      if (!is_escaped && kPatternWildcards.find(pattern[i]) != std::string_view::npos)
        fail_at(start,
                "of patterns, only those with one % at their end are known, such as 'abc%'; "
                "write `escape '\\'` and a \\ before a % or _ that stands for itself");
      if (is_escaped && ++i == pattern.size()) fail_at(start, "nothing is behind the last escape character");
      prefix += pattern[i];
    }
    return left.column == prefix;
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
    fail("expected a comparison: = != < <= > >=, between, in, like or is null");
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
    const std::size_t start = position_;
    if (take('"')) {
      result = rest_of_quoted('"', start);
    } else {
      result = word();
      position_ += result.size();
    }
    if (result.empty()) fail(found_instead("a condition, such as `price <= 200`"));
    return result;
  }

  Operand column() {
    skip_space();
    const std::size_t start = position_;
    const std::string wanted = name();
    const std::optional<FilterColumn> found = find_filter_column(wanted, snapshot_);
    if (!found) fail_at(start, unknown_filter_column(wanted, snapshot_));
    if (const std::string fault = fault_of_column(*found, snapshot_); !fault.empty()) fail_at(start, fault);
    return {found->kind == FilterColumn::Kind::id ? Column::id() : Column(wanted), *found};
  }

  // A literal whose column is not known yet.
  struct Value {
    Literal literal;
    std::size_t start;
    bool is_truth = false;  // true or false
  };

  Literal checked(const Value& value, const Operand& column) const {
    const bool takes_truth = format_of(column.found, snapshot_).type == ColumnType::boolean;
    const std::string fault = value.is_truth && !takes_truth
                                  ? type_clash(column.found, snapshot_)
                                  : fault_of_literal(column.found, value.literal, snapshot_);
    if (!fault.empty()) fail_at(value.start, fault);
    return value.literal;
  }

  Literal literal(const Operand& left) {
    skip_space();
    const std::size_t start = position_;
    if (position_ < text_.size() && text_[position_] == '\'') return checked({text(""), start}, left);
    if (const std::optional<Value> value = truth()) return checked(*value, left);
    if (const std::optional<Literal> value = number()) return checked({*value, start}, left);
    fail(no_literal(left));
  }

  // What is there instead of a literal.
  std::string no_literal(const Operand& left) const {
    const std::string_view found = word();
    const bool holds_numbers = format_of(left.found, snapshot_).type <= ColumnType::integer;
    if (are_same_word(found, "null")) return "write `is null`";
    if (position_ < text_.size() && text_[position_] == '"')
      return "texts are in single quotes; double quotes are for the names of columns";
    if (is_column(found)) return "a column is compared with a value, not with another column";
    if (!found.empty() && !holds_numbers)
      return "texts and dates are in single quotes: " + quoted_text(found);
    return found_instead(holds_numbers ? "a finite number" : std::string(literal_of(left.found, snapshot_)));
  }

  // A name may begin with digits, or be nothing else.
  std::optional<Value> leading_value() {
    const std::string_view first = word();
    if (is_column(first) || position_ >= text_.size()) return {};
    const std::size_t start = position_;
    if (text_[position_] == '\'') return Value{text(""), start};
    if (std::optional<Value> value = truth()) return value;
    if (std::string_view("+-.0123456789").find(text_[position_]) == std::string_view::npos) return {};
    const std::optional<Literal> value = number();
    if (!value) fail(found_instead("a finite number"));
    if (position_ == text_.size() || !is_name_character(text_[position_])) return Value{*value, start};
    position_ = start;
    return {};
  }

  std::optional<Value> truth() {
    const std::size_t start = position_;
    if (take_keyword("true")) return Value{std::int64_t{1}, start, true};
    if (take_keyword("false")) return Value{std::int64_t{0}, start, true};
    return {};
  }

  std::string text(const std::string& expected) {
    skip_space();
    const std::size_t start = position_;
    if (!take('\'')) fail("expected " + expected);
    return rest_of_quoted('\'', start);
  }

  const Snapshot& snapshot_;
  int depth_ = 0;
};

}  // namespace

Filter parse_filter(std::string_view where, const Snapshot& snapshot) {
  return FilterParser(where, snapshot).run();
}

}  // namespace culmen
