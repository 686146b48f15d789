#include "query/planner.h"

#include <gtest/gtest.h>

#include "culmen/error.h"
#include "tests/generators.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

TEST(Explain, NamesTheEngineThatSearchThenUses) {
  Random random(1);
  const Table table = random_table(random, ValueClass::uniform_f32, 1000, 3);
  const Index index = Index::build(table.view());
  for (const std::size_t k : {1, 100, 999})
    for (const Engine engine : kEngines) {
      const Query query{.weights = {1, 1, 1}, .k = k};
      const Explanation explanation = index.explain(query, {.engine = engine});
      EXPECT_EQ(explanation.engine, index.search(query, {.engine = engine}).stats.engine);
      EXPECT_NE(explanation.engine, Engine::automatic);
      if (engine != Engine::automatic) {
        EXPECT_EQ(explanation.engine, engine);
      }
      EXPECT_NE(explanation.text.find(engine_name(explanation.engine)), std::string::npos)
          << explanation.text;
      EXPECT_NE(explanation.text.find(explanation.reason), std::string::npos);
    }
}

TEST(Explain, ShowsTheBoundByAttributeNames) {
  const std::vector<float> a = {0, 1}, b = {0, 1}, c = {0, 1};
  const Index index =
      Index::build({.num_rows = 2,
                    .attributes = {{"price", Preference::low}, {"rating"}, {"stars"}},
                    .columns = {ColumnView(a.data()), ColumnView(b.data()), ColumnView(c.data())},
                    .ids = {},
                    .labels = {}});
  const std::string text = index.explain({.weights = {1, 2, 1}, .k = 1}, {.engine = Engine::bounded}).text;
  for (const std::string part : {"max{rating}", "max{rating + stars}", "min{price}"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Planner, ScansWhenMostOfTheTableIsAskedFor) {
  Random random(2);
  const Table table = random_table(random, ValueClass::uniform_f32, 1000, 3);
  const Index index = Index::build(table.view());
  EXPECT_EQ(index.search({.weights = {1, 1, 1}, .k = 10}).stats.engine, Engine::bounded);
  EXPECT_EQ(index.search({.weights = {1, 1, 1}, .k = 1000}).stats.engine, Engine::scan);
}

TEST(EngineNames, AreReadAndWritten) {
  for (const Engine engine : kEngines) EXPECT_EQ(parse_engine(engine_name(engine)), engine);
  EXPECT_EQ(engine_name(Engine::automatic), "auto");
  try {
    static_cast<void>(parse_engine("quick"));
    FAIL();
  } catch (const InvalidArgument& error) {
    for (const std::string word : {"quick", "auto", "scan", "ta", "gta", "bounded"})
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace culmen::test
