// Every engine on changed trees, against the oracle: every class of values, the current tree, older versions that are
// still referenced, and the tree loaded from its files. Also with concurrent readers.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <thread>

#include "cpu/bounded.h"
#include "cpu/gta.h"
#include "cpu/monotone.h"
#include "cpu/scan.h"
#include "cpu/threshold_algorithm.h"
#include "culmen/error.h"
#include "culmen/scoring.h"
#include "index/build/load_steps.h"
#include "index/published.h"
#include "index/storage/store.h"
#include "query/resolve.h"
#include "tests/cases.h"
#include "tests/harness.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/index/write/tree_model.h"
#include "tests/row_columns.h"

namespace culmen::test {
namespace {

constexpr std::uint64_t kQueries = 4;
constexpr int kBatches = 8;
constexpr std::uint64_t kQueriesOfATrial = 40;  // about

struct UserRow {
  ModelRow values;  // as given by the user
  std::string label;
};
using UserRows = std::map<std::int64_t, UserRow>;

class TableOf : public RowColumns {
 public:
  TableOf(const UserRows& rows, const std::vector<Attribute>& attributes, bool labels)
      : RowColumns(attributes, labels) {
    for (const auto& [id, row] : rows) add(id, row.values, row.label);
  }
};

// The largest attribute of all: rises in each.
struct Largest {
  double operator()(std::span<const double> attributes) const {
    return *std::max_element(attributes.begin(), attributes.end());
  }
  Direction direction(int) const { return Direction::rising; }
  double relative_error() const { return 0; }
};

std::vector<Answer> largest_first(const Oracle& oracle, std::size_t k) {
  std::vector<Answer> answers;
  for (std::size_t row = 0; row < oracle.num_rows(); ++row) {
    double score = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < oracle.num_attributes(); ++i)
      score = std::max(score, oracle.value(row, i) + 0.0);
    answers.push_back({oracle.id(row), score});
  }
  std::sort(answers.begin(), answers.end(), [](const Answer& a, const Answer& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  });
  if (answers.size() > k) answers.resize(k);
  return answers;
}

class Trial {
 public:
  Trial(std::uint64_t seed, ValueClass value_class) : random_(seed) {
    const int d = random_.chance(0.05) ? random_.between(21, 64) : random_width(random_, 12);
    const std::size_t num_rows = 100 + random_.below(d > kMaxGroupedAttributes ? 100 : 800);
    const Table table = random_table(random_, value_class, num_rows, d);
    attributes_ = table.attributes;
    labels_ = !table.labels.offsets.empty();
    for (std::size_t row = 0; row < num_rows; ++row) {
      UserRow user_row;
      for (const ColumnView& column : table.columns) {
        user_row.values.push_back(value_at(column, row));
        float32_ &= static_cast<double>(static_cast<float>(user_row.values.back())) == user_row.values.back();
      }
      pool_.push_back(user_row);
      ids_.push_back(table.ids.empty() ? static_cast<std::int64_t>(row) : table.ids[row]);
    }
    const std::size_t first =
        random_.chance(0.1) ? random_.below(3) : num_rows / 2 + random_.below(num_rows / 2);
    for (std::size_t row = 0; row < first; ++row) rows_[ids_[row]] = {pool_[row].values, random_label()};
  }

  std::string run() {
    const ValueType type = float32_ ? ValueType::float32 : ValueType::float64;
    BuildOptions options = random_build_options(
        random_, random_.pick({Partitioning::kd, Partitioning::angle, Partitioning::random}), type,
        attributes_.size());
    if (random_.chance(0.5)) options.leaf_rows = 16;
    TreeWriter writer(bulk_load(TableOf(rows_, attributes_, labels_).view(), options));
    std::deque<std::pair<std::shared_ptr<const Snapshot>, UserRows>> kept;
    for (int b = 0; b < kBatches; ++b) {
      writer.apply(random_change());
      if (random_.chance(0.3)) continue;
      const auto version = writer.finish_version(static_cast<std::uint64_t>(b) + 2);
      const std::string wrong = check(*version, rows_);
      if (!wrong.empty()) return std::string("batch ").append(std::to_string(b)).append(": ").append(wrong);
      kept.push_back({version, rows_});
    }
    for (const auto& [version, rows] : kept) {
      const std::string wrong = check(*version, rows);
      if (!wrong.empty()) return std::string("an older version: ").append(wrong);
    }
    const auto last = writer.finish_version(kBatches + 2);
    storage::MemoryFileSystem system;
    storage::save(*last, system, "index", false);
    const std::string wrong = check(*storage::load(system, "index"), rows_);
    return wrong.empty() ? wrong : std::string("from its file: ").append(wrong);
  }

