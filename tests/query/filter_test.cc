// Index::filter and culmen::col: the expressions of --where, and the trees that they stand for.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "culmen/error.h"
#include "culmen/index.h"
#include "tests/cases.h"

namespace culmen::test {
namespace {

const Column kPrice = col("price");
const Column kStars = col("stars");

Index hotels() {
  static const std::vector<double> values = {1, 2, 3};
  return Index::build({.num_rows = 3,
                       .attributes = {{"price", Preference::low},
                                      {"stars"},
                                      {"distance to beach"},
                                      {"v1.5"},
                                      {"android"},
                                      {"\"say \"\"\""},
                                      {"not"},
                                      {"2020"},
                                      {"1st"}},
                       .columns = std::vector<ColumnView>(9, ColumnView(values)),
                       .ids = {},
                       .labels = {}});
}

struct Parsed {
  std::string text;
  Filter filter;
};

void expect_parsed(const std::vector<Parsed>& all) {
  const Index index = hotels();
  for (const Parsed& parsed : all)
    EXPECT_EQ(index.filter(parsed.text), parsed.filter)
        << parsed.text << "\nis " << index.filter(parsed.text).text();
}

TEST(Filter, ReadsComparisonsJoinedByAnd) {
  expect_parsed({{"", {}},  // no condition: every row passes
                 {"  ", {}},
                 {"price<=200", kPrice <= 200},
                 {"price <= 200 and stars >= 4", kPrice <= 200 && kStars >= 4},
                 {"price<=200 AND stars>=4", kPrice <= 200 && kStars >= 4},
                 {"price<=200and stars>=4", kPrice <= 200 && kStars >= 4},
                 {"price < 200", kPrice < 200},
                 {"price>200", kPrice > 200},
                 {"stars=4", kStars == 4},
                 {"stars==4", kStars == 4},
                 {"  stars  =  -4.5e-3  ", kStars == -4.5e-3},
                 {"stars>=+3", kStars >= 3},
                 {"v1.5>=0", col("v1.5") >= 0},
                 {"\"distance to beach\"<=0.5", col("distance to beach") <= 0.5},
                 {"\"\"\"say \"\"\"\"\"\"\"=2 and stars=1", col("\"say \"\"\"") == 2 && kStars == 1},
                 {"stars>=3 and stars<=4 and stars>=2", kStars >= 3 && kStars <= 4 && kStars >= 2},
                 {"android>0", col("android") > 0},
                 {"stars<0.1", kStars < 0.1}});
}

TEST(Filter, ReadsTheLanguageOfSql) {
  expect_parsed({{"stars != 4", kStars != 4},
                 {"stars <> 4", kStars != 4},
                 {"stars in (1, 2.5,-3)", kStars.in({1, 2.5, -3})},
                 {"stars not in(1)", !kStars.in({1})},
                 {"stars between 2 and 3 and price<5", kStars.between(2, 3) && kPrice < 5},
                 {"stars not between 2 and 3", !kStars.between(2, 3)},
                 {"stars is null", kStars.is_null()},
                 {"stars IS NOT NULL", kStars.is_not_null()},
                 {"not stars=1", !(kStars == 1)},
                 {"NOT NOT stars=1", !!(kStars == 1)},
                 {"stars=1 or stars=2 and price<3", kStars == 1 || (kStars == 2 && kPrice < 3)},
                 {"(stars=1 or stars=2) and price<3", (kStars == 1 || kStars == 2) && kPrice < 3},
                 {"not (stars=1 Or(stars=2))", !(kStars == 1 || kStars == 2)},
                 {"not stars=1 and price<3", !(kStars == 1) && kPrice < 3},
                 {"((stars=1))", kStars == 1},
                 {"200 >= price", kPrice <= 200},
                 {"-1<price", kPrice > -1},
                 {".5<>price", kPrice != 0.5},
                 {"1e-5 = price and 3>stars", kPrice == 1e-5 && kStars < 3},
                 {"id = 9007199254740993", id_col() == std::int64_t{9007199254740993}},
                 {"id in (1, 2) or \"id\" > 5", id_col().in({1, 2}) || id_col() > 5},
                 {"id < 9223372036854775808", id_col() < LargeInteger{std::uint64_t{1} << 63}},
                 {"18446744073709551615 = id", id_col() == LargeInteger{~std::uint64_t{0}}},
                 {"id = 18446744073709551616", id_col() == 0x1p64},
                 {"stars = 1.0", kStars == 1.0}});
}

TEST(Filter, ComparesWithIntegersThatInt64DoesNotHold) {
  const std::vector<double> values = {0, 0x1p63 - 1024, 0x1p63, 0x1p63 + 2048, 0x1p64 - 2048, 0x1p64};
  const std::vector<std::int64_t> integers = {-1, 0, 1, std::numeric_limits<std::int64_t>::max(), 3, 4};
  Index index = Index::build({.num_rows = 6,
                              .attributes = {{"a"}},
                              .columns = {ColumnView(values)},
                              .ids = {},
                              .labels = {},
                              .fields = {{"f", FieldRole::filter, {.type = ColumnType::integer}}},
                              .field_views = {ColumnView(integers)}});
  const auto count = [&](const Filter& filter) {
    const std::size_t found = index.search({.weights = {1}, .where = filter}).hits.size();
    EXPECT_EQ(index.search({.weights = {1}, .where = index.filter(filter.text())}).hits.size(), found);
    return found;
  };
  for (const std::uint64_t more : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1024},
                                   std::uint64_t{2048}, (std::uint64_t{1} << 63) - 1}) {
    const LargeInteger limit{(std::uint64_t{1} << 63) + more};
    std::size_t below = 0, equal = 0;
    for (const double value : values) {
      below += static_cast<long double>(value) < static_cast<long double>(limit.value) ? 1 : 0;
      equal += static_cast<long double>(value) == static_cast<long double>(limit.value) ? 1 : 0;
    }
    EXPECT_EQ(count(col("a") < limit), below) << limit.value;
    EXPECT_EQ(count(col("a") <= limit), below + equal) << limit.value;
    EXPECT_EQ(count(col("a") == limit), equal) << limit.value;
    EXPECT_EQ(count(col("a") > limit), 6 - below - equal) << limit.value;
    EXPECT_EQ(count(col("f") < limit && id_col() < limit), 6U) << limit.value;
    EXPECT_EQ(count(col("f") >= limit || id_col() == limit), 0U) << limit.value;
  }
  EXPECT_EQ(count(col("f") <= LargeInteger{3}), 4U);  // as an int64
}

