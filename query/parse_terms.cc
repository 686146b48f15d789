// parse_terms: "2 * near(price, 100) - log1p(reviews) + 0.5 * [brand = 'Sony']".
//
//   sum      = ["-"] term {("+" | "-") term}
//   term     = [number "*"] function
//   function = name "(" column {"," argument} ")" | "[" filter "]"
//   argument = number | text | shape                      columns and texts as in filters
#include <string>
#include <utility>
#include <vector>

#include "query/function_terms.h"
#include "query/literal.h"
#include "query/resolve.h"
#include "query/text_cursor.h"

namespace culmen {
namespace {

class TermsParser : private TextCursor {
 public:
  TermsParser(std::string_view text, const Snapshot& snapshot)
      : TextCursor("terms", text), snapshot_(snapshot) {}

  std::vector<ScoreTerm> run() {
    std::vector<ScoreTerm> terms;
    skip_space();
    if (position_ == text_.size()) return terms;
    double sign = take('-') ? -1 : 1;
    for (;;) {
      terms.push_back(term().times(sign));
      skip_space();
      if (position_ == text_.size()) return terms;
      if (!take('+') && !next_is('-')) fail("expected `+`, `-` or the end");
      sign = text_[position_ - 1] == '-' ? -1 : 1;
    }
  }

 private:
  ScoreTerm term() {
    skip_space();
    double weight = 1;
    if (const std::optional<Literal> factor = number()) {
      weight = nearest_double(*factor);
      require('*');
      skip_space();
    }
    return take('[') ? condition().times(weight) : function().times(weight);
  }

  // What follows the bracket. A bracket in a text or a name is part of it.
  ScoreTerm condition() {
    const std::size_t start = position_;
    for (char quote = 0; position_ < text_.size(); ++position_) {
      const char c = text_[position_];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == ']') {
        const Filter filter = parse_filter(text_.substr(start, position_ - start), snapshot_);
        if (filter.kind() == Filter::Kind::everything) fail_at(start, "expected a condition");
        ++position_;
        return ScoreTerm::when(filter);
      }
    }
    fail_at(start - 1, "the bracket is not closed");
  }

  ScoreTerm function() {
    const std::size_t start = position_;
    const std::string name(word());
    position_ += name.size();
    skip_space();
    if (name.empty() || position_ == text_.size() || text_[position_] != '(')
      fail_at(start, "expected a function, such as `near(price, 100)`, or a condition in brackets");
    require('(');
    ScoreTerm term = of_column(name, start);
    require(')');
    return term;
  }

  ScoreTerm of_column(const std::string& name, std::size_t start) {
    const bool takes_column = name == "near" || name == "decay" || name == "log" || name == "log1p" ||
                              name == "sqrt" || name == "saturate";
    if (!takes_column)
      fail_at(start, "there is no function " + name + "; known: near, decay, log, log1p, sqrt, saturate");
    std::string on = column();
    if (name == "log") return ScoreTerm::log(std::move(on));
    if (name == "log1p") return ScoreTerm::log1p(std::move(on));
    if (name == "sqrt") return ScoreTerm::sqrt(std::move(on));
    require(',');
    if (name == "saturate") return ScoreTerm::saturate(std::move(on), nearest_double(number_here()));
    Literal origin = literal();
    if (name == "near") return ScoreTerm::near(std::move(on), std::move(origin));
    require(',');
    const double scale = nearest_double(
        number_here("expected a finite number, the scale: of dates it counts days, of timestamps seconds"));
    return ScoreTerm::decay(std::move(on), std::move(origin), scale,
                            take(',') ? shape() : TermFunction::decay_exp);
  }

  std::string column() {
    skip_space();
    const std::size_t start = position_;
    std::string name;
    if (take('"')) {
      name = rest_of_quoted('"', start);
    } else {
      name = word();
      position_ += name.size();
    }
    if (name.empty()) fail("expected a column");
    return name;
  }

  Literal literal() {
    skip_space();
    const std::size_t start = position_;
    if (take('\'')) return rest_of_quoted('\'', start);
    return number_here();
  }

  Literal number_here(const std::string& expected = "expected a finite number") {
    skip_space();
    const std::optional<Literal> value = number();
    if (!value) fail(expected);
    return *value;
  }

  TermFunction shape() {
    skip_space();
    const std::size_t start = position_;
    const std::string_view name = word();
    position_ += name.size();
    if (name == "linear") return TermFunction::decay_linear;
    if (name == "exp") return TermFunction::decay_exp;
    if (name == "gauss") return TermFunction::decay_gauss;
    fail_at(start, "expected linear, exp or gauss");
  }

  const Snapshot& snapshot_;
};

}  // namespace

std::vector<ScoreTerm> parse_terms(std::string_view text, const Snapshot& snapshot) {
  return TermsParser(text, snapshot).run();
}

}  // namespace culmen
