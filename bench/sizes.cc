// How many bytes an index takes on disk, and what they are, for tables of several kinds.
//
//   sizes [--rows=N] [--only=NAME,...] [--folder=PATH] [--rounds=R]
//
// A line each: bytes a row of each file of the saved index, and all of them beside 8 bytes for each value and id. Ids are
// the numbers of the rows, "uneven" ones any 63 bits. Tables with fields have columns to filter by and to show, and a name for each row. The index is
// saved below the folder (by default the system's for temporary files) and removed.
//
// With rounds the index then changes R times, each time by ten batches and a checkpoint. They upsert 4 % of the rows as a whole
// and 3 % in one attribute alone, and erase and insert 1.5 % each; or, in courses of their own, erase 6 % and insert none, and
// the other way round; all at random. A line each shows the files then, and how many times the bytes of a fresh build of the
// same rows (compact) they have.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/flags.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "culmen/culmen.h"
#include "culmen/table_io.h"

namespace culmen::bench {
namespace {

namespace fs = std::filesystem;

struct Settings {
  std::uint64_t rows = 1'000'000;
  std::vector<std::string> only;
  std::string folder = fs::temp_directory_path().string();
  int rounds = 0;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!take_flag(argument, "--rows=", settings.rows) && !take_flag(argument, "--only=", settings.only) &&
        !take_flag(argument, "--folder=", settings.folder) &&
        !take_flag(argument, "--rounds=", settings.rounds))
      throw InvalidArgument("unknown argument " + std::string(argument) + "; see the top of bench/sizes.cc");
  }
  return settings;
}

struct Columns {
  std::vector<Attribute> attributes;
  std::vector<std::vector<double>> values;
  std::vector<std::int64_t> ids;  // empty: the numbers of the rows
  Labels names;                   // of the rows, or none
  std::vector<Field> fields;
  std::vector<std::vector<double>> numbers;  // of the fields that are no texts; NaN: missing
  std::vector<Texts> texts;                  // of the others

  TableView view() const {
    TableView view{values[0].size(), attributes, {}, ids, names.view()};
    for (const std::vector<double>& column : values) view.columns.emplace_back(column);
    view.fields = fields;
    auto number = numbers.begin();
    auto text = texts.begin();
    for (const Field& field : fields) {
      if (field.is_text()) {
        view.field_views.emplace_back((text++)->view());
      } else {
        view.field_views.emplace_back(ColumnView(*number++));
      }
    }
    return view;
  }
};

using Random = std::mt19937_64;