TEST(Filter, LetsAttributesBeCalledAnything) {
  expect_parsed({{"not < 3", col("not") < 3},
                 {"not not < 3", !(col("not") < 3)},
                 {"\"not\" between 1 and 2", col("not").between(1, 2)},
                 {"2020 >= 5", col("2020") >= 5},
                 {"2021 >= stars", kStars <= 2021},
                 {"1st>3", col("1st") > 3}});
  const std::vector<double> values = {5, 6};
  const Index index = Index::build(
      {.num_rows = 2, .attributes = {{"id"}}, .columns = {ColumnView(values)}, .ids = {}, .labels = {}});
  // An attribute's name comes before the row's id.
  EXPECT_EQ(index.search({.weights = {1}, .where = index.filter("id >= 6")}).hits.size(), 1U);
  EXPECT_EQ(index.search({.weights = {1}, .where = id_col() >= 1}).hits.size(), 1U);
  EXPECT_TRUE(index.search({.weights = {1}, .where = id_col() >= 2}).hits.empty());
}

TEST(Filter, RefusesWhatItCannotRead) {
  const Index index = hotels();
  for (const std::string text : {"price",
                                 "price<=",
                                 "<=200",
                                 "price<=200 and",
                                 "and price<=200",
                                 "price<=200 stars>=4",
                                 "price<=200,stars>=4",
                                 "price=<200",
                                 "price!200",
                                 "price<=abc",
                                 "price<=nan",
                                 "price<=inf",
                                 "price<=1e999",
                                 "\"price<=200",
                                 "price<=200 or",
                                 "price<=200 and and stars>=4",
                                 "price<=1x",
                                 "price<=- 1",
                                 "price<=+-1",
                                 "1<=2",
                                 "1<price<3",
                                 "price<=stars",
                                 "(price<=1",
                                 "price<=1)",
                                 "()",
                                 "not",
                                 "price in ()",
                                 "price in 1",
                                 "price in (1",
                                 "price in (1,)",
                                 "price between 1",
                                 "price between 1 or 2",
                                 "price not 1",
                                 "price is 1",
                                 "price is not 1",
                                 "price = null",
                                 "price = 'x'",
                                 "price<=1 && stars=2",
                                 "price<=1 xor stars=2"})
    EXPECT_THROW(static_cast<void>(index.filter(text)), InvalidArgument) << "taken: " << text;
}

