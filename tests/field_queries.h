// Random filters and queries for tables with fields and missing values, and filters as SQL text.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "culmen/query.h"
#include "tests/field_oracle.h"
#include "tests/field_tables.h"
#include "tests/generators.h"

namespace culmen::test {

// '2025-06-01', or with a time and a fraction, of so many nanoseconds since 1970. Years 1 to 9999.
inline std::string time_text(Random& random, __int128 nanoseconds, bool with_time) {
  constexpr __int128 kDay = __int128{86'400} * 1'000'000'000;
  __int128 day = nanoseconds / kDay, rest = nanoseconds % kDay;
  if (rest < 0) rest += kDay, --day;
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(static_cast<int>(day)))};
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  std::string result = text;
  if (!with_time) return result;
  const auto seconds = static_cast<int>(rest / 1'000'000'000);
  std::snprintf(text, sizeof text, " %02d:%02d:%02d", seconds / 3600, seconds / 60 % 60, seconds % 60);
  result += text;
  auto fraction = static_cast<std::int64_t>(rest % 1'000'000'000);
  if (fraction == 0) return result;
  std::snprintf(text, sizeof text, ".%09lld", static_cast<long long>(fraction));
  result += text;
  while (random.chance(0.9) && result.back() == '0') result.pop_back();
  return result;
}

class FilterGenerator {
 public:
  FilterGenerator(Random& random, const FieldOracle& oracle) : random_(random), oracle_(oracle) {}

  // At most so many levels of `and`, `or` and `not` over conditions.
  Filter tree(int depth = 5) {
    if (depth == 0 || random_.chance(0.3)) return random_.chance(0.01) ? Filter() : condition();
    Filter filter = tree(depth - 1);
    if (random_.chance(0.25)) return !filter;
    const bool is_conjunction = random_.chance(0.5);
    for (std::uint64_t parts = 1 + random_.below(2); parts > 0; --parts)
      filter = is_conjunction ? filter && tree(depth - 1) : filter || tree(depth - 1);
    return filter;
  }

  // Conditions on ranges of attributes without gaps, joined by `and`: what every engine takes.
  Filter ranges() {
    Filter filter;
    for (std::uint64_t parts = random_.below(3); parts > 0; --parts) {
      const std::size_t i = random_.below(oracle_.num_attributes());
      if (oracle_.has_gaps(i)) continue;
      if (const ColumnFormat& format = oracle_.schema().attributes[i].format;
          is_of_time(format) || format.type == ColumnType::boolean) {
        const auto value_of = [i](const Row& row) -> FieldValue { return row.values[i]; };
        filter = filter && col(static_cast<int>(i)) >= number_literal(format, value_of);
        continue;
      }
      double a = attribute_literal(i), b = attribute_literal(i);
      if (a > b) std::swap(a, b);
      Range range{.attribute = static_cast<int>(i)};
      if (random_.chance(0.7)) range.minimum = a;
      if (random_.chance(0.7)) range.maximum = b;
      filter = filter && range;
    }
    return filter;
  }

 private:
  const Row* some_row() {
    return oracle_.rows().empty() ? nullptr : &oracle_.rows()[random_.below(oracle_.rows().size())];
  }

  Filter condition() {
    const Schema& schema = oracle_.schema();
    const std::size_t num_attributes = schema.attributes.size();
    if (random_.chance(0.05))
      return Filter::ids_in(random_id_set(random_, oracle_.rows().size(),
                                          [this](std::size_t row) { return oracle_.rows()[row].id; }));
    if (random_.chance(0.07))
      return of_numbers(id_col(), {ColumnType::integer}, [](const Row& row) -> FieldValue { return row.id; });
    if (schema.fields.empty() || random_.chance(0.4)) {
      const std::size_t i = random_.below(num_attributes);
      const Column column = random_.chance(0.3) ? col(static_cast<int>(i)) : col(schema.attributes[i].name);
      return of_numbers(column, schema.attributes[i].format, [i](const Row& row) -> FieldValue {
        if (std::isnan(row.values[i])) return std::monostate();
        return row.values[i];
      });
    }
    for (int tries = 0; tries < 8; ++tries) {
      const std::size_t f = random_.below(schema.fields.size());
      const Field& field = schema.fields[f];
      if (field.role == FieldRole::stored) continue;
      if (field.is_text()) return of_texts(f);
      return of_numbers(col(field.name), field.format, [f](const Row& row) { return row.fields[f]; });
    }
    return id_col().is_not_null();
  }

  Comparison comparison(bool of_text) {
    if (random_.chance(0.12)) return random_.pick({Comparison::is_null, Comparison::is_not_null});
    if (of_text && random_.chance(0.2)) return Comparison::starts_with;
    return random_.pick({Comparison::equal, Comparison::equal, Comparison::not_equal, Comparison::less,
                         Comparison::less_equal, Comparison::greater, Comparison::greater_equal,
                         Comparison::between, Comparison::in});
  }

  template <typename MakeLiteral>
  Filter with_literals(const Column& column, Comparison comparison, MakeLiteral&& literal) {
    const bool is_null_test = comparison == Comparison::is_null || comparison == Comparison::is_not_null;
    std::size_t count = comparison == Comparison::between ? 2 : is_null_test ? 0 : 1;
    if (comparison == Comparison::in)
      count = random_.chance(0.02) ? 0 : 1 + random_.below(random_.chance(0.1) ? 100 : 5);
    std::vector<Literal> values;
    while (values.size() < count) values.push_back(literal());
    return Filter(Condition{column, comparison, std::move(values)});
  }

  template <typename ValueOf>
  Filter of_numbers(const Column& column, const ColumnFormat& format, const ValueOf& value_of) {
    return with_literals(column, comparison(false), [&] { return number_literal(format, value_of); });
  }

  static bool is_of_time(const ColumnFormat& format) {
    return format.type == ColumnType::date || format.type == ColumnType::timestamp;
  }

  // At, beside or far from a value of the column.
  template <typename ValueOf>
  Literal number_literal(const ColumnFormat& format, const ValueOf& value_of) {
    if (random_.chance(0.01)) return random_.sign() * kInfinity;
    if (format.type == ColumnType::boolean)
      return random_.pick<Literal>({std::int64_t{0}, std::int64_t{1}, 0.0, 1.0});
    const bool is_time = is_of_time(format);
    if (!is_time && random_.chance(0.06))
      return random_.pick<Literal>({kHighestInt, kLowestInt, (std::int64_t{1} << 53) + 1, 1e300, -1e300,
                                    0x1p63, -0x1p63, 0x1p64, 0.5, -0.0, std::int64_t{0}, 5e-324});
    FieldValue value = std::monostate();
    if (const Row* row = some_row()) value = value_of(*row);
    const bool is_missing = std::holds_alternative<std::monostate>(value);
    if (is_time) return is_missing ? "2024-10-04" : time_literal(format, value).value_or("9999-12-31");
    if (is_missing) return random_.pick<Literal>({0.5, std::int64_t{1}, 20'000.0});
    const auto* integer = std::get_if<std::int64_t>(&value);
    if (integer != nullptr && random_.chance(0.6)) return *integer;
    if (integer != nullptr && random_.chance(0.4))
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(*integer) +
                                       (random_.chance(0.5) ? 1 : ~std::uint64_t{0}));
    const double number = integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value);
    if (random_.chance(0.5)) return number;
    if (random_.chance(0.4)) return number + random_.sign() * 0.5;
    if (random_.chance(0.4) && std::fabs(number) < 0x1p62)
      return static_cast<std::int64_t>(number) + random_.between(-1, 1);
    const double beside = std::nextafter(number, random_.sign() * kInfinity);
    return std::isfinite(beside) ? beside : number;
  }

  std::optional<std::string> time_literal(const ColumnFormat& format, const FieldValue& value) {
    const auto* integer = std::get_if<std::int64_t>(&value);
    const auto ticks = integer != nullptr ? *integer : static_cast<std::int64_t>(std::get<double>(value));
    __int128 unit = __int128{86'400} * 1'000'000'000;
    if (format.type == ColumnType::timestamp) {
      unit = 1;
      for (int u = static_cast<int>(format.unit); u < 3; ++u) unit *= 1000;
    }
    __int128 nanoseconds = ticks * unit;
    constexpr __int128 kYear = __int128{365} * 86'400 * 1'000'000'000;
    if (nanoseconds < -1900 * kYear || nanoseconds > 7900 * kYear) return std::nullopt;
    if (random_.chance(0.3)) nanoseconds += random_.sign() > 0 ? unit : -unit;
    if (format.type == ColumnType::date)
      return time_text(random_, nanoseconds + (random_.chance(0.2) ? unit / 3 : 0), random_.chance(0.2));
    if (random_.chance(0.2)) nanoseconds += random_.between(-1, 1);
    if (random_.chance(0.03))
      return random_.pick<std::string>({"0001-01-01", "9999-12-31 23:59:59.999999999"});
    if (format.time_zone.empty() || random_.chance(0.5))
      return time_text(random_, nanoseconds, random_.chance(0.8));
    constexpr __int128 kMinute = __int128{60} * 1'000'000'000;
    const int minutes = random_.pick({0, 120, -330});
    std::string text = time_text(random_, nanoseconds + minutes * kMinute, true);
    if (random_.chance(0.5)) text[10] = 'T';
    return text + (minutes == 0 ? "Z" : minutes > 0 ? "+02:00" : "-05:30");
  }

  Filter of_texts(std::size_t f) {
    const Comparison how = comparison(true);
    return with_literals(col(oracle_.schema().fields[f].name), how, [&]() -> Literal {
      std::string text;
      if (const Row* row = some_row())
        if (const auto* found = std::get_if<std::string>(&row->fields[f])) text = *found;
      if (how == Comparison::starts_with || random_.chance(0.15)) {
        text.resize(random_.below(text.size() + 1));
        while (!text.empty() && static_cast<unsigned char>(text.back()) >= 0x80) text.pop_back();
      }
      if (random_.chance(0.15)) text += random_.pick<std::string>({"a", "z", " ", "é", "'", "%"});
      return text;
    });
  }

  double attribute_literal(std::size_t i) {
    const Row* row = some_row();
    const double value = row == nullptr ? 0.5 : row->values[i];
    return random_.chance(0.8) ? value : std::nextafter(value, random_.sign() * kInfinity);
  }

  Random& random_;
  const FieldOracle& oracle_;
};

// A filter in the language of Index::filter, written in one of several ways; nullopt if the language cannot say it
// (infinite numbers, prefixes with wildcards).
class FilterText {
 public:
  FilterText(Random& random, const Schema& schema) : random_(random), schema_(schema) {}

  std::optional<std::string> write(const Filter& filter) {
    const std::string text = part(filter);
    if (!is_sayable_) return std::nullopt;
    return text;
  }

 private:
  std::string keyword(const char* word) {
    std::string text = word;
    if (random_.chance(0.2))
      for (char& letter : text) letter = static_cast<char>(letter - 'a' + 'A');
    return text;
  }

  std::string part(const Filter& filter) {
    switch (filter.kind()) {
      case Filter::Kind::everything:
        return "id " + keyword("is") + " " + keyword("not") + " " + keyword("null");
      case Filter::Kind::condition:
        return condition(filter.condition());
      case Filter::Kind::id_set:
        is_sayable_ = false;
        return "";
      case Filter::Kind::negation:
        return keyword("not") + " (" + part(filter.parts().front()) + ")";
      default:
        break;
    }
    const bool all = filter.kind() == Filter::Kind::all_of;
    std::string text;
    for (const Filter& one : filter.parts()) {
      if (!text.empty()) text += " " + keyword(all ? "and" : "or") + " ";
      const bool bare = one.kind() == Filter::Kind::condition && random_.chance(0.8);
      text += bare ? part(one) : "(" + part(one) + ")";
    }
    return text;
  }

  static bool is_plain(const std::string& name) {
    return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == std::string::npos &&
           name[0] >= 'a';
  }
  std::string quoted(const std::string& text, char quote) {
    std::string result(1, quote);
    for (const char letter : text) {
      if (letter == quote) result += quote;
      result += letter;
    }
    return result + quote;
  }

  std::string column(const Column& of) {
    if (!of.attribute()) return "id";
    const int* position = std::get_if<int>(&*of.attribute());
    const std::string name = position != nullptr
                                 ? schema_.attributes[static_cast<std::size_t>(*position)].name
                                 : std::get<std::string>(*of.attribute());
    return is_plain(name) && random_.chance(0.8) ? name : quoted(name, '"');
  }

  std::string literal(const Literal& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
    if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text, '\'');
    const double number = std::get<double>(value);
    is_sayable_ = is_sayable_ && std::isfinite(number);
    char text[64];
    std::snprintf(text, sizeof text, "%.17g", number);
    return text;
  }

  std::string condition(const Condition& condition) {
    const std::string name = column(condition.column);
    const auto value = [&](std::size_t i) { return literal(condition.values[i]); };
    const auto compare = [&](const char* sign, const char* mirrored) {
      if (random_.chance(0.2)) return value(0) + " " + mirrored + " " + name;
      const std::string space = random_.chance(0.5) ? " " : "";
      return name + space + sign + space + value(0);
    };
    switch (condition.comparison) {
      case Comparison::equal:
        return random_.chance(0.5) ? compare("=", "=") : compare("==", "==");
      case Comparison::not_equal:
        return random_.chance(0.5) ? compare("!=", "<>") : compare("<>", "!=");
      case Comparison::less:
        return compare("<", ">");
      case Comparison::less_equal:
        return compare("<=", ">=");
      case Comparison::greater:
        return compare(">", "<");
      case Comparison::greater_equal:
        return compare(">=", "<=");
      case Comparison::between:
        return name + " " + keyword("between") + " " + value(0) + " " + keyword("and") + " " + value(1);
      case Comparison::starts_with: {
        const std::string& prefix = std::get<std::string>(condition.values[0]);
        is_sayable_ = is_sayable_ && prefix.find_first_of("%_\\") == std::string::npos;
        return name + " " + keyword("like") + " " + quoted(prefix + "%", '\'');
      }
      case Comparison::is_null:
        return name + " " + keyword("is") + " " + keyword("null");
      case Comparison::is_not_null:
        return name + " " + keyword("is") + " " + keyword("not") + " " + keyword("null");
      case Comparison::in:
        break;
    }
    is_sayable_ = is_sayable_ && !condition.values.empty();  // `in ()` is no SQL
    std::string list;
    for (const Literal& one : condition.values) list += (list.empty() ? "" : ", ") + literal(one);
    return name + " " + keyword("in") + " (" + list + ")";
  }

  Random& random_;
  const Schema& schema_;
  bool is_sayable_ = true;
};

// Terms besides the weights, each once.
class TermGenerator {
 public:
  TermGenerator(Random& random, const FieldOracle& oracle) : random_(random), oracle_(oracle) {}

  std::vector<ScoreTerm> draw() {
    std::vector<ScoreTerm> terms;
    for (std::uint64_t left = 1 + random_.below(random_.chance(0.1) ? 12 : 3); left > 0; --left) {
      ScoreTerm term = random_.chance(0.5) ? of_number() : of_condition();
      term.weight = random_.chance(0.1) ? random_.sign() * std::pow(10.0, random_.uniform(-30, 30))
                                        : random_.sign() * random_.uniform(0.01, 3);
      const auto is_same = [&](const ScoreTerm& other) { return named(other) == named(term); };
      if (std::none_of(terms.begin(), terms.end(), is_same)) terms.push_back(std::move(term));
    }
    return terms;
  }

 private:
  std::string named(ScoreTerm term) const {
    if (const int* const position = std::get_if<int>(&term.column))
      term.column = oracle_.schema().attributes[static_cast<std::size_t>(*position)].name;
    return term.function_text();
  }

  ScoreTerm of_number() {
    const Schema& schema = oracle_.schema();
    for (int tries = 0; tries < 8; ++tries) {
      ScoreTerm term;
      ColumnFormat format;
      if (schema.fields.empty() || random_.chance(0.5)) {
        const std::size_t i = random_.below(schema.attributes.size());
        term.column = static_cast<int>(i);
        if (random_.chance(0.5)) term.column = schema.attributes[i].name;
        format = schema.attributes[i].format;
      } else {
        const Field& field = schema.fields[random_.below(schema.fields.size())];
        if (field.role == FieldRole::stored) continue;
        term.column = field.name;
        format = field.format;
      }
      if (format.type == ColumnType::text || format.type == ColumnType::boolean) continue;
      const bool is_time = format.type == ColumnType::date || format.type == ColumnType::timestamp;
      term.function = static_cast<TermFunction>(random_.below(is_time ? 4 : 8));
      const double x = some_argument(term);
      if (is_time) {
        term.origin = random_.pick<std::string>({"2024-10-04", "2025-06-01", "1970-01-01"});
        term.scale = random_.pick({1.0, 30.0, 86'400.0, 1e7});
      } else {
        const double origin = x + random_.pick({0.0, 0.0, 1.0, -0.5, 1e3});
        term.origin = std::isfinite(origin) ? origin : x;
        const double scale = std::fabs(x) * random_.pick({0.01, 0.3, 1.0, 5.0});
        term.scale = scale > 0 && std::isfinite(scale) ? scale : random_.pick({1e-3, 1.0, 100.0});
        if (random_.chance(0.2)) term.origin = static_cast<std::int64_t>(random_.between(-5, 100));
      }
      return term;
    }
    return of_condition();
  }

  // At a row's value, so that peaks are inside of the data.
  double some_argument(const ScoreTerm& term) {
    if (oracle_.rows().empty()) return 1;
    const Row& row = oracle_.rows()[random_.below(oracle_.rows().size())];
    return oracle_.argument_of(row, term, Missing::fill).value_or(1);
  }

  ScoreTerm of_condition() {
    FilterGenerator filters(random_, oracle_);
    Filter condition = filters.tree(random_.chance(0.7) ? 0 : random_.between(1, 3));
    while (condition.kind() == Filter::Kind::everything) condition = filters.tree(0);
    return ScoreTerm::when(std::move(condition));
  }

  Random& random_;
  const FieldOracle& oracle_;
};

// with_terms: besides the weights, which may then be all 0; ranks, too.
inline Query random_field_query(Random& random, const FieldOracle& oracle, bool plain_ranges,
                                bool with_terms = false) {
  const std::size_t n = oracle.rows().size();
  Query query;
  query.weights = random_weights(random, oracle.num_attributes());
  for (double& weight : query.weights)
    if (random.chance(0.3)) weight = 0;
  if (std::all_of(query.weights.begin(), query.weights.end(), [](double w) { return w == 0; }))
    query.weights[random.below(query.weights.size())] = random.sign();
  query.k = std::max<std::size_t>(random.pick<std::size_t>({1, 1, 2, 3, 10, 16, 100, n / 2, n, n + 1}), 1);
  if (random.chance(0.4))
    query.scale = random.pick(
        {Scale::minmax, Scale::zscore, with_terms && oracle.has_quantiles() ? Scale::rank : Scale::none});
  if (random.chance(0.4) || (plain_ranges && random.chance(0.7))) query.missing = Missing::fill;
  if (with_terms && random.chance(0.4)) query.terms = TermGenerator(random, oracle).draw();
  if (!query.terms.empty() && random.chance(0.2)) query.weights.assign(query.weights.size(), 0);
  FilterGenerator filters(random, oracle);
  if (plain_ranges) {
    query.where = filters.ranges();
  } else if (random.chance(0.85)) {
    query.where = filters.tree(random.between(0, 5));
  }
  if (random.chance(0.15) && !oracle.refuses(query)) {
    // Exactly the score of a row, or the next number above it.
    const Row* row = n == 0 ? nullptr : &oracle.rows()[random.below(n)];
    const double score =
        row == nullptr || !oracle.has_score(*row, query) ? 0.5 : oracle.score_of(*row, query);
    query.min_score = random.chance(0.7) ? score : std::nextafter(score, kInfinity);
    if (random.chance(0.3)) query.k.reset();
  }
  return query;
}

}  // namespace culmen::test