double uniform(Random& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

// About normal, from -1 to 1.
double bell(Random& random) {
  double sum = 0;
  for (int i = 0; i < 6; ++i) sum += uniform(random);
  return sum / 3 - 1;
}

// A number with so many digits after the point.
double rounded(double value, int digits) {
  const double power = std::pow(10, digits);
  return std::round(value * power) / power;
}

struct Column {
  std::string name;
  std::function<double(Random&, double row)> value;  // row: from 0 to 1
};

Columns made(const std::vector<Column>& columns, std::uint64_t rows) {
  Columns table;
  Random random(1);
  for (const Column& column : columns) {
    table.attributes.push_back({column.name});
    std::vector<double>& values = table.values.emplace_back();
    for (std::uint64_t row = 0; row < rows; ++row)
      values.push_back(column.value(random, static_cast<double>(row) / static_cast<double>(rows)));
  }
  return table;
}

Columns hotels(std::uint64_t rows) {
  return made({{"price", [](Random& r, double) { return rounded(40 * std::exp(2 * bell(r) + 1), 2); }},
               {"rating", [](Random& r, double) { return rounded(7.5 + 2.4 * bell(r), 1); }},
               {"stars", [](Random& r, double) { return std::round(3 + 1.9 * bell(r)); }},
               {"distance", [](Random& r, double) { return rounded(20 * uniform(r) * uniform(r), 2); }},
               {"reviews", [](Random& r, double) { return std::floor(std::exp(8 * uniform(r))); }}},
              rows);
}

Columns ratings(std::uint64_t rows) {
  std::vector<Column> columns;
  for (int i = 0; i < 8; ++i)
    columns.push_back(
        {"rating" + std::to_string(i), [](Random& r, double) { return std::round(5.5 + 4.5 * bell(r)); }});
  return made(columns, rows);
}

Columns weather(std::uint64_t rows) {
  const auto season = [](double row) { return std::sin(row * 400); };
  return made(
      {{"temperature",
        [=](Random& r, double row) { return rounded(10 + 12 * season(row) + 9 * bell(r), 1); }},
       {"humidity", [](Random& r, double) { return std::round(60 + 40 * bell(r)); }},
       {"pressure", [](Random& r, double) { return rounded(1013 + 30 * bell(r), 1); }},
       {"wind", [](Random& r, double) { return rounded(25 * uniform(r) * uniform(r), 1); }},
       {"rain",
        [](Random& r, double) { return uniform(r) < 0.8 ? 0 : rounded(30 * std::pow(uniform(r), 3), 1); }},
       {"latitude", [](Random& r, double) { return rounded(50 + 5 * bell(r), 4); }}},
      rows);
}

Columns counts(std::uint64_t rows) {
  return made(
      {{"day", [](Random&, double row) { return std::floor(20'000 + 365 * row); }},
       {"second", [](Random& r, double row) { return std::floor(1.7e9 + 3e7 * row + 60 * uniform(r)); }},
       {"clicks", [](Random& r, double) { return std::floor(std::exp(12 * uniform(r) * uniform(r))); }},
       {"views", [](Random& r, double) { return std::floor(1e6 * std::pow(uniform(r), 6)); }},
       {"age", [](Random& r, double) { return std::floor(18 + 60 * uniform(r)); }},
       {"cents", [](Random& r, double) { return std::floor(std::exp(10 * uniform(r))); }}},
      rows);
}

Columns random_floats(std::uint64_t rows) {
  std::vector<Column> columns;
  for (int i = 0; i < 8; ++i)
    columns.push_back({"a" + std::to_string(i), [](Random& r, double) {
                         return static_cast<double>(static_cast<float>(uniform(r)));
                       }});
  return made(columns, rows);
}

Columns random_doubles(std::uint64_t rows) {
  std::vector<Column> columns;
  for (int i = 0; i < 8; ++i)
    columns.push_back({"a" + std::to_string(i), [](Random& r, double) { return uniform(r); }});
  return made(columns, rows);
}

// Words of syllables, the first ones drawn much more often.
class Words {
 public:
  Words(std::size_t count, Random& random) {
    static constexpr std::array kSyllables = {"ber", "lin", "ros", "en",  "al",  "mar", "ina",  "bel",  "la",
                                              "vis", "ta",  "san", "ti",  "ago", "ver", "ona",  "bach", "hof",
                                              "ton", "vil", "por", "ham", "sol", "lu",  "stein"};
    while (words_.size() < count) {
      std::string& word = words_.emplace_back();
      for (std::uint64_t i = 2 + random() % 3; i > 0; --i) word += kSyllables[random() % kSyllables.size()];
      word[0] = static_cast<char>(word[0] - 'a' + 'A');
    }
  }
  const std::string& draw(Random& random) const {
    const double place = std::pow(uniform(random), 3) * static_cast<double>(words_.size());
    return words_[static_cast<std::size_t>(place)];
  }

 private:
  std::vector<std::string> words_;
};

// The hotels with a name for each, and fields: cities, days, flags and coordinates to filter by, addresses to show.
Columns hotels_with_fields(std::uint64_t rows) {
  Columns table = hotels(rows);
  Random random(3);
  const Words kinds(30, random), names(20'000, random), cities(500, random), streets(3'000, random);
  table.fields = {{"city", FieldRole::filter, {ColumnType::text}},
                  {"opened", FieldRole::filter, {ColumnType::date}},
                  {"wifi", FieldRole::filter, {ColumnType::boolean}},
                  {"pool", FieldRole::filter, {ColumnType::boolean}},
                  {"latitude", FieldRole::filter, {ColumnType::floating}},
                  {"address", FieldRole::stored, {ColumnType::text}}};
  table.numbers.resize(4);
  table.texts.resize(2);
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::string& city = cities.draw(random);
    table.names.append(kinds.draw(random) + " " + names.draw(random) + (random() % 2 == 0 ? " " + city : ""));
    table.texts[0].texts.append(city);
    table.numbers[0].push_back(std::floor(17'500 + 2'900 * uniform(random)));
    table.numbers[1].push_back(uniform(random) < 0.8 ? 1 : 0);
    table.numbers[2].push_back(uniform(random) < 0.2 ? 1 : 0);
    table.numbers[3].push_back(uniform(random) < 0.05 ? std::numeric_limits<double>::quiet_NaN()
                                                      : rounded(36 + 24 * uniform(random), 4));
    table.texts[1].texts.append(streets.draw(random) + " " + std::to_string(1 + random() % 200) + ", " +
                                std::to_string(10'000 + random() % 90'000) + " " + city);
  }
  return table;
}

Columns with_uneven_ids(Columns table) {
  Random random(2);
  while (table.ids.size() < table.values[0].size())
    table.ids.push_back(static_cast<std::int64_t>(random() >> 1));
  return table;
}

// Some rows of a table.
Columns picked(const Columns& from, std::span<const std::uint64_t> rows, std::vector<std::int64_t> ids) {
  Columns table;
  table.attributes = from.attributes;
  table.fields = from.fields;
  table.ids = std::move(ids);
  const auto gathered = [&](const std::vector<double>& column) {
    std::vector<double> values;
    for (const std::uint64_t row : rows) values.push_back(column[row]);
    return values;
  };
  const auto add_texts = [&](const Labels& all, Labels& texts) {
    for (const std::uint64_t row : rows) texts.append(all.view()[row]);
  };
  for (const std::vector<double>& column : from.values) table.values.push_back(gathered(column));
  for (const std::vector<double>& column : from.numbers) table.numbers.push_back(gathered(column));
  for (const Texts& texts : from.texts) add_texts(texts.texts, table.texts.emplace_back().texts);
  if (!from.names.view().empty()) add_texts(from.names, table.names);
  return table;
}

// How many rows a round changes, of a thousand.
struct Course {
  std::string name;
  std::uint64_t erased, inserted;
};

// Random changes to an index, whose ids are 0, 1, ... at first. New rows are those of a table of twice as many.
class Changes {
 public:
  Changes(const Columns& pool, std::uint64_t num_rows, Course course, Index& index)
      : pool_(pool), index_(index), num_rows_(num_rows), course_(std::move(course)) {
    for (std::uint64_t row = 0; row < num_rows; ++row) {
      ids_.push_back(static_cast<std::int64_t>(row));
      rows_.push_back(row);
    }
  }

  void run_round() {
    constexpr std::uint64_t kBatches = 10;
    for (std::uint64_t i = 0; i < kBatches; ++i) {
      const auto share = [&](std::uint64_t per_thousand) {
        return num_rows_ * per_thousand / 1000 / kBatches;
      };
      const Columns whole = upserts(share(40), false), in_part = upserts(share(30), true);
      const std::vector<std::int64_t> erased = erasures(share(course_.erased));
      const Columns inserted = inserts(share(course_.inserted));
      index_.write(
          WriteBatch().upsert(whole.view()).upsert(in_part.view()).erase(erased).insert(inserted.view()));
    }
    index_.checkpoint();
  }

 private:
  std::uint64_t new_row() { return num_rows_ + random_() % num_rows_; }

  // In part: with another value of the first attribute alone.
  Columns upserts(std::uint64_t count, bool in_part) {
    std::vector<std::uint64_t> rows;
    std::vector<std::int64_t> ids;
    for (; count > 0; --count) {
      const std::size_t at = random_() % ids_.size();
      if (!in_part) rows_[at] = new_row();
      rows.push_back(rows_[at]);
      ids.push_back(ids_[at]);
    }
    Columns table = picked(pool_, rows, std::move(ids));
    for (double& value : table.values[0])
      if (in_part) value = pool_.values[0][new_row()];
    return table;
  }

  std::vector<std::int64_t> erasures(std::uint64_t count) {
    std::vector<std::int64_t> erased;
    for (; count > 0; --count) {
      const std::size_t at = random_() % ids_.size();
      erased.push_back(ids_[at]);
      ids_[at] = ids_.back();
      rows_[at] = rows_.back();
      ids_.pop_back();
      rows_.pop_back();
    }
    return erased;
  }

  Columns inserts(std::uint64_t count) {
    std::vector<std::uint64_t> rows;
    std::vector<std::int64_t> ids;
    for (; count > 0; --count) {
      rows.push_back(new_row());
      ids.push_back(next_id_++);
    }
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    return picked(pool_, rows, std::move(ids));
  }

  const Columns& pool_;
  Index& index_;
  const std::uint64_t num_rows_;
  const Course course_;
  Random random_{4};
  std::vector<std::int64_t> ids_;    // that the index has
  std::vector<std::uint64_t> rows_;  // of the pool, of each
  std::int64_t next_id_ = static_cast<std::int64_t>(num_rows_);
};

// Of the files of one index.
struct Sizes {
  double leaves = 0, nodes = 0, ids = 0, labels = 0, fields = 0, texts = 0, rest = 0;
  double all() const { return leaves + nodes + ids + labels + fields + texts + rest; }
};

Sizes sizes_of(const fs::path& directory) {
  Sizes sizes;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("WAL-")) continue;
    const auto bytes = static_cast<double>(entry.file_size());
    double& part = name.ends_with("-leaves")   ? sizes.leaves
                   : name.ends_with("-nodes")  ? sizes.nodes
                   : name.ends_with("-ids")    ? sizes.ids
                   : name.ends_with("-labels") ? sizes.labels
                   : name.ends_with("-fields") ? sizes.fields
                   : name.ends_with("-texts")  ? sizes.texts
                                               : sizes.rest;
    part += bytes;
  }
  return sizes;
}

void print_heading() {
  std::printf("%-20s %5s %4s %8s %8s %8s %8s %8s %8s %8s %10s %10s %8s %8s\n", "table", "d", "type", "leaves",
              "nodes", "ids", "labels", "fields", "texts", "bytes/row", "of 8(d+1)", "of stored", "build ms",
              "save ms");
}

// Bytes a row.
void print_sizes(const std::string& name, const IndexInfo& info, const Sizes& sizes) {
  const auto rows = static_cast<double>(info.num_rows);
  const auto d = static_cast<double>(info.attributes.size());
  const bool is_float32 = info.value_type == ValueType::float32;
  std::printf("%-20s %5.0f %4s %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %10.3f %10.3f", name.c_str(), d,
              is_float32 ? "f32" : "f64", sizes.leaves / rows, sizes.nodes / rows, sizes.ids / rows,
              sizes.labels / rows, sizes.fields / rows, sizes.texts / rows, sizes.all() / rows,
              sizes.all() / rows / (8 * (d + 1)), sizes.all() / rows / ((is_float32 ? 4 : 8) * d + 8));
}

void change(const Index& built, const Columns& pool, const Settings& settings, const fs::path& directory) {
  for (const Course& course : {Course{"even", 15, 15}, {"shrinking", 60, 0}, {"growing", 0, 60}}) {
    built.save(directory.string(), {.overwrite = true});
    Index index = Index::open(directory, {.writable = true, .durability = Durability::os});
    Changes changes(pool, settings.rows, course, index);
    for (int round = 0; round < settings.rounds; ++round) changes.run_round();
    const Sizes changed = sizes_of(directory);
    print_sizes("  " + course.name, index.info(), changed);
    index.compact();
    std::printf("  %.3f of a fresh build\n", changed.all() / sizes_of(directory).all());
  }
}

int run(const Settings& settings) {
  struct Kind {
    std::string name;
    std::function<Columns(std::uint64_t)> make;
  };
  const std::vector<Kind> kinds = {
      {"hotels", hotels},
      {"ratings", ratings},
      {"weather", weather},
      {"counts", counts},
      {"hotels, uneven ids", [](std::uint64_t n) { return with_uneven_ids(hotels(n)); }},
      {"hotels with fields", hotels_with_fields},
      {"random float32", random_floats},
      {"random float64", random_doubles}};
  print_heading();
  for (const Kind& kind : kinds) {
    if (!settings.only.empty() && std::ranges::find(settings.only, kind.name) == settings.only.end())
      continue;
    const Columns table = kind.make(settings.rows);
    const fs::path directory = fs::path(settings.folder) / "culmen-sizes";
    fs::remove_all(directory);
    const double start = now_us();
    const Index index = Index::build(table.view());
    const double built = now_us();
    index.save(directory.string());
    const double build_ms = (built - start) / 1000, save_ms = (now_us() - built) / 1000;
    print_sizes(kind.name, index.info(), sizes_of(directory));
    std::printf(" %8.0f %8.0f\n", build_ms, save_ms);
    if (settings.rounds > 0 && table.ids.empty())
      change(index, kind.make(2 * settings.rows), settings, directory);
    fs::remove_all(directory);
  }
  return 0;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::parse(argc, argv)); });
}