struct Fault {
  std::string text;
  std::vector<std::string> said;
};

void expect_fault(const Index& index, const Fault& fault) {
  try {
    static_cast<void>(index.filter(fault.text));
    ADD_FAILURE() << "taken: " << fault.text;
  } catch (const InvalidArgument& error) {
    for (const std::string& word : fault.said)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << fault.text << ": " << error.what() << "\nlacks " << word;
  }
}

TEST(Filter, SaysWhereTheFaultIsAndWhatIsKnown) {
  const Index index = hotels();
  for (const Fault& fault : std::vector<Fault>{
           {"stars>=4 and prize<=200",
            {"no attribute \"prize\" (did you mean \"price\"?)", "price, stars", "position 14", "id is"}},
           {"city = 'Brno'",
            {"no attribute \"city\"; known: price, stars", "id is", "(columns=, --columns)"}},
           {"stars>=4 or (price<=200 price", {"position 25", "`and`, `or` or `)`"}},
           {"stars>=4 price", {"position 10", "`and`, `or` or the end"}},
           {"stars ~ 4", {"position 7", "between, in, like or is null"}},
           {"stars = 4 && price = 2", {"position 11", "write `and`"}},
           {"stars = 4 || price = 2", {"position 11", "write `or`"}},
           {"! stars = 4", {"position 1", "write `not`"}},
           {"stars = 'four'", {"position 9", "\"stars\" holds numbers: compare it with a number"}},
           {"'four' = stars", {"position 1", "\"stars\" holds numbers: compare it with a number"}},
           {"stars in (1, true)", {"position 14", "\"stars\" holds numbers"}},
           {"stars like 'f%'", {"position 7", "\"stars\" holds numbers, and only texts have prefixes"}},
           {"stars = null", {"position 9", "write `is null`"}},
           {"stars = price", {"position 9", "not with another column"}},
           {"stars = \"four\"", {"position 9", "texts are in single quotes; double quotes are for"}},
           {"stars < 4 and \"price < 3", {"position 15", "the quote is not closed"}},
           {"stars = four", {"position 9", "expected a finite number"}},
           {"stars between 1, 2", {"position 16", "`between 1 and 5`"}},
           {"stars in 1", {"position 10", "expected `(`"}},
           {"stars in (1; 2)", {"position 12", "expected `)`"}},
           {"stars is 4", {"position 10", "expected `null`"}},
           {"stars not 4", {"position 11", "expected `between`, `in` or `like`"}}}) {
    expect_fault(index, fault);
  }
}

// Columns of every type.
Index shop() {
  static const std::vector<double> prices = {5, 6};
  static const std::vector<std::int64_t> days = {20'000, 20'001}, flags = {0, 1};
  static const Labels brands = {{'S', 'o', 'n', 'y', 'a', '\'', '%'}, {0, 4, 7}};
  TableView table;
  table.num_rows = 2;
  table.attributes = {{"price"}};
  table.columns = {ColumnView(prices)};
  const ColumnFormat zoned = {ColumnType::timestamp, TimeUnit::millisecond, "UTC"};
  table.fields = {{"brand", FieldRole::filter, {ColumnType::text}},
                  {"day", FieldRole::filter, {ColumnType::date}},
                  {"sold", FieldRole::filter, {ColumnType::timestamp, TimeUnit::second, ""}},
                  {"seen", FieldRole::filter, zoned},
                  {"new", FieldRole::filter, {ColumnType::boolean}},
                  {"like", FieldRole::filter, {ColumnType::integer}},
                  {"true", FieldRole::filter, {ColumnType::boolean}},
                  {"note", FieldRole::stored, {ColumnType::text}}};
  table.field_views = {
      TextView{brands.view(), {}}, ColumnView(days),  ColumnView(days),  ColumnView(days),
      ColumnView(flags),           ColumnView(flags), ColumnView(flags), TextView{brands.view(), {}}};
  table.id_name = "sku";
  table.label_name = "title";
  return Index::build(table);
}

