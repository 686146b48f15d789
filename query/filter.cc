// culmen::Filter: builds trees and writes them as text.
#include "culmen/filter.h"

#include <algorithm>
#include <utility>

#include "base/number_text.h"
#include "culmen/error.h"
#include "query/filter_words.h"

namespace culmen {

struct Filter::Node {
  Kind kind;
  Condition condition{Column::id(), Comparison::equal, {}};  // of Kind::condition
  IdSet ids = {};                                            // of Kind::id_set
  std::vector<Filter> parts = {};
  int depth = 1;
  std::size_t num_conditions = 1;
};

std::string literal_text(const Literal& literal) {
  if (const auto* text = std::get_if<std::string>(&literal)) return quoted_text(*text);
  if (const auto* integer = std::get_if<std::int64_t>(&literal)) return std::to_string(*integer);
  if (const auto* large = std::get_if<LargeInteger>(&literal)) return std::to_string(large->value);
  std::string number = number_text(std::get<double>(literal) + 0.0);  // not -0, which no filter tells from 0
  const bool reads_as_integer = number.find_first_not_of("-0123456789") == std::string::npos;
  return reads_as_integer ? number + ".0" : number;
}

std::string column_text(const Column& column) {
  const std::optional<AttributeRef>& attribute = column.attribute();
  if (!attribute) return "id";
  if (const int* position = std::get_if<int>(&*attribute)) return "attribute " + std::to_string(*position);
  const std::string& name = std::get<std::string>(*attribute);
  return is_plain_name(name) ? name : quoted_name(name);
}

namespace {

Filter compare(Column column, Comparison comparison, std::vector<Literal> values) {
  return Filter(Condition{std::move(column), comparison, std::move(values)});
}

Filter range_filter(const Range& range) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Column column(range.attribute);
  if (range.minimum == range.maximum) return column == range.minimum;
  if (range.minimum == -kInfinity && range.maximum != kInfinity) return column <= range.maximum;
  if (range.maximum == kInfinity && range.minimum != -kInfinity) return column >= range.minimum;
  return column.between(range.minimum, range.maximum);
}

// For `like`. Wildcards in the prefix are escaped.
std::string prefix_pattern(const std::string& prefix) {
  constexpr char kEscape = '\\';
  const bool has_escape = prefix.find_first_of(kPatternWildcards) != std::string::npos;
  std::string pattern;
  for (const char c : prefix) {
    if (has_escape && (c == kEscape || kPatternWildcards.find(c) != std::string_view::npos))
      pattern += kEscape;
    pattern += c;
  }
  return quoted_text(pattern + '%') + (has_escape ? " escape " + quoted_text(std::string(1, kEscape)) : "");
}

std::string condition_text(const Condition& condition) {
  const std::string column = column_text(condition.column);
  const auto value = [&](std::size_t i) { return literal_text(condition.values[i]); };
  switch (condition.comparison) {
    case Comparison::equal:
      return column + " = " + value(0);
    case Comparison::not_equal:
      return column + " != " + value(0);
    case Comparison::less:
      return column + " < " + value(0);
    case Comparison::less_equal:
      return column + " <= " + value(0);
    case Comparison::greater:
      return column + " > " + value(0);
    case Comparison::greater_equal:
      return column + " >= " + value(0);
    case Comparison::between:
      return column + " between " + value(0) + " and " + value(1);
    case Comparison::starts_with:
      return column + " like " + prefix_pattern(std::get<std::string>(condition.values[0]));
    case Comparison::is_null:
      return column + " is null";
    case Comparison::is_not_null:
      return column + " is not null";
    case Comparison::in:
      break;
  }
  std::string list;
  for (const Literal& literal : condition.values) list += (list.empty() ? "" : ", ") + literal_text(literal);
  return column + " in (" + list + ")";
}

std::string id_set_text(const IdSet& ids) {
  return "id in {" + std::to_string(ids.size()) + (ids.size() == 1 ? " id}" : " ids}");
}

// In parentheses where `and`, `or` or `not` around it would bind tighter.
std::string part_text(const Filter& part) {
  if (part.kind() == Filter::Kind::everything) return "id is not null";
  const bool is_compound = part.kind() == Filter::Kind::all_of || part.kind() == Filter::Kind::any_of;
  return is_compound ? "(" + part.text() + ")" : part.text();
}

}  // namespace

Filter Column::between(Literal minimum, Literal maximum) const {
  return compare(*this, Comparison::between, {std::move(minimum), std::move(maximum)});
}
Filter Column::in(std::vector<Literal> values) const {
  return compare(*this, Comparison::in, std::move(values));
}
Filter Column::starts_with(std::string prefix) const {
  return compare(*this, Comparison::starts_with, {std::move(prefix)});
}
Filter Column::is_null() const {
  return compare(*this, Comparison::is_null, {});
}
Filter Column::is_not_null() const {
  return compare(*this, Comparison::is_not_null, {});
}

Filter operator==(const Column& column, Literal value) {
  return compare(column, Comparison::equal, {std::move(value)});
}
Filter operator!=(const Column& column, Literal value) {
  return compare(column, Comparison::not_equal, {std::move(value)});
}
Filter operator<(const Column& column, Literal value) {
  return compare(column, Comparison::less, {std::move(value)});
}
Filter operator<=(const Column& column, Literal value) {
  return compare(column, Comparison::less_equal, {std::move(value)});
}
Filter operator>(const Column& column, Literal value) {
  return compare(column, Comparison::greater, {std::move(value)});
}
Filter operator>=(const Column& column, Literal value) {
  return compare(column, Comparison::greater_equal, {std::move(value)});
}
Filter operator==(Literal value, const Column& column) {
  return column == std::move(value);
}
Filter operator!=(Literal value, const Column& column) {
  return column != std::move(value);
}
Filter operator<(Literal value, const Column& column) {
  return column > std::move(value);
}
Filter operator<=(Literal value, const Column& column) {
  return column >= std::move(value);
}
Filter operator>(Literal value, const Column& column) {
  return column < std::move(value);
}
Filter operator>=(Literal value, const Column& column) {
  return column <= std::move(value);
}