 private:
  std::string random_label() {
    const std::size_t length = random_.pick<std::size_t>({0, 0, 1, 5, 20, 300});
    return labels_ ? std::string(length, static_cast<char>('a' + random_.below(26))) : std::string();
  }

  // Erases, replaces and inserts some rows; also folded into one step.
  Change random_change() {
    std::map<std::int64_t, bool> removed;
    std::map<std::int64_t, UserRow> added;
    const std::uint64_t steps = random_.pick<std::uint64_t>({1, 1, 5, 30, 30, 100, 400});
    const double erases = random_.pick({0.05, 0.3, 0.9});
    for (std::uint64_t step = 0; step < steps; ++step) {
      const std::int64_t id = ids_[random_.below(ids_.size())];
      if (rows_.count(id) > 0) removed[id] = true;
      if (random_.chance(erases)) {
        added.erase(id);
      } else {
        added[id] = {pool_[random_.below(pool_.size())].values, random_label()};
      }
    }
    Change change;
    for (const auto& [id, unused] : removed) {
      change.removed.push_back(id);
      rows_.erase(id);
    }
    for (const auto& [id, row] : added) {
      change.ids.push_back(id);
      change.next_id = std::max(change.next_id, id_after(id));
      change.label_text.insert(change.label_text.end(), row.label.begin(), row.label.end());
      if (labels_) change.label_ends.push_back(change.label_text.size());
    }
    for (std::size_t i = 0; i < attributes_.size(); ++i)
      for (const auto& [id, row] : added)
        put(change.values, oriented(row.values[i], attributes_[i].preference));
    rows_.merge(added);
    return change;
  }

  void put(std::vector<std::byte>& out, double value) const {
    const auto single = static_cast<float>(value);
    const std::size_t size = float32_ ? sizeof single : sizeof value;
    out.resize(out.size() + size);
    std::memcpy(out.data() + out.size() - size, float32_ ? static_cast<const void*>(&single) : &value, size);
  }

  std::string check(const Snapshot& s, const UserRows& rows) {
    const std::vector<std::string> faults = verify_snapshot(s, true);
    if (!faults.empty()) return faults.front();
    if (s.num_rows != rows.size()) return "the number of rows";
    for (const std::uint32_t leaf : s.order().leaves)
      for (std::uint32_t r = 0; labels_ && r < s.leaf(leaf).num_rows; ++r)
        if (s.arena->label(leaf, r) != rows.at(s.leaf_ids(leaf)[r]).label) return "a label";
    const TableOf table(rows, attributes_, labels_);
    const Oracle oracle(table.view(), false);
    for (std::uint64_t q = 0; q < kQueries; ++q) {
      const std::string wrong = check_query(s, oracle, random_filtered_query(random_, oracle));
      if (!wrong.empty()) return wrong;
    }
    return rows.empty() ? "" : check_monotone(s, oracle);
  }

  std::string check_query(const Snapshot& s, const Oracle& oracle, const Query& query) {
    if (oracle.refuses(query)) {
      try {
        resolve(query, s);
      } catch (const InvalidArgument&) {
        return "";
      }
      return "a score could overflow, but the query was taken";
    }
    const ResolvedQuery resolved = resolve(query, s);
    const std::vector<Answer> expected = oracle.search(query);
    if (oracle.num_rows() == 0) return "";
    SearchStats stats;
    const std::pair<const char*, std::vector<Hit>> found[] = {
        {"scan", cpu::search_scan(s, resolved, stats)},
        {"gta", cpu::search_gta(s, resolved, stats)},
        {"ta", cpu::search_ta(s, cpu::make_sorted_lists(s), resolved, stats)},
        {"bounded", cpu::search_bounded(s, resolved, stats)}};
    for (const auto& [engine, hits] : found) {
      const std::string wrong = difference(hits, expected);
      if (!wrong.empty())
        return std::string(engine).append(": ").append(wrong).append("\n  ").append(describe(query));
    }
    return "";
  }

  std::string check_monotone(const Snapshot& s, const Oracle& oracle) {
    ResolvedQuery query;
    query.k = 1 + random_.below(20);
    query.k = std::min<std::size_t>(query.k, oracle.num_rows());
    SearchStats stats;
    const Largest largest;
    return difference(cpu::search_monotone(s, largest, query, stats), largest_first(oracle, query.k));
  }

