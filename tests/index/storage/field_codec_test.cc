#include "index/storage/field_codec.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "index/snapshot_fields.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::storage {
namespace {

// Fields of every kind, and gaps.
class FieldCodec : public testing::Test {
 protected:
  Bytes payload_of(std::uint32_t leaf) const {
    Bytes payload;
    encode_fields(snapshot_->leaf_fields(leaf), snapshot_->fields, payload);
    return payload;
  }

  std::string_view decode(std::uint32_t leaf, std::span<const std::byte> payload, Bytes& fields) const {
    const auto value = [&](std::size_t attribute, std::size_t row) {
      return snapshot_->value(leaf * std::uint64_t{16} + row, static_cast<int>(attribute));
    };
    return FieldDecoder(snapshot_->attributes.size(), snapshot_->fields, sizes_)
        .decode(payload, snapshot_->leaf(leaf).num_rows, value, fields);
  }

  const std::shared_ptr<Snapshot> snapshot_ =
      make_snapshot({.rows = 300, .attributes = 2, .fields = 16, .gaps = true});
  const std::vector<std::uint32_t> sizes_ = dictionary_sizes(*snapshot_);
};

TEST_F(FieldCodec, GivesTheBytesThatWereThere) {
  for (std::uint32_t leaf = 0; leaf < snapshot_->num_leaves; ++leaf) {
    Bytes fields;
    EXPECT_EQ(decode(leaf, payload_of(leaf), fields), "");
    const std::span<const std::byte> bytes = snapshot_->leaf_fields(leaf).bytes();
    EXPECT_EQ(fields, Bytes(bytes.begin(), bytes.end())) << leaf;
    EXPECT_LT(payload_of(leaf).size(), bytes.size());
  }
}

TEST_F(FieldCodec, RefusesWhatIsCutOrTooLong) {
  const Bytes whole = payload_of(3);
  Bytes fields;
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(decode(3, std::span(whole).first(size), fields), "") << size;
  Bytes longer = whole;
  longer.emplace_back();
  EXPECT_NE(decode(3, longer, fields), "");
}

// Whatever the bytes are: refused, or fields without a fault.
TEST_F(FieldCodec, SurvivesChangedBytes) {
  const Bytes whole = payload_of(3);
  const std::size_t num_rows = snapshot_->leaf(3).num_rows;
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const std::byte bits : {std::byte{1}, std::byte{2}, std::byte{128}, std::byte{255}}) {
      Bytes changed = whole, fields;
      changed[at] ^= bits;
      if (!decode(3, changed, fields).empty()) continue;
      ASSERT_EQ(
          fault_of_leaf_fields(fields, num_rows, snapshot_->attributes.size(), snapshot_->fields, sizes_), "")
          << at;
    }
}

}  // namespace
}  // namespace culmen::storage
