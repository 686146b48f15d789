// A DeviceAllocator of the caller: the library allocates all device memory from it and returns it, answers are the
// oracle's, and an exhausted allocator is an OutOfDeviceMemory error.
#include "culmen/device_allocator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "culmen/device.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "gpu/cuda/allocation.h"
#include "tests/generators.h"
#include "tests/gpu/device_batch.h"
#include "tests/gpu/device_trial.h"
#include "tests/gpu/gpu_testing.h"

namespace culmen::test {
namespace {

// First fit in one cudaMalloc. Memory is never zero when it is allocated. Records errors, because deallocate() must not
// throw.
class Arena : public DeviceAllocator {
 public:
  enum class Refusal { none, null, bad_alloc };

  explicit Arena(std::size_t num_bytes) : size_(num_bytes) {
    void* memory = nullptr;
    cuda::check(cudaMalloc(&memory, num_bytes));
    memory_ = static_cast<std::byte*>(memory);
  }
  ~Arena() override { cudaFree(memory_); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Refuses all allocations after the next `after`.
  void refuse(Refusal how, int after = 0) {
    refusal_ = how;
    left_ = after;
  }

  void* allocate(std::size_t num_bytes) override {
    const std::scoped_lock lock(mutex_);
    if (refusal_ != Refusal::none && left_-- <= 0) {
      if (refusal_ == Refusal::bad_alloc) throw std::bad_alloc();
      return nullptr;
    }
    const std::size_t first = first_gap(num_bytes);
    if (first == size_) return nullptr;
    pieces_[first] = num_bytes;
    ++num_allocations_;
    std::byte* data = memory_ + first;
    cuda::check(cudaMemset(data, 0xa5, num_bytes));
    cuda::check(cudaDeviceSynchronize());
    return data;
  }

  void deallocate(void* data, std::size_t num_bytes) noexcept override {
    const std::scoped_lock lock(mutex_);
    const auto piece = pieces_.find(static_cast<std::size_t>(static_cast<std::byte*>(data) - memory_));
    if (piece == pieces_.end() || piece->second != num_bytes) {
      problem_ = "given back: " + std::to_string(num_bytes) + " bytes that were not given so";
      return;
    }
    pieces_.erase(piece);
    if (cudaStreamQuery(nullptr) == cudaErrorNotReady) problem_ = "given back while the device is at work";
  }

  std::size_t free_bytes() override {
    const std::scoped_lock lock(mutex_);
    std::size_t taken = 0;
    for (const auto& [first, num_bytes] : pieces_) taken += num_bytes;
    return size_ - taken;
  }

  int num_allocations() const { return num_allocations_; }
  bool is_empty() const { return pieces_.empty(); }
  const std::string& problem() const { return problem_; }

 private:
  // size_ if there is none.
  std::size_t first_gap(std::size_t num_bytes) const {
    constexpr std::size_t kAlignment = 256;
    std::size_t first = 0;
    for (const auto& [begin, size] : pieces_) {
      if (first + num_bytes <= begin) break;
      first = (begin + size + kAlignment - 1) / kAlignment * kAlignment;
    }
    return first + num_bytes <= size_ ? first : size_;
  }

  std::mutex mutex_;
  std::size_t size_;
  std::byte* memory_ = nullptr;
  std::map<std::size_t, std::size_t> pieces_;  // by their first byte
  Refusal refusal_ = Refusal::none;
  int left_ = 0, num_allocations_ = 0;
  std::string problem_;
};

class Allocator : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU();
    arena_ = std::make_shared<Arena>(std::size_t{512} << 20);
    set_device_allocator(arena_);
  }
  void TearDown() override {
    if (arena_ == nullptr) return;
    set_device_allocator(nullptr);
    EXPECT_TRUE(arena_->is_empty());
    EXPECT_EQ(arena_->problem(), "");
    EXPECT_EQ(cuda::num_allocations(), 0);
    EXPECT_EQ(arena_.use_count(), 1);
  }

