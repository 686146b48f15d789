// One random table with fields and gaps, and its indexes through a life: built, saved, opened, changed, opened again with
// its log, compacted, repaired. At each stage random queries are compared with the oracle.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "culmen/row_reader.h"
#include "index/logged_rows.h"
#include "tests/field_oracle.h"
#include "tests/field_queries.h"
#include "tests/field_tables.h"
#include "tests/harness.h"

namespace culmen::test {

// Falls in every second attribute.
struct AlternatingSum {
  double operator()(std::span<const double> attributes) const {
    double sum = 0;
    for (std::size_t i = 0; i < attributes.size(); ++i) {
      const double bounded = std::clamp(attributes[i], -1e6, 1e6);
      if (uses(static_cast<int>(i))) sum += i % 2 == 0 ? std::floor(bounded * 2) : -std::floor(bounded * 2);
    }
    return sum;
  }
  Direction direction(int attribute) const {
    return !uses(attribute) ? Direction::unused : attribute % 2 == 0 ? Direction::rising : Direction::falling;
  }
  double relative_error() const { return 0; }

  bool uses(int attribute) const { return attribute == 0 || (used >> attribute % 64 & 1) != 0; }
  std::uint64_t used = 0;
};

class FieldTrial {
 public:
  // More to compare at each stage. Empty: no fault.
  using AlsoCheck = std::function<std::string(const Index&, const FieldOracle&, Random&)>;

  // device: a GPU that builds some of the indexes.
  explicit FieldTrial(std::uint64_t seed, AlsoCheck also_check = {}, int device = kNoDevice)
      : random_(seed),
        device_(device),
        precision_(random_.pick({Precision::float32, Precision::float32, Precision::rounded_to_float32,
                                 Precision::float64, Precision::float64})),
        source_(random_, precision_, random_width(random_, 8)),
        also_check_(std::move(also_check)) {}

  // The first disagreement; empty: none.
  std::string run(bool whole_life) {
    try {
      std::string fault = build_and_check();
      if (fault.empty() && whole_life) fault = live();
      return fault.empty() ? "" : stage_ + ": " + fault;
    } catch (const std::exception& error) {
      return stage_ + ": " + error.what() + doing_;
    }
  }

  // Of what the index has of files.
  static bool has_memory_limit(const Index& index) {
    const std::shared_ptr<const Snapshot> version = version_of(index);
    return (version->logged == nullptr ? *version : *version->logged->base).has_memory_limit();
  }
  // Within a limit of memory, unless a log is beside the files.
  static bool can_be_copied(const Index& index) {
    return version_of(index)->logged == nullptr || !has_memory_limit(index);
  }

  std::uint64_t num_queries() const { return num_queries_; }
  std::uint64_t num_answers() const { return num_answers_; }
  std::uint64_t num_refused() const { return num_refused_; }

 private:
  static constexpr int kQueriesPerStage = 4;

  // What an index should hold.
  struct State {
    std::map<std::int64_t, Row> rows;
    std::vector<double> stand_ins;               // empty until there were rows
    std::vector<std::vector<double>> quantiles;  // of the rows of the build; empty: it had none
  };

  Row stored(Row row) const {
    if (precision_ == Precision::rounded_to_float32)
      for (double& value : row.values) value = static_cast<double>(static_cast<float>(value));
    return row;
  }

  std::vector<Row> stored(const std::vector<Row>& given) const {
    std::vector<Row> rows;
    for (const Row& row : given) rows.push_back(stored(row));
    return rows;
  }

  // The first rows determine the stand-ins.
  void add(State& state, const std::vector<Row>& given, bool is_float32) const {
    const std::vector<Row> rows = stored(given);
    if (state.stand_ins.empty() && !rows.empty())
      state.stand_ins = stand_ins_of_rows(source_.schema().attributes, rows, is_float32);
    for (const Row& row : rows) state.rows[row.id] = row;
  }