Filter::Filter(Condition condition)
    : node_(std::make_shared<const Node>(Node{Kind::condition, std::move(condition)})) {
  const Condition& c = node_->condition;
  const bool has_none = c.comparison == Comparison::is_null || c.comparison == Comparison::is_not_null;
  const std::size_t wanted = has_none ? 0 : c.comparison == Comparison::between ? 2 : 1;
  if (c.comparison != Comparison::in && c.values.size() != wanted)
    throw InvalidArgument("a condition of a filter has " + std::to_string(c.values.size()) +
                          " values; it takes " + std::to_string(wanted));
  if (c.comparison == Comparison::starts_with && !std::holds_alternative<std::string>(c.values[0]))
    throw InvalidArgument("only texts start with something: starts_with takes a text");
}

Filter::Filter(const Range& range) : Filter(range_filter(range)) {}

Filter::Filter(std::initializer_list<Range> ranges) {
  *this = all_of({ranges.begin(), ranges.end()});
}

Filter::Kind Filter::kind() const {
  return node_ == nullptr ? Kind::everything : node_->kind;
}

const Condition& Filter::condition() const {
  if (kind() != Kind::condition) throw InvalidArgument("this filter is not a single condition");
  return node_->condition;
}

const IdSet& Filter::ids() const {
  if (kind() != Kind::id_set) throw InvalidArgument("this filter is not a set of ids");
  return node_->ids;
}

const std::vector<Filter>& Filter::parts() const {
  static const std::vector<Filter> none;
  return node_ == nullptr ? none : node_->parts;
}

std::size_t Filter::num_conditions() const {
  return node_ == nullptr ? 0 : node_->num_conditions;
}

// Parts of the same kind join the list: a chain of `and` is one node, however long.
Filter Filter::combined(Kind kind, const std::vector<Filter>& filters) {
  if (filters.size() == 1) return filters.front();
  Node node{.kind = kind, .num_conditions = 0};
  for (const Filter& filter : filters) {
    node.num_conditions += filter.num_conditions();
    if (filter.kind() == kind) {
      node.parts.insert(node.parts.end(), filter.parts().begin(), filter.parts().end());
    } else {
      node.parts.push_back(filter);
    }
  }
  for (const Filter& part : node.parts) node.depth = std::max(node.depth, part.node_->depth + 1);
  if (node.depth > kMaxDepth)
    throw InvalidArgument("a filter is nested more than " + std::to_string(kMaxDepth) + " deep");
  return Filter(std::make_shared<const Node>(std::move(node)));
}

Filter Filter::all_of(const std::vector<Filter>& filters) {
  std::vector<Filter> conditions;
  for (const Filter& filter : filters)
    if (filter.kind() != Kind::everything) conditions.push_back(filter);
  return conditions.empty() ? Filter() : combined(Kind::all_of, conditions);
}

Filter Filter::any_of(const std::vector<Filter>& filters) {
  if (filters.empty()) return !Filter();
  for (const Filter& filter : filters)
    if (filter.kind() == Kind::everything) return {};
  return combined(Kind::any_of, filters);
}

Filter Filter::ids_in(IdSet ids) {
  return Filter(std::make_shared<const Node>(Node{.kind = Kind::id_set, .ids = std::move(ids)}));
}

Filter operator&&(const Filter& a, const Filter& b) {
  return Filter::all_of({a, b});
}

Filter operator||(const Filter& a, const Filter& b) {
  return Filter::any_of({a, b});
}

Filter operator!(const Filter& filter) {
  Filter::Node node{
      .kind = Filter::Kind::negation, .parts = {filter}, .num_conditions = filter.num_conditions()};
  node.depth = filter.node_ == nullptr ? 1 : filter.node_->depth + 1;
  if (node.depth > Filter::kMaxDepth)
    throw InvalidArgument("a filter is nested more than " + std::to_string(Filter::kMaxDepth) + " deep");
  return Filter(std::make_shared<const Filter::Node>(std::move(node)));
}

bool operator==(const Filter& a, const Filter& b) {
  if (a.node_ == b.node_) return true;
  if (a.kind() != b.kind()) return false;
  if (a.kind() == Filter::Kind::id_set) return a.ids() == b.ids();
  if (a.kind() != Filter::Kind::condition) return a.parts() == b.parts();
  const Condition &x = a.condition(), &y = b.condition();
  return x.column.attribute() == y.column.attribute() && x.comparison == y.comparison && x.values == y.values;
}

std::string Filter::text() const {
  switch (kind()) {
    case Kind::everything:
      return "";
    case Kind::condition:
      return condition_text(condition());
    case Kind::id_set:
      return id_set_text(ids());
    case Kind::negation:
      return "not " + part_text(parts().front());
    case Kind::all_of:
    case Kind::any_of:
      break;
  }
  std::string text;
  for (const Filter& part : parts())
    text += (text.empty() ? "" : kind() == Kind::all_of ? " and " : " or ") + part_text(part);
  return text;
}

}  // namespace culmen
