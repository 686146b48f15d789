#include "index/storage/current.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "culmen/error.h"

namespace culmen::storage {
namespace {

TEST(Current, ReadsBackWhatItWroteAndNothingElse) {
  const Current current{12, 3456, {1, 2}, {34, 512, 0xabc}};
  const std::string text = to_text(current);
  EXPECT_TRUE(text.starts_with("culmen-index MANIFEST-12 3456 "));
  EXPECT_NE(text.find(" WAL-34 512 0000000000000abc "), std::string::npos);
  EXPECT_EQ(parse_current(text, "CURRENT"), current);
  for (const std::string& wrong : {text + "\n", " " + text, text.substr(0, text.size() - 1), std::string(),
                                   std::string("\n"), std::string(200, ' ')})
    EXPECT_THROW(parse_current(wrong, "CURRENT"), FormatError) << wrong;
  for (const Current& wrong :
       {Current{12, 3456, {}, {0, 512, 1}}, Current{12, 3456, {}, {1, 511, 1}},
        Current{0, 3456, {}, {1, 512, 1}}, Current{12, kMaxManifestBytes + 1, {}, {1, 512, 1}}})
    EXPECT_THROW(parse_current(to_text(wrong), "CURRENT"), FormatError) << to_text(wrong);
}

TEST(Current, OfAnotherFormatIsNotCalledDamaged) {
  const std::string line = "culmen-index MANIFEST-1 1168 afdc7769201e5038af142254adafba07 ";
  const std::string whole = line + "90fee63c0c8da3de\n";  // as format 1 had it
  for (const auto& [text, reason] :
       {std::pair(whole, "another format"), std::pair(line + "90fee63c0c8da3df\n", "damaged")}) {
    try {
      parse_current(text, "CURRENT");
      ADD_FAILURE() << text;
    } catch (const FormatError& error) {
      EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace culmen::storage