  BuildOptions build_options(Partitioning partitioning) {
    ValueType type = ValueType::float32;
    if (precision_ == Precision::float64) type = ValueType::float64;
    if (precision_ == Precision::float32) type = random_.pick({ValueType::automatic, ValueType::float32});
    BuildOptions options =
        random_build_options(random_, partitioning, type, source_.schema().attributes.size());
    if (random_.chance(0.5)) options.leaf_rows = 16;
    if (device_ != kNoDevice && random_.chance(0.5)) {
      options.device = device_;
      options.stays_on_device = random_.chance(0.8);
    }
    const bool can_cluster = partitioning == Partitioning::kd || partitioning == Partitioning::automatic;
    options.cluster = cluster_ = can_cluster && random_.chance(0.5) ? draw_cluster() : "";
    if (!cluster_.empty()) {
      options.num_partitions = random_.pick({0, 3, 20, 100});
      options.shells = Shells::automatic;  // clusters have none
    }
    return options;
  }

  std::string draw_cluster() {
    std::vector<std::string> names;
    for (const Attribute& attribute : source_.schema().attributes) names.push_back(attribute.name);
    for (const Field& field : source_.schema().fields)
      if (field.role == FieldRole::filter) names.push_back(field.name);
    return names[random_.below(names.size())];
  }

  std::string build_and_check() {
    stage_ = "building";
    const std::vector<Row> rows =
        source_.draw_many(random_.chance(0.01) ? 17'000 + random_.below(8'000) : random_num_rows(random_));
    const RowTable table(random_, source_.schema(), rows);
    for (const Partitioning partitioning :
         {random_.chance(0.6) ? Partitioning::kd : Partitioning::angle, Partitioning::random}) {
      stage_ = "built by " + name_of(partitioning);
      index_ = Index::build(table.view(), build_options(partitioning));
      state_ = {};
      add(state_, rows, is_float32());
      state_.quantiles = quantiles_of_rows(source_.schema().attributes.size(), stored(rows));
      if (std::string fault = check(*index_); !fault.empty()) return fault;
    }
    if (!random_.chance(0.15)) return "";
    stage_ = "created empty";
    index_ = Index::create(source_.schema(), build_options(Partitioning::automatic));
    state_ = {};
    stage_ = "filled by batches";
    for (std::size_t first = 0; first < rows.size();) {
      const std::size_t count = std::min<std::size_t>(rows.size() - first, 1 + random_.below(400));
      const std::vector<Row> part(rows.begin() + static_cast<std::ptrdiff_t>(first),
                                  rows.begin() + static_cast<std::ptrdiff_t>(first + count));
      const RowTable batch(random_, source_.schema(), part);
      index_->insert(batch.view(), write_options());
      add(state_, part, is_float32());
      first += count;
    }
    return check(*index_);
  }

  bool is_float32() const { return index_->info().value_type == ValueType::float32; }
  WriteOptions write_options() const {
    return {.round_to_float32 = precision_ == Precision::rounded_to_float32};
  }