TEST(Filter, ReadsTextsAndTimes) {
  const Index index = shop();
  const Column brand = col("brand");
  const std::int64_t yes = 1, no = 0;
  for (const Parsed& parsed : std::vector<Parsed>{
           {"brand = 'Sony'", brand == "Sony"},
           {"'Sony' = brand", brand == "Sony"},
           {"'Sony'<brand", brand > "Sony"},
           {"brand != 'it''s'", brand != "it's"},
           {"brand in ('a','', 'b c')", brand.in({"a", "", "b c"})},
           {"brand between 'a' and 'b'", brand.between("a", "b")},
           {"brand like 'So%'", brand.starts_with("So")},
           {"brand not like 'So%' and price < 3", !brand.starts_with("So") && col("price") < 3},
           {"brand LIKE '%'", brand.starts_with("")},
           {"brand like 'Sony'", brand == "Sony"},
           {"brand like '100!%!!%' escape '!'", brand.starts_with("100%!")},
           {"brand like 'a\\%' escape '\\'", brand == "a%"},
           {"day >= '2025-06-01'", col("day") >= "2025-06-01"},
           {"day between '2025-06-01' and '2025-06-01 12:00'",
            col("day").between("2025-06-01", "2025-06-01 12:00")},
           {"sold < '2025-06-01 12:30:00.25'", col("sold") < "2025-06-01 12:30:00.25"},
           {"seen < '2025-06-01T12:30:00+02:00'", col("seen") < "2025-06-01T12:30:00+02:00"},
           {"new = true", col("new") == yes},
           {"FALSE = new", col("new") == no},
           {"new in (true, false)", col("new").in({yes, no})},
           {"new = 1 or 0.0 = new", col("new") == yes || col("new") == 0.0},
           {"\"like\" = 1", col("like") == 1},
           {"\"true\" = true", col("true") == yes},
           {"sku = 5 or id = 6", id_col() == 5 || id_col() == 6}})
    EXPECT_EQ(index.filter(parsed.text), parsed.filter)
        << parsed.text << "\nis " << index.filter(parsed.text).text();
}

TEST(Filter, WritesTextsThatItReads) {
  const Index index = shop();
  const Column brand = col("brand");
  for (const std::string text : {"", "'", "''", "So", "%", "a_b", "100%\\", "\\", "\"", "\n\xff", "--"}) {
    for (const Filter& filter : {brand == text, brand.starts_with(text), !brand.in({text, "x"}),
                                 brand.between(text, "z") && col("like") == 1, col("true") != 1,
                                 col("day") > "2025-06-01" || !col("sold").in({"2025-06-01 12:30:00.5"}),
                                 col("seen") != "2025-06-01T12:30+02:00"})
      EXPECT_EQ(index.filter(filter.text()), filter) << filter.text();
  }
  EXPECT_EQ((brand.starts_with("a%") && brand != "it's").text(),
            "brand like 'a\\%%' escape '\\' and brand != 'it''s'");
}

TEST(Filter, SaysWhatAColumnIsComparedWith) {
  const Index index = shop();
  for (const Fault& fault : std::vector<Fault>{
           {"brand = 5", {"position 9", "\"brand\" holds texts: compare it with a text in single quotes"}},
           {"5 = brand", {"position 1", "\"brand\" holds texts"}},
           {"brand = Sony", {"position 9", "in single quotes: 'Sony'"}},
           {"brand = \"Sony\"", {"position 9", "double quotes are for the names of columns"}},
           {"brand = null", {"position 9", "write `is null`"}},
           {"brand = 'Sony", {"position 9", "the quote is not closed"}},
           {"brand = true", {"position 9", "\"brand\" holds texts"}},
           {"brand like '%ny'", {"position 12", "one % at their end", "escape"}},
           {"brand like 'S_ny%'", {"position 12", "one % at their end"}},
           {"brand like 'a%' escape 'ab'", {"position 24", "one character"}},
           {"brand like 'a!' escape '!'", {"position 12", "behind the last escape"}},
           {"brand like 5", {"position 12", "expected a pattern in single quotes"}},
           {"price like '5%'", {"position 7", "\"price\" holds numbers"}},
           {"price = '5'", {"position 9", "\"price\" holds numbers: compare it with a number"}},
           {"day = 'Monday'",
            {"position 7",
             "\"day\" holds dates, and \"Monday\" is none: compare it with a date in single quotes, such as "
             "'2025-06-01'"}},
           {"day = '5881581-01-01'",
            {"position 7",
             "\"day\": years of more than four digits have a sign, as in '+12345-01-01', which "
             "\"5881581-01-01\" lacks"}},
           {"sold = '2025-06-01 25:00'",
            {"position 8", "\"2025-06-01 25:00\" is none: compare it with a timestamp"}},
           {"day = '2024-02-30'", {"position 7", "there is no day '2024-02-30'"}},
           {"seen > '2023-13-01 12:00Z'", {"position 8", "there is no day '2023-13-01'"}},
           {"day = 2025-06-01", {"position 7", "in single quotes, such as '2025-06-01'"}},
           {"day > 20240101", {"position 7", "in single quotes, such as '2025-06-01'"}},
           {"20000.5 > day", {"position 1", "\"day\" holds dates"}},
           {"day in ('2025-06-01', 0)", {"position 23", "\"day\" holds dates"}},
           {"day = true", {"position 7", "\"day\" holds dates"}},
           {"sold between 0 and '2025-06-01'",
            {"position 14", "in single quotes, such as '2025-06-01 12:30:00'"}},
           {"seen != 1748736000000", {"position 9", "in single quotes, such as '2025-06-01 12:30:00Z'"}},
           {"new = 2", {"position 7", "\"new\" holds true and false: compare it with true or false"}},
           {"new > 0.5", {"position 7", "compare it with true or false"}},
           {"day = Monday", {"position 7", "'Monday'"}},
           {"sold = '2025-06-01 12:00Z'",
            {"position 8", "\"sold\" has no time zone, and \"2025-06-01 12:00Z\" has one"}},
           {"new = 'yes'", {"position 7", "\"new\" holds true and false: compare it with true or false"}},
           {"note = 'x'", {"position 1", "\"note\" is a stored column"}},
           {"title = 'x'", {"position 1", "\"title\" holds the labels"}},
           {"brnd = 'x'",
            {"position 1", "no column \"brnd\" (did you mean \"brand\"?)", "price, brand, day"}}}) {
    expect_fault(index, fault);
  }
}

