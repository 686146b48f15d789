// The bulk load on a GPU against the CPU's: the same files to the byte, and the same errors.
#include "gpu/build/device_load.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "gpu/cuda/allocation_fault.h"
#include "gpu/cuda/buffer.h"
#include "gpu/mirror/mirror.h"
#include "index/build/bulk_load.h"
#include "index/storage/store.h"
#include "tests/cases.h"
#include "tests/field_tables.h"
#include "tests/generators.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/gpu/group/group_devices.h"
#include "tests/gpu/mirror/download.h"
#include "tests/harness.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/refusals.h"

namespace culmen::test {
namespace {

constexpr std::uint64_t kDefaultCases = 600;

using Files = std::map<std::string, storage::Bytes>;

Files files_of(const Snapshot& snapshot) {
  storage::MemoryFileSystem files;
  storage::save(snapshot, files, "index", false);
  return files.files("index");
}

// The files of an index, or the error.
struct Outcome {
  Files files;
  std::string refusal;
  int num_parts = 0;  // that were sorted
};

template <typename Load>
Outcome outcome_of(const TableView& table, BuildOptions options, const Load& load) {
  Outcome outcome;
  options.on_progress = [&outcome](std::string_view phase, double) {
    if (phase == "sorting") ++outcome.num_parts;
  };
  try {
    outcome.files = files_of(*load(table, options));
  } catch (const InputError& error) {
    outcome.refusal = error.what();
  } catch (const InvalidArgument& error) {
    outcome.refusal = error.what();
  }
  return outcome;
}

Outcome of_cpu(const TableView& table, const BuildOptions& options) {
  return outcome_of(table, options, [](const TableView& rows, const BuildOptions& wanted) {
    return bulk_load(rows, wanted);
  });
}

Outcome of_gpu(const TableView& table, BuildOptions options, const LoadLimits& limits = {}) {
  options.device = 0;
  return outcome_of(table, options, [&](const TableView& rows, const BuildOptions& wanted) {
    return load_on_device(rows, wanted, limits).snapshot;
  });
}

// On so many logical devices.
Outcome of_gpus(std::size_t count, const TableView& table, BuildOptions options,
                const LoadLimits& limits = {}) {
  options.devices = devices_of(count);
  return outcome_of(table, options, [&](const TableView& rows, const BuildOptions& wanted) {
    return load_on_device(rows, wanted, limits).snapshot;
  });
}

// Empty if they are the same.
std::string difference(const Outcome& a, const Outcome& b) {
  if (a.refusal != b.refusal) return "\"" + a.refusal + "\" and \"" + b.refusal + "\"";
  for (const auto& [name, bytes] : a.files) {
    const auto other = b.files.find(name);
    if (other == b.files.end()) return name + " is missing";
    if (other->second.size() != bytes.size()) return name + " has another size";
    const auto at = std::mismatch(bytes.begin(), bytes.end(), other->second.begin()).first - bytes.begin();
    if (static_cast<std::size_t>(at) < bytes.size()) return name + " differs at byte " + std::to_string(at);
  }
  return a.files.size() == b.files.size() ? "" : "a file more";
}

BuildOptions random_options(Random& random, int num_attributes) {
  BuildOptions options;
  options.leaf_rows = random.pick({0, 16, 16, 32, 48, 96, 128, 272, 4096});
  options.partitioning = random.pick({Partitioning::kd, Partitioning::angle, Partitioning::random});
  if (random.chance(0.6)) options.num_partitions = 1 + static_cast<int>(random.below(40));
  if (options.partitioning == Partitioning::angle && num_attributes <= 6 && random.chance(0.2))
    options.num_splits = random.between(1, 3);
  options.value_type =
      random.pick({ValueType::automatic, ValueType::automatic, ValueType::float32, ValueType::float64});
  return options;
}

int random_num_attributes(Random& random) {
  return random.chance(0.03) ? random.between(17, 80) : random.between(1, 16);
}

struct Case {
  Table table;
  BuildOptions options;
};

Case random_case(std::uint64_t seed) {
  Random random(seed);
  const int num_attributes = random_num_attributes(random);
  const auto value_class = static_cast<ValueClass>(seed % kNumValueClasses);
  Table table = random_table(random, value_class, random_num_rows(random), num_attributes);
  return {std::move(table), random_options(random, num_attributes)};
}

TEST(DeviceLoad, WritesTheFilesOfTheCpu) {
  SKIP_WITHOUT_GPU();
  for (std::uint64_t seed = 1; seed <= num_cases(kDefaultCases); ++seed) {
    if (only_seed() != 0 && seed != only_seed()) continue;
    const Case c = random_case(seed);
    const TableView table = c.table.view();
    ASSERT_EQ(difference(of_cpu(table, c.options), of_gpu(table, c.options)), "")
        << rerun_command(seed, "device_load_test", "DeviceLoad.WritesTheFilesOfTheCpu");
  }
  EXPECT_EQ(cuda::num_allocations(), 0);
}

// Missing values are NaN, or marked by a bitmap; statistics of the device find the former.
TEST(DeviceLoad, TakesFieldsAndGaps) {
  SKIP_WITHOUT_GPU();
  for (std::uint64_t seed = 1; seed <= num_cases(kDefaultCases) / 3 + 1; ++seed) {
    if (only_seed() != 0 && seed != only_seed()) continue;
    Random random(seed + 2'000'000);
    const bool is_float32 = random.chance(0.5);
    RowSource source(random, is_float32 ? Precision::float32 : Precision::float64);
    const std::vector<Row> rows = source.draw_many(1 + random.below(3000));
    const Schema& schema = source.schema();
    const bool has_fields = random.chance(0.5);
    const RowTable table(random, schema, rows,
                         {.left_out = std::vector<bool>(schema.fields.size(), !has_fields)});
    BuildOptions options = random_options(random, static_cast<int>(schema.attributes.size()));
    if (!is_float32 && options.value_type == ValueType::float32) options.value_type = ValueType::automatic;
    LoadLimits limits;
    if (random.chance(0.5)) limits.chunk_rows = 1 + static_cast<std::uint32_t>(random.below(1000));
    ASSERT_EQ(difference(of_cpu(table.view(), options), of_gpu(table.view(), options, limits)), "")
        << rerun_command(seed, "device_load_test", "DeviceLoad.TakesFieldsAndGaps");
  }
}

// Memory for a few hundred rows at a time, or for less than one partition, so that the CPU loads the table.
TEST(DeviceLoad, TakesTablesThatAreLargerThanTheDevice) {
  SKIP_WITHOUT_GPU();
  int num_in_parts = 0, num_at_once = 0, most_parts = 0;
  for (std::uint64_t seed = 1; seed <= num_cases(kDefaultCases); ++seed) {
    if (only_seed() != 0 && seed != only_seed()) continue;
    const Case c = random_case(seed);
    Random random(seed + 1'000'000);
    LoadLimits limits;
    limits.chunk_rows = 1 + static_cast<std::uint32_t>(random.below(random.pick({10, 100, 1000})));
    limits.device_bytes = 2000 + random.below(random.pick<std::uint64_t>({20'000, 200'000, 2'000'000}));
    const TableView table = c.table.view();
    const Outcome outcome = of_gpu(table, c.options, limits);
    ASSERT_EQ(difference(of_cpu(table, c.options), outcome), "")
        << rerun_command(seed, "device_load_test", "DeviceLoad.TakesTablesThatAreLargerThanTheDevice");
    num_in_parts += outcome.num_parts > 1 ? 1 : 0;
    num_at_once += outcome.num_parts == 1 ? 1 : 0;
    most_parts = std::max(most_parts, outcome.num_parts);
  }
  if (!ran_all_cases(kDefaultCases)) return;
  EXPECT_GT(num_in_parts, 20);
  EXPECT_GT(num_at_once, 20);
  EXPECT_GT(most_parts, 5);
}

// The edges of leaves and nodes: 32 leaves of 16 rows are 512.
TEST(DeviceLoad, TakesAnyNumberOfRows) {
  SKIP_WITHOUT_GPU();
  for (const std::size_t num_rows : {0, 1, 2, 15, 16, 17, 31, 32, 33, 511, 512, 513, 1024, 1025, 16'385}) {
    Random random(num_rows);
    const Table table = random_table(random, ValueClass::uniform_f32, num_rows, 3);
    for (const int partitions : {1, 7})
      for (const Partitioning partitioning : {Partitioning::kd, Partitioning::angle, Partitioning::random}) {
        const BuildOptions options{
            .partitioning = partitioning, .num_partitions = partitions, .leaf_rows = 16};
        EXPECT_EQ(difference(of_cpu(table.view(), options), of_gpu(table.view(), options)), "")
            << num_rows << " rows, " << partitions << " partitions";
      }
  }
}

// Columns, and the rows of a matrix, that the device copies from where they are.
TEST(DeviceLoad, ReadsPinnedMemory) {
  SKIP_WITHOUT_GPU();
  constexpr std::size_t kRows = 5000, kAttributes = 5;
  Random random(11);
  const cuda::Buffer<float> matrix(kRows * kAttributes, cuda::Memory::pinned);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix.data()[i] = static_cast<float>(random.unit());
  std::vector<Attribute> attributes;
  TableView columns;
  columns.num_rows = kRows;
  for (std::size_t i = 0; i < kAttributes; ++i) {
    attributes.push_back(
        {std::string("a").append(std::to_string(i)), i % 2 == 0 ? Preference::high : Preference::low});
    columns.columns.emplace_back(matrix.data() + i * kRows, kRows);
  }
  columns.attributes = attributes;
  const TableView rows =
      row_major_table(std::span<const float>(matrix.data(), matrix.size()), std::move(attributes));
  for (const TableView& table : {columns, rows})
    for (const LoadLimits limits : {LoadLimits{}, LoadLimits{0, 700}, LoadLimits{400'000, 900}})
      EXPECT_EQ(difference(of_cpu(table, {}), of_gpu(table, {}, limits)), "");
}

class DeviceRefusals : public testing::TestWithParam<Refusal> {};

TEST_P(DeviceRefusals, AreThoseOfTheCpu) {
  SKIP_WITHOUT_GPU();
  const auto load = [](const TableView& table, BuildOptions options) {
    options.device = 0;
    load_on_device(table, options);
  };
  EXPECT_EQ(fault_of(GetParam(), load), "");
}

INSTANTIATE_TEST_SUITE_P(OfTables, DeviceRefusals, testing::ValuesIn(refused_tables()),
                         [](const auto& suite) { return suite.param.name; });

class GroupRefusals : public testing::TestWithParam<Refusal> {};

TEST_P(GroupRefusals, AreThoseOfTheCpu) {
  SKIP_WITHOUT_GPU();
  const auto load = [](const TableView& table, BuildOptions options) {
    options.devices = devices_of(3);
    load_on_device(table, options, {.chunk_rows = 3});
  };
  EXPECT_EQ(fault_of(GetParam(), load), "");
}

INSTANTIATE_TEST_SUITE_P(OfTables, GroupRefusals, testing::ValuesIn(refused_tables()),
                         [](const auto& suite) { return suite.param.name; });

// The tables of the tests above, in one round or in several.
TEST(GroupLoad, WritesTheFilesOfTheCpu) {
  SKIP_WITHOUT_GPU();
  int num_in_rounds = 0, num_at_once = 0, most_rounds = 0;
  for (std::uint64_t seed = 1; seed <= num_cases(kDefaultCases); ++seed) {
    if (only_seed() != 0 && seed != only_seed()) continue;
    const Case c = random_case(seed);
    Random random(seed + 3'000'000);
    LoadLimits limits;
    if (random.chance(0.7))
      limits.chunk_rows = 1 + static_cast<std::uint32_t>(random.below(random.pick({10, 100, 1000})));
    if (random.chance(0.5))
      limits.device_bytes = 2000 + random.below(random.pick<std::uint64_t>({20'000, 200'000, 2'000'000}));
    const TableView table = c.table.view();
    const std::size_t count = random.pick<std::size_t>({1, 2, 2, 3, 8});
    const Outcome outcome = of_gpus(count, table, c.options, limits);
    ASSERT_EQ(difference(of_cpu(table, c.options), outcome), "")
        << count << " devices, "
        << rerun_command(seed, "device_load_test", "GroupLoad.WritesTheFilesOfTheCpu");
    num_in_rounds += outcome.num_parts > 1 ? 1 : 0;
    num_at_once += outcome.num_parts == 1 ? 1 : 0;
    most_rounds = std::max(most_rounds, outcome.num_parts);
  }
  EXPECT_EQ(cuda::num_allocations(), 0);
  if (!ran_all_cases(kDefaultCases)) return;
  EXPECT_GT(num_in_rounds, 20);
  EXPECT_GT(num_at_once, 100);
  EXPECT_GT(most_rounds, 3);
}

// Fewer rows or nodes than devices, and partitions that reach over several shares. Every third row is equal, or all are.
TEST(GroupLoad, TakesAnyNumberOfRowsAndTies) {
  SKIP_WITHOUT_GPU();
  for (const std::size_t num_rows : {0, 1, 3, 17, 512, 513, 1025, 16'385})
    for (const std::size_t num_values : {std::size_t{1}, std::size_t{3}, num_rows}) {
      Random random(num_rows);
      std::vector<float> values(num_rows);
      for (float& value : values) value = static_cast<float>(random.below(num_values + 1));
      std::vector<std::int64_t> ids(num_rows);
      for (std::size_t r = 0; r < num_rows; ++r)
        ids[r] = static_cast<std::int64_t>(num_rows - r) * (r % 2 == 0 ? 1 : -1);
      const std::vector<Attribute> attributes = {{"a"}, {"b"}};
      TableView table;
      table.num_rows = num_rows;
      table.attributes = attributes;
      table.columns = {std::span<const float>(values), std::span<const float>(values)};
      for (const bool has_ids : {false, true}) {
        table.ids = has_ids ? std::span<const std::int64_t>(ids) : std::span<const std::int64_t>();
        for (const int partitions : {1, 7}) {
          const BuildOptions options{.num_partitions = partitions, .leaf_rows = 16};
          const Outcome expected = of_cpu(table, options);
          for (const std::size_t count : {2, 3, 8})
            EXPECT_EQ(difference(expected, of_gpus(count, table, options)), "")
                << num_rows << " rows, " << num_values << " values, " << partitions << " partitions, "
                << count << " devices";
        }
      }
    }
}

TEST(GroupLoad, TakesFieldsGapsAndLabels) {
  SKIP_WITHOUT_GPU();
  for (std::uint64_t seed = 1; seed <= num_cases(kDefaultCases) / 6 + 1; ++seed) {
    if (only_seed() != 0 && seed != only_seed()) continue;
    Random random(seed + 4'000'000);
    RowSource source(random, Precision::float64);
    const std::vector<Row> rows = source.draw_many(1 + random.below(3000));
    const RowTable table(random, source.schema(), rows, {});
    const BuildOptions options = {.leaf_rows = 16};
    const LoadLimits limits = {.chunk_rows = 1 + static_cast<std::uint32_t>(random.below(1000))};
    const std::size_t count = random.pick<std::size_t>({2, 3, 8});
    ASSERT_EQ(difference(of_cpu(table.view(), options), of_gpus(count, table.view(), options, limits)), "")
        << rerun_command(seed, "device_load_test", "GroupLoad.TakesFieldsGapsAndLabels");
  }
}

TEST(GroupLoad, LeavesAnIndexThatAnswersAndChanges) {
  SKIP_WITHOUT_GPU();
  Random random(21);
  const Table table = random_table(random, ValueClass::uniform_f32, 20'000, 5);
  TableView rows = table.view();
  rows.ids = {};
  rows.labels = {};
  Index index = Index::build(rows, {.devices = devices_of(3), .stays_on_device = true});
  const Index expected = Index::build(rows, {});
  const DeviceGroup group = index.to_devices(devices_of(2));
  for (int q = 0; q < 20; ++q) {
    const Query query{.weights = random_weights(random, 5), .k = 20};
    EXPECT_EQ(group.search(query).hits, expected.search(query).hits);
  }
  index.insert(rows);
  EXPECT_TRUE(index.verify().empty());
}

TEST(GroupLoad, IsAbandonedWhenProgressThrows) {
  SKIP_WITHOUT_GPU();
  Random random(22);
  const Table table = random_table(random, ValueClass::uniform_f32, 3000, 3);
  const std::thread::id caller = std::this_thread::get_id();
  for (const std::string_view last : {"reading", "partitioning", "sorting", "bounding", "copying", "done"}) {
    BuildOptions options{.devices = devices_of(3)};
    options.on_progress = [&](std::string_view phase, double) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      if (phase == last) throw std::runtime_error("stop");
    };
    EXPECT_THROW(load_on_device(table.view(), options), std::runtime_error) << last;
    EXPECT_EQ(cuda::num_allocations(), 0);
  }
}

// Whichever allocation of whichever device fails, the call returns the index or an error that names a device, leaks
// nothing, and leaves all devices usable.
TEST(GroupLoad, GivesBackWhatItHasWhenMemoryRunsOut) {
  SKIP_WITHOUT_GPU();
  constexpr int kAllocations = 400;  // more than there are
  Random random(23);
  const Table table = random_table(random, ValueClass::uniform_f32, 3000, 4);
  const BuildOptions options{.leaf_rows = 16, .devices = devices_of(3)};
  const Files expected = of_cpu(table.view(), {.leaf_rows = 16}).files;
  for (const LoadLimits limits : {LoadLimits{}, LoadLimits{60'000, 500}}) {
    int num_failed = 0;
    for (int nth = 1; nth <= kAllocations; nth += nth < 100 ? 1 : 7) {
      try {
        const cuda::AllocationFault fault(nth);
        EXPECT_EQ(files_of(*load_on_device(table.view(), options, limits).snapshot), expected);
      } catch (const OutOfDeviceMemory& error) {
        ++num_failed;
        EXPECT_GE(error.device(), 0) << error.what();
      }
      EXPECT_EQ(cuda::num_allocations(), 0) << "allocation " << nth;
    }
    EXPECT_GT(num_failed, 30);
    EXPECT_EQ(files_of(*load_on_device(table.view(), options, limits).snapshot), expected);
  }
}

TEST(GroupLoad, RefusesADeviceThatIsNotThere) {
  Random random(24);
  const Table table = random_table(random, ValueClass::uniform_f32, 100, 2);
  EXPECT_THROW(Index::build(table.view(), {.devices = {0, 9999}}), CudaError);
  EXPECT_THROW(Index::build(table.view(), {.devices = {-1, 0}}), CudaError);
  EXPECT_THROW(Index::build(table.view(), {.device = 0, .devices = {0, 0}}), InvalidArgument);
}

TEST(DeviceLoad, RefusesADeviceThatIsNotThere) {
  Random random(12);
  const Table table = random_table(random, ValueClass::uniform_f32, 100, 2);
  EXPECT_THROW(Index::build(table.view(), {.device = 9999}), CudaError);
  EXPECT_THROW(Index::build(table.view(), {.device = -2}), CudaError);
}

TEST(DeviceLoad, LeavesAWholeMirrorIfItIsToStay) {
  SKIP_WITHOUT_GPU();
  for (const std::size_t num_rows : {1, 100, 5000, 100'000}) {
    Random random(num_rows);
    const Table table = random_table(random, ValueClass::uniform_f32, num_rows, 4);
    const DeviceLoad loaded =
        load_on_device(table.view(), {.leaf_rows = 16, .device = 0, .stays_on_device = true});
    ASSERT_NE(loaded.on_device, nullptr);
    gpu::Mirror mirror(std::make_shared<Published>(loaded.snapshot), {}, loaded.on_device.get());
    EXPECT_EQ(fault_in(mirror.latest()), "");
    EXPECT_EQ(mirror.latest().mirror->ref().leaves,
              reinterpret_cast<const LeafHeader*>(loaded.on_device->arrays->ref().leaves));
  }
  EXPECT_EQ(cuda::num_allocations(), 0);
}

TEST(DeviceLoad, LeavesAnIndexThatAnswersAndChanges) {
  SKIP_WITHOUT_GPU();
  Random random(13);
  const Table table = random_table(random, ValueClass::uniform_f32, 20'000, 5);
  const Table more = random_table(random, ValueClass::uniform_f32, 300, 5);
  TableView rows = more.view();
  rows.attributes = table.attributes;  // with their preferences
  rows.ids = {};
  rows.labels = {};
  TableView first = table.view();
  first.ids = {};
  first.labels = {};
  Index index = Index::build(first, {.device = 0, .stays_on_device = true});
  const DeviceIndex on_gpu = index.to_device();
  const DeviceIndex another = index.to_device();
  for (int change = 0; change < 3; ++change) {
    for (int q = 0; q < 20; ++q) {
      const Query query{.weights = random_weights(random, 5), .k = 20};
      const std::vector<Hit> expected = index.search(query).hits;
      EXPECT_EQ(on_gpu.search(query).hits, expected);
      EXPECT_EQ(another.search(query).hits, expected);
    }
    index.insert(rows);
  }
  EXPECT_TRUE(index.verify().empty());
}

TEST(DeviceLoad, IsAbandonedWhenProgressThrows) {
  SKIP_WITHOUT_GPU();
  Random random(14);
  const Table table = random_table(random, ValueClass::uniform_f32, 1000, 3);
  for (const std::string_view last : {"reading", "partitioning", "sorting", "bounding", "copying", "done"}) {
    BuildOptions options{.device = 0, .stays_on_device = true};
    options.on_progress = [last](std::string_view phase, double fraction) {
      EXPECT_GE(fraction, 0);
      EXPECT_LE(fraction, 1);
      if (phase == last) throw std::runtime_error("stop");
    };
    EXPECT_THROW(load_on_device(table.view(), options), std::runtime_error) << last;
    EXPECT_EQ(cuda::num_allocations(), 0);
  }
}

// Whichever allocation fails, the call returns the index or an error, and leaks nothing.
TEST(DeviceLoad, GivesBackWhatItHasWhenMemoryRunsOut) {
  SKIP_WITHOUT_GPU();
  constexpr int kAllocations = 120;  // more than there are
  Random random(15);
  const Table table = random_table(random, ValueClass::uniform_f32, 3000, 4);
  const Files expected = of_cpu(table.view(), {.leaf_rows = 16}).files;
  for (const LoadLimits limits : {LoadLimits{}, LoadLimits{100'000, 500}}) {
    int num_failed = 0;
    for (int nth = 1; nth <= kAllocations; ++nth) {
      try {
        const cuda::AllocationFault fault(nth);
        const DeviceLoad loaded =
            load_on_device(table.view(), {.leaf_rows = 16, .device = 0, .stays_on_device = true}, limits);
        EXPECT_EQ(files_of(*loaded.snapshot), expected);
      } catch (const OutOfDeviceMemory&) {
        ++num_failed;
      }
      EXPECT_EQ(cuda::num_allocations(), 0) << "allocation " << nth;
    }
    EXPECT_GT(num_failed, 10);
  }
}

}  // namespace
}  // namespace culmen::test
