// Who may ask: tokens and addresses. What requests meet is in tests/tools/serve_test.py.
#include "serve/guard.h"

#include <gtest/gtest.h>

#include <string>

namespace culmen::serve {
namespace {

TEST(Guard, OnlyTheWholeTokenIsTheToken) {
  const std::string token = "0123456789abcdef";
  EXPECT_TRUE(same_token(token, token));
  EXPECT_FALSE(same_token(token, ""));
  EXPECT_FALSE(same_token(token, token + token));
  EXPECT_FALSE(same_token(token, token.substr(1)));
  EXPECT_FALSE(same_token("", ""));
  for (std::size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] = 'x';
    EXPECT_FALSE(same_token(token, other)) << i;
    EXPECT_FALSE(same_token(token, token.substr(0, i))) << i;
  }
}

TEST(Guard, AddressesOfThisMachine) {
  for (const char* address : {"127.0.0.1", "127.1.2.3", "::1", "localhost"})
    EXPECT_TRUE(is_loopback(address));
  for (const char* address : {"0.0.0.0", "::", "10.0.0.1", "1127.0.0.1", ""})
    EXPECT_FALSE(is_loopback(address)) << address;
}

}  // namespace
}  // namespace culmen::serve
