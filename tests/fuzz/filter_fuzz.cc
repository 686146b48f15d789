// Filters: any text gives an error, or a tree that writes itself as text of the same tree, and whose rows are those
// that the oracle picks, whatever the engine.
#include "culmen/error.h"
#include "culmen/index.h"
#include "tests/field_oracle.h"
#include "tests/field_tables.h"
#include "tests/fuzz/fuzz_target.h"

namespace culmen::fuzz {
namespace {

using test::FieldOracle;

constexpr std::int64_t kTwoTo53 = std::int64_t{1} << 53;
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
const std::vector<double> kValues = {0, -0.0, 0.5, 1, 2, 2.5, -1e300, 1e300, 0x1p53, 5e-324, 3, 200};
const std::vector<std::int64_t> kIds = {0,         1,         2, 3, 200, -1, kTwoTo53, kTwoTo53 + 1,
                                        INT64_MIN, INT64_MAX, 5, 4};
const std::vector<std::string> kTexts = {"",  "a", "ab",       "abc", "Sony's", "Sony",
                                         "%", "a", "\xc3\xa9", "b",   "z",      "ab"};

Schema schema() {
  return {.attributes = {{"a"}, {"b", Preference::low}, {"not"}, {"5"}, {"x \"y\""}, {"gaps"}},
          .fields = {{"brand", FieldRole::filter, {ColumnType::text}},
                     {"n", FieldRole::filter, {ColumnType::integer}},
                     {"f", FieldRole::filter, {ColumnType::floating}},
                     {"yes", FieldRole::filter, {ColumnType::boolean}},
                     {"day", FieldRole::filter, {ColumnType::date}},
                     {"at", FieldRole::filter, {ColumnType::timestamp, TimeUnit::millisecond, "UTC"}},
                     {"like", FieldRole::filter, {ColumnType::timestamp, TimeUnit::second}},
                     {"shown", FieldRole::stored, {ColumnType::text}}}};
}

std::vector<Row> rows() {
  std::vector<Row> rows;
  const std::size_t n = kValues.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double value = kValues[i], reversed = kValues[n - 1 - i];
    const auto number = static_cast<std::int64_t>(i);
    const auto unless = [i](std::size_t missing, FieldValue given) {
      return i % 5 == missing ? FieldValue() : std::move(given);
    };
    rows.push_back({kIds[i],
                    {value, reversed, value, reversed, value, i % 3 == 0 ? kMissing : value},
                    "",
                    {unless(0, kTexts[i]), unless(1, kIds[i]), unless(2, value), unless(3, number % 2),
                     unless(4, 20'240 + number / 3), unless(1, 1'748'736'000'000 + 1500 * number),
                     unless(2, (number - 6) * 100'000'000), kTexts[i]}});
  }
  return rows;
}

void check_rows(const Index& index, const Filter& filter) {
  static const FieldOracle oracle(schema(), rows(), {});
  const Query query = {.weights = {1e-5, 0, 1, 0, 0, 0}, .k = kValues.size(), .where = filter};
  const std::vector<test::Answer> expected = oracle.search(query);
  for (const Engine engine : {Engine::scan, Engine::bounded, Engine::ta}) {
    const std::vector<Hit> hits = index.search(query, {.engine = engine, .num_threads = 1}).hits;
    require(
        std::ranges::equal(hits, expected, [](const Hit& a, const test::Answer& b) { return a.id == b.id; }),
        "the oracle's rows of " + filter.text());
  }
}

}  // namespace

std::vector<std::string> seed_inputs() {
  return {"a<=200 and b>=4",
          "not a in (1, 2.5) or id = 9007199254740993",
          "(a between 1 and 3 or not (b is null)) and id not in (5)",
          "5 >= a and not < 3 and 5 > 2 and \"x \"\"y\"\"\" <> 1e-5",
          "a is not null and 0.5=b or a!=-1e300",
          "brand = 'Sony''s' or brand like 'a%' and brand in ('ab', 'nobody')",
          "day between '2025-06-01' and '2025-06-03' and yes = true or gaps is null",
          "at >= '2025-06-01 00:00:04.5Z' and not \"like\" < '1970-01-01T00:00' and n > 4 or f <= 2.5"};
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
          "'ab'",
          "'a%'",
          " like ",
          "brand",
          "\"like\"",
          "day",
          "at",
          "yes",
          "true",
          "false",
          "gaps",
          "n",
          "shown",
          "'2025-06-02'",
          "'2025-06-01 00:00:03'",
          "+02:00'",
          "''",
          "&&",
          "9223372036854775807",
          "-9223372036854775808",
          "9223372036854775808",
          "9007199254740993"};
}

}  // namespace culmen::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culmen::fuzz;
  static const culmen::Index index = [] {
    culmen::test::Random random(1);
    const std::vector<culmen::Row> all = rows();
    return culmen::Index::build(culmen::test::RowTable(random, schema(), all).view());
  }();
  culmen::Filter filter;
  try {
    filter = index.filter({reinterpret_cast<const char*>(data), size});
  } catch (const culmen::InvalidArgument& error) {
    require(std::string(error.what()).find("position") != std::string::npos ||
                std::string(error.what()).find("nested") != std::string::npos,
            "an error says where");
    return 0;
  }
  require(index.filter(filter.text()) == filter, "the text of a filter is read back: " + filter.text());
  check_rows(index, filter);
  return 0;
}