  std::string live() {
    const std::uint64_t kind = random_.below(3);
    if (kind == 0) {  // in memory
      stage_ = "changed in memory";
      if (std::string fault = change_and_check(); !fault.empty()) return fault;
      stage_ = "saved with changes";
      const TemporaryDirectory temporary;
      index_->save(temporary.path() / "index");
      if (std::string fault = check(Index::open(temporary.path() / "index")); !fault.empty()) return fault;
      stage_ = "compacted in memory";
      index_->compact();
      if (std::string fault = check(*index_); !fault.empty()) return fault;
      stage_ = "changed after compact";
      return change_and_check();
    }
    const TemporaryDirectory temporary;
    const std::filesystem::path directory = temporary.path() / "index";
    stage_ = "saved and opened";
    index_->save(directory);
    Index reader = open_reader(directory);
    if (std::string fault = check(reader); !fault.empty()) return fault;
    index_ = open_writable(directory);
    stage_ = "changed in a directory";
    const State before = state_;
    const Index old = index_->snapshot();
    if (std::string fault = change_and_check(); !fault.empty()) return fault;
    stage_ = "a snapshot from before changes";
    State after = std::exchange(state_, before);
    if (std::string fault = check(old); !fault.empty()) return fault;
    state_ = std::move(after);
    stage_ = "a reader refreshed";
    index_->flush();
    reader.refresh();
    if (std::string fault = check(reader); !fault.empty()) return fault;
    stage_ = "opened beside its writer";
    if (std::string fault = check(open_reader(directory)); !fault.empty()) return fault;
    if (std::string fault = check_reader(RowReader::of_directory(directory), oracle_of_rows(), {});
        !fault.empty())
      return fault;
    if (random_.chance(0.3)) index_->checkpoint();
    index_->close();
    stage_ = "opened with its log";
    index_ = open_writable(directory);
    if (std::string fault = check(*index_); !fault.empty()) return fault;
    if (kind == 1) {
      stage_ = "compacted";
      const Index old_codes = index_->snapshot();
      index_->compact();
      if (std::string fault = check(*index_); !fault.empty()) return fault;
      stage_ = "a snapshot from before compact";
      if (std::string fault = check(old_codes); !fault.empty()) return fault;
      stage_ = "a reader refreshed after compact";
      reader.refresh();
      if (std::string fault = check(reader); !fault.empty()) return fault;
    }
    stage_ = "changed again";
    if (std::string fault = change_and_check(); !fault.empty()) return fault;
    index_->close();
    stage_ = "a reader refreshed again";
    reader.refresh();
    if (std::string fault = check(reader); !fault.empty()) return fault;
    stage_ = "opened again";
    if (std::string fault = check(open_reader(directory)); !fault.empty()) return fault;
    if (!random_.chance(0.2)) return "";
    stage_ = "repaired";
    const RepairReport report = Index::repair(directory, temporary.path() / "repaired");
    if (!report.dropped.empty()) return "repair dropped " + report.dropped.front();
    return check(Index::open(temporary.path() / "repaired"));
  }

