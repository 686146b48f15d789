// Filters: any text gives an error, or a tree that writes itself as text of the same tree, and whose rows are those
// that the oracle picks, whatever the engine.
#include "culmen/error.h"
#include "culmen/index.h"
#include "tests/field_oracle.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/odd_rows.h"

namespace culmen::fuzz {
namespace {

using test::FieldOracle;

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
  static const culmen::Index index = index_of_rows();
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