  std::shared_ptr<Arena> arena_;
  Random random_{47};
};

TEST_F(Allocator, GivesAllDeviceMemory) {
  for (const ValueClass value_class : {ValueClass::mixed, ValueClass::small_integers})
    for (std::uint64_t seed = 0; seed < 4; ++seed)
      ASSERT_EQ(Trial(4700 + seed, value_class).run(), "") << "seed " << seed;
  EXPECT_GT(arena_->num_allocations(), 100);
}

TEST_F(Allocator, ServesBatchesOnAStream) {
  const Table table = random_table(random_, ValueClass::uniform_f32, 20'000, 5);
  const Index index = Index::build(table.view());
  const Batch batch = {.weights = std::vector(300, std::vector<double>{1, 0.5, -2, 0.1, 3}), .k = 20};
  EXPECT_EQ(fault(index, index.to_device(), batch), "");
}

// Arrays that cannot grow in place are reallocated and copied.
TEST_F(Allocator, ServesAnIndexThatGrows) {
  Table table = random_table(random_, ValueClass::uniform_f32, 3000, 3);
  table.ids.clear();
  Index index = Index::build(table.view(), {.leaf_rows = 16});
  const DeviceIndex on_gpu = index.to_device({.memory = DeviceMemory::device});
  const Query query = {.weights = std::vector<double>{1, 2, 0.5}, .k = 50};
  for (int round = 0; round < 20; ++round) {
    TableView rows = table.view();
    rows.ids = {};
    static_cast<void>(index.insert(rows));
    EXPECT_EQ(on_gpu.search(query).hits, index.search(query).hits) << "round " << round;
  }
}

TEST_F(Allocator, ServesTheBulkLoad) {
  const Table table = random_table(random_, ValueClass::uniform_f32, 50'000, 4);
  const Index index = Index::build(table.view(), {.device = 0});
  EXPECT_GT(arena_->num_allocations(), 10);
  const Query query = {.weights = std::vector<double>{1, 2, 0.5, 0.1}, .k = 50};
  EXPECT_EQ(index.search(query).hits, Index::build(table.view()).search(query).hits);
}

TEST_F(Allocator, SaysWhereThereIsNoMore) {
  const Table table = random_table(random_, ValueClass::uniform_f32, 20'000, 3);
  const Index index = Index::build(table.view());
  const Query query = {.weights = std::vector<double>{1, 2, 0.5}, .k = 50};
  const std::vector<Hit> expected = index.search(query).hits;
  for (const Arena::Refusal how : {Arena::Refusal::null, Arena::Refusal::bad_alloc}) {
    int num_refused = 0;
    for (bool done = false; !done; ++num_refused) {
      arena_->refuse(how, num_refused);
      try {
        EXPECT_EQ(index.to_device().search(query).hits, expected);
        done = true;
      } catch (const OutOfDeviceMemory&) {
      }
      EXPECT_TRUE(arena_->is_empty()) << "allocation " << num_refused;
    }
    EXPECT_GT(num_refused, 8);
    arena_->refuse(Arena::Refusal::none);
  }
}

TEST_F(Allocator, DecidesWhereRowsGo) {
  const std::vector<Attribute> attributes = {{"a"}, {"b"}, {"c"}};
  std::vector<double> prices(4'000'000 * attributes.size());
  for (double& price : prices) price = static_cast<double>(random_.below(100'000)) / 100;
  const Index index = Index::build(row_major_table(std::span<const double>(prices), attributes));
  const std::size_t all = index.to_device().device_bytes();
  const std::size_t packed = index.to_device({.memory = DeviceMemory::compressed}).device_bytes();
  EXPECT_LT(packed, all / 2);
  set_device_allocator(std::make_shared<Arena>(all - all / 8));
  EXPECT_EQ(index.to_device().memory(), DeviceMemory::compressed);
  set_device_allocator(std::make_shared<Arena>(packed / 10 * 7));
  EXPECT_EQ(index.to_device().memory(), DeviceMemory::host);
}

// The previous allocator stays alive as long as an allocation of it does.
TEST_F(Allocator, MayChangeWhileMemoryIsOut) {
  const Table table = random_table(random_, ValueClass::uniform_f32, 20'000, 3);
  const Index index = Index::build(table.view());
  const Query query = {.weights = std::vector<double>{1, 2, 0.5}, .k = 50};
  const std::weak_ptr<Arena> before = arena_;
  {
    const DeviceIndex on_gpu = index.to_device();
    EXPECT_EQ(set_device_allocator(nullptr), arena_);
    arena_ = std::make_shared<Arena>(std::size_t{512} << 20);
    EXPECT_EQ(set_device_allocator(arena_), nullptr);
    EXPECT_FALSE(before.expired());
    EXPECT_EQ(on_gpu.search(query).hits, index.search(query).hits);
    EXPECT_GT(arena_->num_allocations(), 0);
  }
  EXPECT_TRUE(before.expired());
}

}  // namespace
}  // namespace culmen::test
