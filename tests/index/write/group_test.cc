// Batches that are committed in groups are applied to the tree together: as if one came after the other.
#include <gtest/gtest.h>

#include <filesystem>

#include "culmen/index.h"
#include "tests/cases.h"
#include "tests/harness.h"
#include "tests/index/write/group_model.h"

namespace culmen::test {
namespace {

TEST(Groups, OfBatchesAreAppliedAsIfOneCameAfterTheOther) {
  for (std::uint64_t seed = 1; seed <= num_cases(4); ++seed) {
    SCOPED_TRACE(seed);
    const TemporaryDirectory folder;
    const std::filesystem::path path = folder.path() / "index";
    save_empty(path);
    GroupModel model;
    {
      const Index index = Index::open(path, {.writable = true});
      model.apply(write_from_threads(index, seed, 6, 80));
      model.expect_same(index);
    }
    model.expect_same(Index::open(path));
  }
}

}  // namespace
}  // namespace culmen::test