TEST(Filter, ComparesWithTimesExactly) {
  const Index index = shop();  // days and seconds 20,000 and 20,001; milliseconds, too
  const auto num_found = [&](const std::string& where) {
    return index.search({.weights = {1}, .where = index.filter(where)}).hits.size();
  };
  EXPECT_EQ(num_found("day = '2024-10-04'"), 1U);
  EXPECT_EQ(num_found("day > '2024-10-04 00:00:00.000000001'"), 1U);
  EXPECT_EQ(num_found("day = '2024-10-04 00:00:00.000000001'"), 0U);
  EXPECT_EQ(num_found("day != '2024-10-04 00:00:00.000000001'"), 2U);
  EXPECT_EQ(num_found("sold = '1970-01-01 05:33:20'"), 1U);
  EXPECT_EQ(num_found("sold >= '1970-01-01 05:33:20.5'"), 1U);
  EXPECT_EQ(num_found("sold <= '1970-01-01 05:33:20.5'"), 1U);
  EXPECT_EQ(num_found("sold < '1970-01-02'"), 2U);
  EXPECT_EQ(num_found("seen = '1970-01-01 01:00:20+01:00'"), 1U);
  EXPECT_EQ(num_found("seen = '1970-01-01 00:00:20.0005Z'"), 0U);
  EXPECT_EQ(num_found("seen between '1970-01-01 00:00:20Z' and '1970-01-01 00:00:20.0015Z'"), 2U);
}

