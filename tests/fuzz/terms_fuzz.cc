// Terms of a score: any text gives an error, or terms that write themselves as text of the same terms, and whose scores are
// the oracle's to the bit, whatever the engine.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "tests/field_oracle.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/odd_rows.h"

namespace culmen::fuzz {
namespace {

std::string text_of(const std::vector<ScoreTerm>& terms) {
  std::string text;
  for (const ScoreTerm& term : terms) text += (text.empty() ? "" : " + ") + term.text();
  return text;
}

// Nothing: the terms are refused, because a score could overflow or a function does not fit its column.
std::optional<std::vector<Hit>> search(const Index& index, const Query& query, Engine engine) {
  try {
    return index.search(query, {.engine = engine, .num_threads = 1}).hits;
  } catch (const InvalidArgument&) {
    return std::nullopt;
  }
}

void check_scores(const Index& index, const std::vector<ScoreTerm>& terms) {
  static const test::FieldOracle oracle(schema(), rows(), {});
  Query query = {.weights = {0, 1e-3, 1, 0, 0, 0}, .k = kValues.size()};
  query.terms = terms;
  const std::optional<std::vector<Hit>> scanned = search(index, query, Engine::scan);
  for (const Engine engine : {Engine::bounded, Engine::automatic})
    require(search(index, query, engine) == scanned, "the same rows by every engine: " + text_of(terms));
  if (!scanned) return;
  require(std::ranges::equal(*scanned, oracle.search(query),
                             [](const Hit& hit, const test::Answer& answer) {
                               return hit.id == answer.id && hit.score == answer.score;
                             }),
          "the oracle's rows for " + text_of(terms));
}

}  // namespace

std::vector<std::string> seed_inputs() {
  return {"2 * near(a, 100) + log1p(n)",
          "-0.5*decay(b, 3, 2, gauss) + sqrt(f) - saturate(n, 10)",
          "[brand = 'Sony'] + 0.5 * [n > 2 and not yes = true] - 1e-3 * log(a)",
          "decay(day, '2025-06-02', 3, linear) - near(at, '2025-06-01 12:30:00Z')",
          "near(\"x \"\"y\"\"\", 1e300) + decay(\"not\", 0, 5e-324)",
          "0 * near(a, 1) + near(\"5\", 9007199254740993) + [gaps is null]"};
}

std::vector<std::string> tokens() {
  return {"a",
          "b",
          "n",
          "f",
          "day",
          "at",
          "\"like\"",
          "gaps",
          "\"not\"",
          "\"5\"",
          "brand",
          "id",
          "near(",
          "decay(",
          "log(",
          "log1p(",
          "sqrt(",
          "saturate(",
          ", ",
          ")",
          ", exp",
          ", gauss",
          ", linear",
          " + ",
          " - ",
          " * ",
          "[",
          "]",
          "'2025-06-02'",
          "'Sony'",
          "0",
          "-0",
          "1e308",
          "5e-324",
          "1e309",
          "0.5",
          "9223372036854775808",
          "9007199254740993",
          "and",
          "not ",
          "=",
          "<",
          "is null",
          "rank(a)",
          "\""};
}

}  // namespace culmen::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culmen::fuzz;
  static const culmen::Index index = index_of_rows();
  std::vector<culmen::ScoreTerm> terms;
  try {
    terms = index.terms({reinterpret_cast<const char*>(data), size});
  } catch (const culmen::InvalidArgument& error) {
    require(*error.what() != '\0', "an error says something");
    return 0;
  }
  require(index.terms(text_of(terms)) == terms, "the text of terms is read back: " + text_of(terms));
  check_scores(index, terms);
  return 0;
}
