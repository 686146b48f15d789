// Who answers: devices, or the CPU where they fail. The devices are fake: their answers say how many they answer.
#include "serve/searcher.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"

namespace culmen::serve {
namespace {

constexpr int kFake = 7;

AnyIndex small_index() {
  static const std::vector<double> kValues = {1, 5, 3};
  TableView table;
  table.num_rows = kValues.size();
  table.attributes = {{"a"}};
  table.columns = {kValues};
  return AnyIndex(Index::build(table));
}

class Served {
 public:
  explicit Served(bool works) : works_(works) {}

  std::vector<int> devices_of(const std::vector<Query>& queries) {
    std::vector<int> devices;
    for (const SearchResult& result : searcher_.search(queries, {})) devices.push_back(result.stats.device);
    return devices;
  }
  std::vector<std::size_t> sizes() const { return sizes_; }
  std::vector<std::string> problems() const { return problems_; }

 private:
  std::vector<SearchResult> on_devices(std::span<const Query> queries) {
    if (!works_) throw CudaError("the card is full");
    sizes_.push_back(queries.size());
    std::vector<SearchResult> results(queries.size());
    for (SearchResult& result : results) result.stats.device = kFake;
    return results;
  }

  bool works_;
  std::vector<std::size_t> sizes_;
  std::vector<std::string> problems_;
  AnyIndex index_ = small_index();
  Searcher searcher_{
      index_, [this](std::span<const Query> queries, const SearchOptions&) { return on_devices(queries); },
      [this](const std::string& problem) { problems_.push_back(problem); }};
};

const Query kPlain = {.weights = {1}, .k = 1};
const Query kNextPage = {.weights = {1}, .k = 1, .after = Cursor{5, 1}};

TEST(Searcher, DevicesAnswer) {
  Served served(true);
  EXPECT_EQ(served.devices_of({kPlain, kNextPage}), (std::vector<int>{kFake, kFake}));
  EXPECT_EQ(served.sizes(), std::vector<std::size_t>{2});
  EXPECT_TRUE(served.problems().empty());
}

TEST(Searcher, TheCpuAnswersForDevicesThatFail) {
  Served served(false);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(served.devices_of({kPlain, kNextPage}), std::vector<int>(2, kNoDevice));
  ASSERT_EQ(served.problems().size(), 1U);
  EXPECT_NE(served.problems().front().find("the card is full"), std::string::npos);
}

TEST(Searcher, WithoutDevicesTheCpuAnswers) {
  const AnyIndex index = small_index();
  EXPECT_FALSE(copy_to_devices(index, {}));
  Searcher searcher(index, {}, [](const std::string&) {});
  const std::vector<SearchResult> found = searcher.search(std::vector<Query>{kPlain, kNextPage}, {});
  EXPECT_EQ(found[0].hits.front().id, 1);
  EXPECT_EQ(found[1].hits.front().id, 2);
}

}  // namespace
}  // namespace culmen::serve
