#include "index/storage/text_codec.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "tests/index/storage/memory_file_system.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::storage {
namespace {

// Two stored texts among other fields.
class TextCodec : public testing::Test {
 protected:
  Bytes payload_of(std::uint32_t leaf) const {
    Bytes payload;
    encode_leaf_texts(snapshot_->leaf_texts(leaf), snapshot_->fields, payload);
    return payload;
  }
  std::string_view decode(std::uint32_t leaf, std::span<const std::byte> payload, Bytes& texts) const {
    const auto allocate = [&](std::size_t num_bytes) {
      texts.assign(num_bytes, std::byte{0xa5});
      return std::span(texts);
    };
    return decode_leaf_texts(payload, snapshot_->leaf(leaf).num_rows, snapshot_->leaf_fields(leaf),
                             snapshot_->fields, allocate);
  }

  const std::shared_ptr<Snapshot> snapshot_ =
      make_snapshot({.rows = 300, .attributes = 2, .fields = 16, .gaps = true});
};

TEST_F(TextCodec, GivesTheBytesThatWereThere) {
  for (std::uint32_t leaf = 0; leaf < snapshot_->num_leaves; ++leaf) {
    Bytes texts;
    EXPECT_EQ(decode(leaf, payload_of(leaf), texts), "");
    const std::span<const std::byte> bytes = snapshot_->leaf_texts(leaf).bytes();
    EXPECT_EQ(texts, Bytes(bytes.begin(), bytes.end())) << leaf;
    EXPECT_LT(payload_of(leaf).size(), bytes.size());
  }
}

TEST_F(TextCodec, RefusesWhatIsCutOrTooLong) {
  const Bytes whole = payload_of(3);
  Bytes texts;
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(decode(3, std::span(whole).first(size), texts), "") << size;
  Bytes longer = whole;
  longer.emplace_back();
  EXPECT_NE(decode(3, longer, texts), "");
}

// Whatever the bytes are: refused, or texts without a fault, none of them in a row that misses it.
TEST_F(TextCodec, SurvivesChangedBytes) {
  const Bytes whole = payload_of(3);
  const std::size_t num_rows = snapshot_->leaf(3).num_rows;
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const std::byte bits : {std::byte{1}, std::byte{2}, std::byte{128}, std::byte{255}}) {
      Bytes changed = whole, texts;
      changed[at] ^= bits;
      if (!decode(3, changed, texts).empty()) continue;
      ASSERT_EQ(fault_of_leaf_texts(texts, num_rows, snapshot_->fields), "") << at;
      for (const std::size_t f : {2u, 10u})
        for (std::size_t row = 0; row < num_rows; ++row)
          ASSERT_TRUE(LeafTexts(texts.data()).text(f, row).empty() ||
                      !snapshot_->leaf_fields(3).misses_field(f, row))
              << at;
    }
}

}  // namespace
}  // namespace culmen::storage
