// Requests of the server: any bytes give an error, or questions that the index answers and rows that it stores.
#include <string>
#include <vector>

#include "coding/answer_json.h"
#include "coding/columns.h"
#include "coding/question_json.h"
#include "coding/row_table.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "tests/fuzz/fuzz_target.h"

namespace culmen::fuzz {
namespace {

Schema schema() {
  return {.attributes = {{"a"}, {.name = "b", .format = {ColumnType::integer}}},
          .has_labels = true,
          .fields = {{"text", FieldRole::filter, {ColumnType::text}},
                     {"n", FieldRole::filter, {ColumnType::integer}},
                     {"yes", FieldRole::filter, {ColumnType::boolean}},
                     {"day", FieldRole::stored, {ColumnType::date}},
                     {"at", FieldRole::filter, {ColumnType::timestamp, TimeUnit::millisecond, "UTC"}}}};
}

constexpr const char* kRow =
    R"([{"id":7,"label":"x","attributes":{"a":1.5,"b":-3},"fields":{"text":"\u00e9","n":9007199254740993,"yes":true,)"
    R"("day":"2024-02-29","at":"2024-02-29T12:30:00.250Z"}},{"id":8,"attributes":{"a":null}}])";

// What is read back after it was written is the same text.
void check_rows(std::string_view input) {
  const ReadJson json = read_json(input, 8);
  const Table table = read_rows(json, schema());
  Index index = Index::create(schema());
  index.insert(table.view());
  const IndexInfo info = index.info();
  const std::vector<ShownColumn> columns = shown_columns(info, std::nullopt, {}, "show");
  for (const std::int64_t id : table.ids) {
    const std::string text = '[' + row_text(index.get(id).value(), info, columns) + ']';
    const Table again = read_rows(read_json(text, 8), schema());
    Index other = Index::create(schema());
    other.insert(again.view());
    require('[' + row_text(other.get(id).value(), info, columns) + ']' == text,
            "a row is read back: " + text);
  }
}

void check_questions(std::string_view input) {
  static const Index index = [] {
    Index filled = Index::create(schema());
    const Table table = read_rows(read_json(kRow, 8), schema());
    filled.insert(table.view());
    return filled;
  }();
  const IndexInfo info = index.info();
  for (const Question& question : read_questions(input, index, {.max_questions = 20})) {
    const std::vector<ShownColumn> columns = shown_columns(info, question.show, {}, "show");
    const SearchResult result = index.search(question.query, {.engine = question.engine, .num_threads = 1});
    std::string text;
    write_answer_json(question.query, result, info, columns, [&](std::string_view part) { text += part; });
    require(Json::accept(text), "an answer is JSON: " + text);
  }
}

}  // namespace

std::vector<std::string> seed_inputs() {
  return {
      std::string("r") + kRow,
      R"(q{"weights":{"a":1,"b":-0.5},"k":3,"where":"n > 4 and text = 'x'","ids":[7,8],"not_ids":[9]})",
      R"(q{"queries":[{"weights":[1,0],"min_score":-1e3,"scale":"minmax"},{"weights":{"b":1},"missing":"fill","engine":"scan","show":["a","text"]}]})"};
}

std::vector<std::string> tokens() {
  return {"\"weights\":",
          "\"k\":",
          "\"where\":",
          "\"ids\":",
          "\"min_score\":",
          "\"scale\":",
          "\"missing\":",
          "\"engine\":",
          "\"show\":",
          "\"a\"",
          "\"b\"",
          "\"text\"",
          "\"n\"",
          "\"day\"",
          "\"at\"",
          "null",
          "true",
          "1e308",
          "-1e-320",
          "1e999",
          "9223372036854775807",
          "18446744073709551615",
          "-9223372036854775808",
          "{",
          "}",
          "[",
          "]",
          ",",
          ":",
          "\"\\u0000\"",
          "\"\\ud800\"",
          "\xff",
          "\"2024-01-01\"",
          "\"id\":",
          "\"label\":",
          "\"attributes\":{",
          "\"fields\":{"};
}

}  // namespace culmen::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const bool are_rows = culmen::fuzz::take_byte(input) == 'r';
  try {
    if (are_rows) {
      culmen::fuzz::check_rows(input);
    } else {
      culmen::fuzz::check_questions(input);
    }
  } catch (const culmen::InvalidArgument&) {
  } catch (const culmen::InputError&) {
  }
  return 0;
}