  Index open_reader(const std::filesystem::path& directory) {
    OpenOptions options = {.loading = random_.chance(0.7) ? Loading::on_touch : Loading::whole};
    if (options.loading == Loading::on_touch)
      options.max_memory = random_.pick<std::uint64_t>({kUnlimitedMemory, 1, 100'000});
    return Index::open(directory, options);
  }

  Index open_writable(const std::filesystem::path& directory) {
    OpenOptions options = {.writable = true,
                           .durability = Durability::batch,
                           .loading = random_.chance(0.6) ? Loading::on_touch : Loading::whole};
    if (options.loading == Loading::on_touch)
      options.max_memory = random_.pick<std::uint64_t>({kUnlimitedMemory, 1, 100'000, 1'000'000});
    return Index::open(directory, options);
  }

  std::string change_and_check() {
    for (int batches = random_.between(1, 5); batches > 0; --batches) {
      source_.grow();
      const std::size_t most = random_.pick<std::size_t>({3, 12, 100, 100, state_.rows.size() + 2});
      change(1 + random_.below(most));
    }
    return check(*index_);
  }

  // Ids of the index, at random.
  std::vector<std::int64_t> some_ids(std::size_t count) {
    std::vector<std::int64_t> ids;
    if (state_.rows.empty()) return ids;
    const double share = static_cast<double>(count) / static_cast<double>(state_.rows.size());
    for (const auto& [id, row] : state_.rows)
      if (random_.chance(share)) ids.push_back(id);
    return ids;
  }

  std::vector<Row> new_rows(std::size_t count) {
    std::vector<Row> rows;
    while (rows.size() < count) {
      Row row = source_.draw();
      if (state_.rows.count(row.id) == 0) rows.push_back(std::move(row));
    }
    return rows;
  }

  void change(std::size_t count) {
    const std::uint64_t kind = random_.below(5);
    WriteBatch batch;
    std::vector<Row> inserted, upserted;
    std::vector<std::int64_t> erased;
    if (kind == 0 || kind >= 3) inserted = new_rows(count);
    if (kind == 1 || kind == 4) {
      for (const std::int64_t id : some_ids(count)) upserted.push_back(source_.draw(id));
      if (random_.chance(0.5))
        for (Row& row : new_rows(1 + count / 4)) {
          const auto is_there = [&row](const Row& other) { return other.id == row.id; };
          if (std::none_of(inserted.begin(), inserted.end(), is_there)) upserted.push_back(std::move(row));
        }
    }
    if (kind == 2 || kind == 4) erased = some_ids(random_.chance(0.05) ? 2 * state_.rows.size() : count);
    RowTable::Shape shape{.has_ids = true, .shuffles_columns = random_.chance(0.3)};
    if (random_.chance(0.15)) leave_out_fields(shape, inserted, upserted);
    shape.has_ids = !(kind == 0 && source_.leaves_ids() && random_.chance(0.2));
    const RowTable insert_table(random_, source_.schema(), inserted, shape);
    shape.has_ids = true;
    const RowTable upsert_table(random_, source_.schema(), upserted, shape);
    const std::optional<Filter> after_insert = some_filter(), at_last = some_filter();
    if (!inserted.empty()) batch.insert(insert_table.view());
    if (after_insert) batch.erase_where(*after_insert);
    if (!upserted.empty()) batch.upsert(upsert_table.view());
    if (!erased.empty()) batch.erase(erased);
    if (at_last) batch.erase_where(*at_last);
    doing_ = " (a batch that inserts " + std::to_string(inserted.size()) +
             (after_insert ? ", erases by \"" + after_insert->text() + '"' : "") + ", upserts " +
             std::to_string(upserted.size()) + ", erases " + std::to_string(erased.size()) +
             (at_last ? ", erases by \"" + at_last->text() + '"' : "") + ")";
    const WriteResult result = index_->write(batch, write_options());
    if (insert_table.view().ids.empty())
      for (std::size_t row = 0; row < inserted.size(); ++row)
        inserted[row].id = result.first_id + static_cast<std::int64_t>(row);
    if (state_.stand_ins.empty()) inserted.insert(inserted.end(), upserted.begin(), upserted.end());
    add(state_, inserted, is_float32());
    std::uint64_t num_erased = erase_passing(after_insert);
    add(state_, upserted, is_float32());
    for (const std::int64_t id : erased) num_erased += state_.rows.erase(id);
    num_erased += erase_passing(at_last);
    if (result.erased != num_erased)
      throw std::logic_error(std::to_string(result.erased) + " rows erased, expected " +
                             std::to_string(num_erased));
    doing_.clear();
  }

  // Of a step of a batch. None in the first one with rows, whose remaining rows determine the stand-ins.
  std::optional<Filter> some_filter() {
    if (state_.stand_ins.empty() || !random_.chance(0.3)) return std::nullopt;
    const FieldOracle oracle = oracle_of_rows();
    return FilterGenerator(random_, oracle).tree(random_.between(0, 3));
  }

  std::uint64_t erase_passing(const std::optional<Filter>& where) {
    if (!where) return 0;
    const FieldOracle oracle = oracle_of_rows();
    return std::erase_if(state_.rows, [&](const auto& row) { return oracle.passes(row.second, *where); });
  }

  // Rows of a table without a field miss it.
  void leave_out_fields(RowTable::Shape& shape, std::vector<Row>& inserted, std::vector<Row>& upserted) {
    for (std::size_t f = 0; f < source_.schema().fields.size(); ++f) {
      shape.left_out.push_back(random_.chance(0.4));
      if (!shape.left_out.back()) continue;
      for (std::vector<Row>* rows : {&inserted, &upserted})
        for (Row& row : *rows) row.fields[f] = std::monostate();
    }
  }

  FieldOracle oracle_of_rows() const {
    std::vector<Row> rows;
    for (const auto& [id, row] : state_.rows) rows.push_back(row);
    return FieldOracle(source_.schema(), std::move(rows), state_.stand_ins, state_.quantiles);
  }

  std::string check(const Index& index) {
    is_limited_ = has_memory_limit(index);
    if (index.info().cluster != cluster_) return "clustered by \"" + index.info().cluster + '"';
    if (index.info().num_rows != state_.rows.size())
      return std::to_string(index.info().num_rows) + " rows, expected " + std::to_string(state_.rows.size());
    for (std::size_t i = 0; i < state_.stand_ins.size(); ++i)
      if (const double found = index.info().attributes[i].stand_in_value; found != state_.stand_ins[i])
        return "stand-in of attribute " + std::to_string(i) + " is " + std::to_string(found) + ", expected " +
               std::to_string(state_.stand_ins[i]);
    if (std::string fault = check_quantiles(index); !fault.empty()) return fault;
    const FieldOracle oracle = oracle_of_rows();
    const std::vector<std::string> targets = simd::available_targets();
    const ForcedTarget forced(targets[random_.below(targets.size())]);
    if (std::string fault = check_rows(index); !fault.empty()) return fault;
    std::vector<Query> queries;
    std::vector<std::vector<Answer>> expected;
    for (int q = 0; q < kQueriesPerStage; ++q) {
      const Query query = random_field_query(random_, oracle, random_.chance(0.1), true);
      if (std::string fault = check_query(index, oracle, query); !fault.empty()) return fault;
      if (oracle.refuses(query)) continue;
      queries.push_back(query);
      expected.push_back(oracle.search(query));
    }
    if (std::string fault = check_batches(index, oracle, queries, expected); !fault.empty()) return fault;
    if (std::string fault = check_monotone(index, oracle); !fault.empty()) return fault;
    if (std::string fault = also_check_ ? also_check_(index, oracle, random_) : ""; !fault.empty())
      return fault;
    if (std::string fault = check_reader(RowReader(index, where_of(queries)), oracle, where_of(queries));
        !fault.empty())
      return fault;
    if (is_limited_) return "";
    const std::vector<std::string> faults = index.verify();
    return faults.empty() ? "" : "verify: " + faults.front();
  }

  std::string check_quantiles(const Index& index) {
    if (state_.quantiles.empty()) {
      try {
        static_cast<void>(index.info(Scale::rank));
      } catch (const InvalidArgument&) {
        return "";
      }
      return "quantiles of no rows";
    }
    const IndexInfo info = index.info(Scale::rank);
    for (std::size_t i = 0; i < state_.quantiles.size(); ++i)
      if (info.attributes[i].quantiles != state_.quantiles[i])
        return "the quantiles of attribute " + std::to_string(i);
    return "";
  }

  static Filter where_of(const std::vector<Query>& queries) {
    return queries.empty() ? Filter() : queries.front().where;
  }

  // Each row that passes comes once.
  std::string check_reader(RowReader reader, const FieldOracle& oracle, const Filter& where) {
    if (reader.num_rows() != state_.rows.size()) return "the number of rows to read";
    std::set<std::int64_t> seen;
    const std::size_t most = random_.pick<std::size_t>({1, 7, 100'000});
    for (std::vector<Row> part; !(part = reader.next(most)).empty();) {
      if (part.size() > most) return "too many rows at once";
      for (const Row& row : part) {
        const auto found = state_.rows.find(row.id);
        if (found == state_.rows.end() || !same_row(row, found->second) || !oracle.passes(row, where))
          return "a row that should not be read, " + std::to_string(row.id);
        if (!seen.insert(row.id).second) return "a row is read twice";
      }
    }
    for (const auto& [id, row] : state_.rows)
      if (seen.count(id) == 0 && oracle.passes(row, where))
        return "row " + std::to_string(id) + " is not read";
    return "";
  }

  static bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
  static bool same_row(const Row& a, const Row& b) {
    return a.id == b.id && a.label == b.label && a.fields == b.fields &&
           std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), same_number);
  }

  std::string check_rows(const Index& index) {
    std::vector<std::int64_t> ids = some_ids(12);
    ids.push_back(123'456'789'012'345);
    const std::vector<std::optional<Row>> found = index.get(ids);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto row = state_.rows.find(ids[i]);
      if (row == state_.rows.end() ? found[i].has_value() : !found[i] || !same_row(*found[i], row->second))
        return "get(" + std::to_string(ids[i]) + ") is another row" + difference_of_rows(found[i], row);
    }
    return "";
  }

  std::string difference_of_rows(const std::optional<Row>& found,
                                 std::map<std::int64_t, Row>::const_iterator row) const {
    if (!found || row == state_.rows.end()) return "";
    for (std::size_t i = 0; i < found->values.size(); ++i)
      if (!same_number(found->values[i], row->second.values[i]))
        return ": attribute " + std::to_string(i) + " is " + std::to_string(found->values[i]) +
               ", expected " + std::to_string(row->second.values[i]);
    for (std::size_t f = 0; f < found->fields.size() && f < row->second.fields.size(); ++f)
      if (found->fields[f] != row->second.fields[f])
        return ": field " + source_.schema().fields[f].name + " of kind " +
               std::to_string(found->fields[f].index()) + ", expected " +
               std::to_string(row->second.fields[f].index());
    return ": label or number of fields";
  }

  std::string check_query(const Index& index, const FieldOracle& oracle, const Query& query) {
    ++num_queries_;
    const bool refused = oracle.refuses(query);
    const std::vector<Answer> expected = refused ? std::vector<Answer>() : oracle.search(query);
    num_answers_ += expected.size();
    num_refused_ += refused ? 1 : 0;
    for (const Engine engine : kEngines) {
      doing_ = "\n  " + std::string(engine_name(engine)) + ": " + describe(query);
      const SearchOptions options{.engine = engine, .num_threads = random_.between(1, 2)};
      try {
        const SearchResult result = index.search(query, options);
        if (refused) return "a score could overflow, but the query was taken" + doing_;
        if (engine != Engine::automatic && result.stats.engine != engine)
          return "another engine answered" + doing_;
        if (std::string fault = difference(result.hits, expected); !fault.empty()) return fault + doing_;
        if (std::string fault = check_values(result); !fault.empty()) return fault + doing_;
      } catch (const InvalidArgument&) {
        if (!refused && !(engine == Engine::ta && is_limited_)) throw;
      }
    }
    if (!refused && random_.chance(0.1)) static_cast<void>(index.explain(query));
    if (std::string unlike = check_terms_text(index, query); !unlike.empty()) return unlike + doing_;
    std::string fault = refused ? "" : check_text(index, query, expected);
    if (!fault.empty()) return fault + doing_;
    doing_.clear();
    return "";
  }

  // Which are read as they are written, their columns by name.
  std::string check_terms_text(const Index& index, const Query& query) {
    std::string text;
    std::vector<ScoreTerm> wanted = query.terms;
    for (ScoreTerm& term : wanted) {
      if (const int* const position = std::get_if<int>(&term.column))
        term.column = source_.schema().attributes[static_cast<std::size_t>(*position)].name;
      if (term.function == TermFunction::when) {
        const std::optional<std::string> condition =
            FilterText(random_, source_.schema()).write(term.condition);
        if (!condition) return "";
        term.condition = index.filter(*condition);
        term.column = 0;
      }
      // What the function does not have is not written.
      if (term.function > TermFunction::decay_gauss) term.origin = 0.0;
      if (term.function == TermFunction::near ||
          (term.function > TermFunction::decay_gauss && term.function != TermFunction::saturate))
        term.scale = 1;
      text += (text.empty() ? "" : " + ") + term.text();
    }
    doing_ = "\n  terms " + text;
    return index.terms(text) == wanted ? "" : "the terms are read as others";
  }

  // What an answer says of its rows.
  std::string check_values(const SearchResult& result) {
    const Schema& schema = source_.schema();
    for (std::size_t rank = 0; rank < result.hits.size() && rank < 3; ++rank) {
      const Row& row = state_.rows.at(result.hits[rank].id);
      if (!same_row(result.row(rank), row)) return "row() of rank " + std::to_string(rank);
      for (std::size_t i = 0; i < schema.attributes.size(); ++i)
        if (!same_number(result.attribute(rank, schema.attributes[i].name), row.values[i]))
          return "attribute()";
      for (std::size_t f = 0; f < schema.fields.size(); ++f)
        if (result.field(rank, schema.fields[f].name) != row.fields[f]) return "field()";
    }
    return "";
  }

  std::string check_text(const Index& index, Query query, const std::vector<Answer>& expected) {
    const std::optional<std::string> text = FilterText(random_, source_.schema()).write(query.where);
    if (!text) return "";
    doing_ = "\n  written " + *text;
    query.where = index.filter(*text);
    if (std::string fault = difference(index.search(query).hits, expected); !fault.empty()) return fault;
    const std::string own = query.where.text();
    doing_ = "\n  written by text() " + own;
    if (index.filter(own) != query.where) return "text() is read as " + index.filter(own).text();
    return difference(index.search(query).hits, expected);
  }

  std::string check_batches(const Index& index, const FieldOracle& oracle, const std::vector<Query>& queries,
                            const std::vector<std::vector<Answer>>& expected) {
    if (queries.empty()) return "";
    const Engine engine = random_.pick({Engine::automatic, Engine::bounded, Engine::scan, Engine::gta,
                                        is_limited_ ? Engine::automatic : Engine::ta});
    const SearchOptions options{.engine = engine, .num_threads = random_.between(1, 2)};
    doing_ = "\n  batch by " + std::string(engine_name(engine));
    const std::vector<SearchResult> results = index.search(queries, options);
    for (std::size_t q = 0; q < queries.size(); ++q)
      if (std::string fault = difference(results[q].hits, expected[q]); !fault.empty())
        return fault + doing_ + ": " + describe(queries[q]);
    QueryBatch batch{.weights = {},
                     .where = queries[0].where,
                     .min_score = queries[0].min_score,
                     .scale = queries[0].scale,
                     .missing = queries[0].missing,
                     .terms = queries[0].terms};
    batch.k = queries[0].k.value_or(7);
    std::vector<double> weights;
    std::vector<std::vector<Answer>> wanted;
    for (int q = 0; q < 3; ++q) {
      Query one = queries[0];
      one.k = batch.k;
      if (q > 0) one.weights = random_weights(random_, oracle.num_attributes());
      if (oracle.refuses(one)) continue;
      weights.insert(weights.end(), one.weights.begin(), one.weights.end());
      wanted.push_back(oracle.search(one));
    }
    batch.weights = weights;
    const BatchAnswers answers = index.search_batch(batch, options);
    for (std::size_t q = 0; q < wanted.size(); ++q) {
      std::vector<Hit> hits;
      for (std::uint32_t rank = 0; rank < answers.counts[q]; ++rank)
        hits.push_back({answers.ids[q * answers.k + rank], answers.scores[q * answers.k + rank]});
      if (std::string fault = difference(hits, wanted[q]); !fault.empty())
        return "search_batch: " + fault + doing_ + ", row " + std::to_string(q) + " of weights like " +
               describe(queries[0]);
    }
    doing_.clear();
    return "";
  }

  // Rows that miss any attribute have no score.
  std::string check_monotone(const Index& index, const FieldOracle& oracle) {
    if (!random_.chance(0.3)) return "";
    const AlternatingSum function{random_.next()};
    const Filter where = random_.chance(0.7) ? FilterGenerator(random_, oracle).tree() : Filter();
    const std::size_t k = random_.pick<std::size_t>({1, 5, 50});
    std::vector<Answer> expected;
    for (const Row& row : oracle.rows()) {
      bool has_score = true;
      for (std::size_t i = 0; i < row.values.size(); ++i)
        has_score = has_score && (!function.uses(static_cast<int>(i)) || !std::isnan(row.values[i]));
      if (has_score && oracle.passes(row, where)) expected.push_back({row.id, function(row.values) + 0.0});
    }
    expected = FieldOracle::best(std::move(expected), k);
    for (const Engine engine : {Engine::automatic, Engine::scan, Engine::bounded}) {
      doing_ = "\n  monotone by " + std::string(engine_name(engine)) + ", k " + std::to_string(k) +
               ", where " + where.text();
      const SearchResult result = index.search_monotone(function, k, where, {.engine = engine});
      if (std::string fault = difference(result.hits, expected); !fault.empty()) return fault + doing_;
    }
    doing_.clear();
    return "";
  }

  Random random_;
  int device_;
  Precision precision_;
  RowSource source_;
  AlsoCheck also_check_;
  std::string cluster_;  // as built
  std::optional<Index> index_;
  State state_;
  bool is_limited_ = false;  // the index that is checked keeps some of what it reads
  std::string stage_, doing_;
  std::uint64_t num_queries_ = 0, num_answers_ = 0, num_refused_ = 0;
};

}  // namespace culmen::test
