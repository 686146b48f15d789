// Batches of several threads, which are committed in groups, against a map to which they are applied in the order of their
// versions.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <latch>
#include <map>
#include <new>
#include <optional>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"

namespace culmen::test {

inline const std::vector<Attribute> kGroupAttributes = {{"a"}, {"b"}};

// A batch of one kind of step: its ids, or none of rows to which the index assigns them.
struct GroupBatch {
  enum class Kind : std::uint8_t { insert, insert_unnamed, upsert, erase };
  Kind kind = Kind::insert;
  std::vector<std::int64_t> ids;
  std::vector<float> values;  // [num_attributes][num_rows]
  std::size_t num_rows = 0;

  // Ids among a few, so that batches of a group have some in common.
  static GroupBatch draw(std::mt19937_64& random) {
    GroupBatch batch;
    batch.kind = static_cast<Kind>(random() % 4);
    batch.num_rows = 1 + random() % 6;
    const std::uint64_t first = random() % 60;
    if (batch.kind != Kind::insert_unnamed)
      for (std::uint64_t r = 0; r < batch.num_rows; ++r)
        batch.ids.push_back(static_cast<std::int64_t>(first + 3 * r));
    for (std::size_t v = 0; v < kGroupAttributes.size() * batch.num_rows; ++v)
      batch.values.push_back(static_cast<float>(random() % 1024) / 1024);
    return batch;
  }

  float value(std::size_t row, std::size_t attribute) const { return values[attribute * num_rows + row]; }

  WriteResult write_to(Index& index) const {
    TableView rows{num_rows, kGroupAttributes, {}, {}, {}};
    for (std::size_t i = 0; i < kGroupAttributes.size(); ++i)
      rows.columns.emplace_back(std::span(values).subspan(i * num_rows, num_rows));
    rows.ids = ids;
    WriteBatch batch;
    if (kind == Kind::erase) {
      batch.erase(ids);
    } else if (kind == Kind::upsert) {
      batch.upsert(rows);
    } else {
      batch.insert(rows);
    }
    return index.write(batch);
  }
};

struct WrittenBatch {
  GroupBatch batch;
  WriteResult result;
};

// The batches of one thread that were not refused, by the index or for want of memory.
inline std::vector<WrittenBatch> write_batches(Index index, std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::vector<WrittenBatch> written(count);  // nothing is allocated once a batch is written
  std::size_t num_written = 0;
  for (std::size_t b = 0; b < count; ++b) {
    try {
      written[num_written].batch = GroupBatch::draw(random);
      written[num_written].result = written[num_written].batch.write_to(index);
      ++num_written;
    } catch (const InputError&) {
      EXPECT_EQ(written[num_written].batch.kind, GroupBatch::Kind::insert);
    } catch (const std::bad_alloc&) {
    }
  }
  written.erase(written.begin() + static_cast<std::ptrdiff_t>(num_written), written.end());
  return written;
}

// begin() is called once all threads are about to write, end() when they have.
template <typename Begin, typename End>
std::vector<WrittenBatch> write_from_threads(const Index& index, std::uint64_t seed, std::size_t num_threads,
                                             std::size_t batches_each, const Begin& begin, const End& end) {
  std::vector<std::vector<WrittenBatch>> of_threads(num_threads);
  std::vector<std::thread> threads;
  std::latch is_begun(1);
  for (std::size_t t = 0; t < num_threads; ++t)
    threads.emplace_back([&, t, of_thread = index]() mutable {
      is_begun.wait();
      of_threads[t] = write_batches(of_thread, seed * num_threads + t, batches_each);
    });
  begin();
  is_begun.count_down();
  for (std::thread& thread : threads) thread.join();
  end();
  std::vector<WrittenBatch> all;
  for (const std::vector<WrittenBatch>& one : of_threads) all.insert(all.end(), one.begin(), one.end());
  return all;
}

inline std::vector<WrittenBatch> write_from_threads(const Index& index, std::uint64_t seed,
                                                    std::size_t num_threads, std::size_t batches_each) {
  return write_from_threads(
      index, seed, num_threads, batches_each, [] {}, [] {});
}

inline void save_empty(const std::filesystem::path& path) {
  TableView rows{0, kGroupAttributes, {}, {}, {}};
  for (std::size_t i = 0; i < kGroupAttributes.size(); ++i)
    rows.columns.emplace_back(std::span<const float>());
  Index::build(rows, {.leaf_rows = 16, .value_type = ValueType::float32}).save(path);
}

class GroupModel {
 public:
  using Written = WrittenBatch;

  void apply(std::vector<Written> all) {
    std::erase_if(all, [](const Written& one) {
      return one.result.inserted + one.result.replaced + one.result.erased == 0;
    });
    std::ranges::sort(all, {}, [](const Written& one) { return one.result.version; });
    for (const Written& one : all) {
      EXPECT_EQ(one.result.version, ++version_);
      apply(one);
    }
  }

  void expect_same(const Index& index) const {
    EXPECT_TRUE(index.verify().empty());
    EXPECT_EQ(index.version(), version_);
    EXPECT_EQ(index.info().num_rows, rows_.size());
    for (const auto& [id, values] : rows_) {
      const std::optional<Row> row = index.get(id);
      ASSERT_TRUE(row) << "id " << id;
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(row->values[i], static_cast<double>(values[i])) << "id " << id;
    }
  }

 private:
  void apply(const Written& written) {
    const GroupBatch& batch = written.batch;
    WriteResult expected;
    if (batch.kind == GroupBatch::Kind::insert_unnamed) {
      EXPECT_EQ(written.result.first_id, next_id_) << "version " << written.result.version;
    }
    for (std::size_t r = 0; r < batch.num_rows; ++r) {
      const std::int64_t id = batch.ids.empty() ? next_id_ : batch.ids[r];
      if (batch.kind == GroupBatch::Kind::erase) {
        expected.erased += rows_.erase(id);
        continue;
      }
      EXPECT_TRUE(batch.kind == GroupBatch::Kind::upsert || !rows_.contains(id)) << "id " << id;
      ++(rows_.contains(id) ? expected.replaced : expected.inserted);
      std::vector<float>& values = rows_[id];
      values.clear();
      for (std::size_t i = 0; i < kGroupAttributes.size(); ++i) values.push_back(batch.value(r, i));
      next_id_ = std::max(next_id_, id + 1);
    }
    EXPECT_EQ(written.result.inserted, expected.inserted) << "version " << written.result.version;
    EXPECT_EQ(written.result.replaced, expected.replaced) << "version " << written.result.version;
    EXPECT_EQ(written.result.erased, expected.erased) << "version " << written.result.version;
  }

  std::map<std::int64_t, std::vector<float>> rows_;
  std::int64_t next_id_ = 0;
  std::uint64_t version_ = 1;
};

}  // namespace culmen::test