TEST(Filter, ShowsLittleOfALongText) {
  const Index index = hotels();
  std::string text = "stars=1";
  for (int i = 0; i < 10'000; ++i) text += " or stars=1";
  for (const std::string& wrong : {text + "\1 nor \n" + text, text + " nor", "nor " + text}) {
    try {
      static_cast<void>(index.filter(wrong));
      ADD_FAILURE();
    } catch (const InvalidArgument& error) {
      const std::string said = error.what();
      EXPECT_LT(said.size(), 1000U);
      EXPECT_NE(said.find("nor"), std::string::npos) << said;
      EXPECT_NE(said.find("..."), std::string::npos) << said;
      EXPECT_EQ(said.find('\1'), std::string::npos) << said;
    }
  }
}

TEST(Filter, LimitsItsNesting) {
  const Index index = hotels();
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '(') + "stars=1" + std::string(depth, ')');
  };
  EXPECT_EQ(index.filter(nested(90)), kStars == 1);
  EXPECT_THROW(static_cast<void>(index.filter(nested(1'000'000))), InvalidArgument);
  const auto negated = [](std::size_t depth) {
    std::string text = "stars=1";
    for (std::size_t i = 0; i < depth; ++i) text = "not (" + text + ")";
    return text;
  };
  EXPECT_NO_THROW(static_cast<void>(index.filter(negated(Filter::kMaxDepth - 1))));
  EXPECT_THROW(static_cast<void>(index.filter(negated(Filter::kMaxDepth))), InvalidArgument);
  Filter deepest = kStars == 1;
  for (int i = 1; i < Filter::kMaxDepth; ++i) deepest = i % 2 == 0 ? deepest || kPrice == 1 : !deepest;
  EXPECT_EQ(index.filter(deepest.text()), deepest);
  std::string nots;
  for (int i = 0; i < 100'000; ++i) nots += "not ";
  EXPECT_THROW(static_cast<void>(index.filter(nots + "stars=1")), InvalidArgument);
  Filter deep = kStars == 1;
  EXPECT_THROW(for (int i = 0; i < 1'000; ++i) deep = !(deep || kPrice == 1), InvalidArgument);
  // A chain is no nesting.
  constexpr int kLong = kSanitized ? 10'000 : 100'000;
  std::string chain = "stars=1";
  for (int i = 0; i < kLong; ++i) chain += " or stars=" + std::to_string(i % 70'000);
  EXPECT_EQ(index.filter(chain).num_conditions(), kLong + 1U);
  EXPECT_EQ(index.search({.weights = std::vector<double>(9, 1), .where = index.filter(chain)}).hits.size(),
            3U);
}

// Integers stay integers, and other numbers others, to the last bit.
TEST(Filter, WritesNumbersThatItReads) {
  const Index index = hotels();
  for (const Literal& number :
       std::vector<Literal>{0.0, -0.0, 1.0, -1.0, 0.1, 1e5, -123456.0, 1e15, 0x1p53, 0x1p63, 1e22, 1e300,
                            5e-324, std::int64_t{0}, std::numeric_limits<std::int64_t>::max(),
                            std::numeric_limits<std::int64_t>::min()})
    for (const Filter& filter : {kPrice == number, kStars.in({number, 2}), id_col().between(number, number)})
      EXPECT_EQ(index.filter(filter.text()), filter) << filter.text();
  EXPECT_EQ((kPrice <= 200.0).text(), "price <= 200.0");
}

TEST(Filter, WritesTextThatItReads) {
  const Index index = hotels();
  for (const Filter& filter :
       {kPrice <= 200 && !kStars.in({1, 2}), (kStars == 1 || kStars == 2) && kPrice < 2.5,
        kStars == 1 || (kStars != 2 && kPrice >= -1e300), !(kStars == 1 && kPrice > 3), !!(kPrice < 3),
        col("not") == 1 && col("\"say \"\"\"") == 2 && col("2020") > 1 && col("distance to beach") < 2,
        id_col().between(-5, 7) && kStars.is_not_null() && kStars.is_null(), Filter()}) {
    EXPECT_EQ(index.filter(filter.text()), filter) << filter.text();
  }
  EXPECT_EQ((!Filter()).text(), "not id is not null");
  EXPECT_EQ((kPrice <= 200 && !(kStars.in({4, 5.5}) || id_col() == 1)).text(),
            "price <= 200 and not (stars in (4, 5.5) or id = 1)");
}

TEST(Filter, IsBuiltByFunctions) {
  EXPECT_EQ(200 >= kPrice, kPrice <= 200);
  EXPECT_EQ(200 == kPrice, kPrice == 200);
  EXPECT_FALSE((kPrice <= 200) == (kPrice <= 200.0));  // not the same literal
  EXPECT_EQ((kPrice < 1 && kStars < 2) && kPrice < 3, kPrice < 1 && (kStars < 2 && kPrice < 3));
  EXPECT_EQ(Filter::all_of({kPrice < 1, Filter(), kStars < 2}), kPrice < 1 && kStars < 2);
  EXPECT_EQ(Filter::any_of({kPrice < 1, kStars < 2}), kPrice < 1 || kStars < 2);
  EXPECT_EQ(Filter::all_of({}), Filter());
  EXPECT_EQ(Filter::any_of({}), !Filter());
  EXPECT_EQ(Filter() && kPrice < 1, kPrice < 1);
  EXPECT_EQ(Filter() || kPrice < 1, Filter());
  EXPECT_EQ(Filter({{.attribute = "price", .maximum = 2}, {.attribute = "stars", .minimum = 3}}),
            kPrice <= 2.0 && kStars >= 3.0);
  EXPECT_THROW(Filter(Condition{kPrice, Comparison::between, {1}}), InvalidArgument);
  EXPECT_THROW(Filter(Condition{kPrice, Comparison::is_null, {1}}), InvalidArgument);
  EXPECT_THROW(static_cast<void>(Filter().condition()), InvalidArgument);
}

}  // namespace
}  // namespace culmen::test
