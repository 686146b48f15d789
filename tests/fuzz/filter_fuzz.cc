// Filters: any text gives an error, or a tree that writes itself as text of the same tree, and whose rows are those
// that the oracle picks, whatever the engine.
#include "culmen/error.h"
#include "culmen/index.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/oracle.h"

namespace culmen::fuzz {
namespace {

constexpr std::int64_t kTwoTo53 = std::int64_t{1} << 53;
const std::vector<double> kValues = {0, -0.0, 0.5, 1, 2, 2.5, -1e300, 1e300, 0x1p53, 5e-324, 3, 200};
const std::vector<std::int64_t> kIds = {0,         1,         2, 3, 200, -1, kTwoTo53, kTwoTo53 + 1,
                                        INT64_MIN, INT64_MAX, 5, 4};

TableView table() {
  static const std::vector<double> reversed(kValues.rbegin(), kValues.rend());
  return {.num_rows = kValues.size(),
          .attributes = {{"a"}, {"b", Preference::low}, {"not"}, {"5"}, {"x \"y\""}},
          .columns = {ColumnView(kValues), ColumnView(reversed), ColumnView(kValues), ColumnView(reversed),
                      ColumnView(kValues)},
          .ids = kIds,
          .labels = {}};
}

// The oracle knows attributes by their positions.
Filter by_position(const Filter& filter) {
  std::vector<Filter> parts;
  for (const Filter& part : filter.parts()) parts.push_back(by_position(part));
  switch (filter.kind()) {
    case Filter::Kind::everything:
      return filter;
    case Filter::Kind::negation:
      return !parts.front();
    case Filter::Kind::condition: {
      Condition condition = filter.condition();
      const std::optional<AttributeRef>& attribute = condition.column.attribute();
      if (!attribute) return filter;
      const std::vector<Attribute> all = table().attributes;
      const auto found = std::ranges::find(all, std::get<std::string>(*attribute), &Attribute::name);
      require(found != all.end(), "a filter that was read has known attributes");
      condition.column = col(static_cast<int>(found - all.begin()));
      return Filter(condition);
    }
    default:
      break;
  }
  Filter result = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i)
    result = filter.kind() == Filter::Kind::all_of ? result && parts[i] : result || parts[i];
  return result;
}

void check_rows(const Index& index, const Filter& filter) {
  static const test::Oracle oracle(table(), false);
  Query query = {.weights = {1e-5, 0, 1, 0, 0}, .k = kValues.size(), .where = by_position(filter)};
  const std::vector<test::Answer> expected = oracle.search(query);
  query.where = filter;
  for (const Engine engine : {Engine::scan, Engine::bounded, Engine::ta}) {
    const std::vector<Hit> hits = index.search(query, {.engine = engine, .num_threads = 1}).hits;
    require(
        std::ranges::equal(hits, expected, [](const Hit& a, const test::Answer& b) { return a.id == b.id; }),
        "the oracle's rows");
  }
}

}  // namespace

std::vector<std::string> seed_inputs() {
  return {"a<=200 and b>=4", "not a in (1, 2.5) or id = 9007199254740993",
          "(a between 1 and 3 or not (b is null)) and id not in (5)",
          "5 >= a and not < 3 and 5 > 2 and \"x \"\"y\"\"\" <> 1e-5", "a is not null and 0.5=b or a!=-1e300"};
}

std::vector<std::string> tokens() {
  return {"a",
          "b",
          "id",
          "\"not\"",
          "\"x \"\"y\"\"\"",
          "5",
          "and",
          "or",
          " not ",
          " between ",
          " in (",
          ", ",
          ")",
          "(",
          " is ",
          " null",
          "<",
          "<=",
          ">",
          ">=",
          "=",
          "==",
          "!=",
          "<>",
          "\"",
          "1e309",
          "-0",
          ".5",
          "1e-5",
          "+",
          "-",
          "'x'",
          "&&",
          "9223372036854775807",
          "-9223372036854775808",
          "9223372036854775808",
          "9007199254740993"};
}

}  // namespace culmen::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culmen::fuzz;
  static const culmen::Index index = culmen::Index::build(table());
  culmen::Filter filter;
  try {
    filter = index.filter({reinterpret_cast<const char*>(data), size});
  } catch (const culmen::InvalidArgument& error) {
    require(std::string(error.what()).find("position") != std::string::npos ||
                std::string(error.what()).find("nested") != std::string::npos,
            "an error says where");
    return 0;
  }
  // Twice: a number such as 1.0 is written as 1, which is another literal.
  const std::string text = index.filter(filter.text()).text();
  require(text == filter.text(), "the text of a filter is read back: " + filter.text() + " as " + text);
  check_rows(index, filter);
  return 0;
}
