// Linked into a test program, it limits the device to a smaller card.
//
// CULMEN_TEST_CARD=40x64     at most 40 multiprocessors, and 64 KiB of shared memory for a thread block and each of
// them
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "gpu/cuda/limits.h"

namespace culmen::test {
namespace {

class EmulatedCard : public testing::Environment {
 public:
  void SetUp() override {
    const char* card = std::getenv("CULMEN_TEST_CARD");
    if (card == nullptr || *card == '\0') return;
    unsigned num_multiprocessors = 0, shared_kib = 0;
    ASSERT_EQ(std::sscanf(card, "%ux%u", &num_multiprocessors, &shared_kib), 2)
        << "CULMEN_TEST_CARD=" << card;
    cap_.emplace(cuda::LimitCap::Most{num_multiprocessors, std::size_t{shared_kib} << 10});
  }
  void TearDown() override { cap_.reset(); }

 private:
  std::optional<cuda::LimitCap> cap_;
};

[[maybe_unused]] const testing::Environment* const environment =
    testing::AddGlobalTestEnvironment(new EmulatedCard);

}  // namespace
}  // namespace culmen::test