  Random random_;
  std::vector<Attribute> attributes_;
  bool labels_ = false;
  bool float32_ = true;
  std::vector<UserRow> pool_;
  std::vector<std::int64_t> ids_;  // of the pool's rows
  UserRows rows_;
};

class EnginesBesideTheTree : public testing::TestWithParam<ValueClass> {};

TEST_P(EnginesBesideTheTree, ReturnTheOraclesRowsAndScoreBits) {
  const auto value_class = static_cast<std::uint64_t>(GetParam());
  const std::uint64_t num_trials = num_cases(5000) / (kQueriesOfATrial * kNumValueClasses) + 1;
  for (std::uint64_t t = 0; t < num_trials; ++t) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : (value_class + 1) * 1'000'000 + t;
    ASSERT_EQ(Trial(seed, GetParam()).run(), "")
        << rerun_command(seed, "beside_test", "*/" + std::string(value_class_name(GetParam())));
    if (only_seed() != 0) return;
  }
}

INSTANTIATE_TEST_SUITE_P(AllValueClasses, EnginesBesideTheTree, testing::ValuesIn(all_value_classes()),
                         [](const auto& suite) { return std::string(value_class_name(suite.param)); });

// ---- Readers in other threads

using Rows = std::map<std::int64_t, ModelRow>;

std::vector<Answer> best_of(const Rows& rows, std::span<const double> weights, std::size_t k) {
  std::vector<Answer> answers;
  for (const auto& [id, row] : rows) {
    double score = 0;
    for (std::size_t i = 0; i < row.size(); ++i) score = std::fma(weights[i], row[i], score);
    answers.push_back({id, score});
  }
  std::sort(answers.begin(), answers.end(), [](const Answer& a, const Answer& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  });
  answers.resize(std::min(k, answers.size()));
  return answers;
}

TEST(Readers, SeeTheRowsOfTheirVersionWhileTheWriterGoesOn) {
  const std::uint64_t num_batches = num_cases(kSanitized ? 30'000 : 4000) / 10;
  std::mt19937_64 random(77);
  const auto row = [&random] {
    ModelRow values;
    for (int i = 0; i < 3; ++i) values.push_back(static_cast<double>(random() % 1000) / 1024);
    return values;
  };
  auto rows = std::make_shared<Rows>();
  std::int64_t next_id = 0;
  while (next_id < 600) (*rows)[next_id++] = row();
  const auto first = load_tree(*rows, {.num_partitions = 3});
  Published published(first);
  std::mutex mutex;
  std::map<std::uint64_t, std::shared_ptr<const Rows>> rows_of = {{first->version, rows}};
  std::atomic<bool> done = false;
  std::atomic<int> num_searches = 0, num_faults = 0;
  const auto read = [&](std::uint64_t seed) {
    Random mine(seed);
    std::uint64_t last_version = 0;
    while (!done) {
      const std::shared_ptr<const Snapshot> version = published.get();
      if (version->version < last_version) ++num_faults;
      last_version = version->version;
      std::shared_ptr<const Rows> wanted;
      {
        const std::lock_guard lock(mutex);
        wanted = rows_of.at(version->version);
      }
      const Query query{.weights = {mine.uniform(-1, 1), mine.unit(), mine.unit()}, .k = 1 + mine.below(20)};
      SearchStats stats;
      const std::vector<Hit> found = cpu::search_bounded(*version, resolve(query, *version), stats);
      if (!difference(found, best_of(*wanted, query.weights, *query.k)).empty()) ++num_faults;
      ++num_searches;
    }
  };
  std::vector<std::thread> readers;
  for (std::uint64_t t = 0; t < 8; ++t) readers.emplace_back(read, t + 1);
  TreeWriter writer(first);
  for (std::uint64_t b = 0; b < num_batches; ++b) {
    auto next = std::make_shared<Rows>(*rows);
    ChangeMaker batch(*rows);
    for (int step = 0; step < 20; ++step) {
      for (int i = 0; i < 2; ++i)  // of the latest, so that a long run does not grow
        batch.erase(next_id - 1 - static_cast<std::int64_t>(random() % 1000));
      batch.upsert(random() % 2 == 0 ? next_id++ : static_cast<std::int64_t>(random() % 600), row());
    }
    batch.apply_to(*next);
    writer.apply(batch.make(3, false));
    const auto version = writer.finish_version(writer.current().version);
    rows = next;
    {
      const std::lock_guard lock(mutex);
      rows_of[version->version] = next;
      if (rows_of.size() > 1000) rows_of.erase(rows_of.begin());  // no reader is so far behind
    }
    published.set(version);
    if (b % 8 == 0) std::this_thread::yield();
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(num_faults, 0);
  EXPECT_GT(num_searches, 0);
  RecordProperty("searches", num_searches);
  EXPECT_EQ(fault_in(*published.get(), *rows), "");
}

}  // namespace
}  // namespace culmen::test
