#include "index/storage/manifest.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "culmen/error.h"
#include "index/storage/hex.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::storage {
namespace {

using nlohmann::json;

json sample() {
  Manifest manifest = describe(*make_snapshot({.partitions = 3, .fields = 8, .gaps = true}));
  manifest.snapshot = {Uuid{}, 7};
  manifest.log = {3, Uuid{}};
  return json::parse(to_text(manifest));
}

std::string complaint(const std::string& text) {
  try {
    parse_manifest(text, "index/MANIFEST-7");
    return "";
  } catch (const FormatError& error) {
    return error.what();
  }
}

TEST(Manifest, ReadsBackWhatItWrote) {
  const std::string text = sample().dump(1) + "\n";
  EXPECT_EQ(to_text(parse_manifest(text, "")), text);
}

TEST(Manifest, RefusesAMissingOrMistypedMemberByName) {
  const json whole = sample();
  ASSERT_EQ(complaint(whole.dump()), "");
  for (const auto& [key, value] : whole.items()) {
    json changed = whole;
    changed.erase(key);
    EXPECT_NE(complaint(changed.dump()).find("index/MANIFEST-7: \"" + key + "\""), std::string::npos) << key;
    for (const json& wrong :
         {json(nullptr), json(-1), json(1.5), json("x"), json(json::array({json::object()})),
          json(std::numeric_limits<std::uint64_t>::max())}) {
      if (key == "next_id" && wrong == -1) continue;  // ids may be negative
      if ((key == "id_name" || key == "label_name") && wrong == "x") continue;
      changed[key] = wrong;
      EXPECT_NE(complaint(changed.dump()), "") << key << " = " << wrong;
    }
  }
}

TEST(Manifest, RefusesAMissingOrMistypedMemberOfItsParts) {
  const json whole = sample();
  for (const char* pointer :
       {"/attributes/0", "/fields/0", "/fields/4", "/levels/0", "/files/1", "/log", "/partitioning"}) {
    const json part = whole.at(json::json_pointer(pointer));
    for (const auto& [key, value] : part.items()) {
      json changed = whole;
      changed.at(json::json_pointer(pointer)).erase(key);
      EXPECT_NE(complaint(changed.dump()), "") << pointer << " without " << key;
      changed.at(json::json_pointer(pointer))[key] = json::object();
      EXPECT_NE(complaint(changed.dump()), "") << pointer << " with a wrong " << key;
    }
  }
}

TEST(Manifest, HasQuantilesOfAllAttributesOrOfNone) {
  Manifest manifest = parse_manifest(sample().dump(), "");
  EXPECT_EQ(manifest.quantiles, nullptr);
  const Quantiles quantiles = {{-0x1p-1074, 0, 0, 1.5}, {}, {7}};
  manifest.quantiles = std::make_shared<const Quantiles>(quantiles);
  const json whole = json::parse(to_text(manifest));
  EXPECT_EQ(*parse_manifest(whole.dump(), "").quantiles, quantiles);
  const std::string one = to_hex_float(1), two = to_hex_float(2);
  std::string too_many = one;
  for (int i = 0; i < 257; ++i) too_many += " " + one;
  for (const std::string& wrong : {two + " " + one, one + "," + two, " " + one, one + "  " + two, too_many}) {
    json changed = whole;
    changed["attributes"][0]["quantiles"] = wrong;
    EXPECT_NE(complaint(changed.dump()).find("\"quantiles\" of an attribute"), std::string::npos) << wrong;
  }
  json changed = whole;
  changed["attributes"][1].erase("quantiles");
  EXPECT_NE(complaint(changed.dump()).find("have quantiles in part"), std::string::npos);
}

TEST(Manifest, KnowsTheColumnThatRowsAreClusteredBy) {
  const Shape shape{.partitioning = Partitioning::kd, .partitions = 9, .fields = 8, .cluster = "stock1"};
  Manifest manifest = describe(*make_snapshot(shape));
  manifest.snapshot = {Uuid{}, 7};
  manifest.log = {3, Uuid{}};
  const json whole = json::parse(to_text(manifest));
  EXPECT_EQ(whole["partitioning"]["cluster"], "stock1");
  EXPECT_EQ(parse_manifest(whole.dump(), "").cluster, 4u);
  for (const json& wrong : {json("note2"), json("nobody"), json(""), json(4), json(nullptr)}) {
    json changed = whole;
    changed["partitioning"]["cluster"] = wrong;
    EXPECT_NE(complaint(changed.dump()).find("\"cluster\""), std::string::npos) << wrong;
  }
}

TEST(Manifest, KnowsTheOrderOfRows) {
  for (const auto& [order, name] :
       {std::pair(RowOrder::largest, "kd"), std::pair(RowOrder::sum, "kd by sum")}) {
    Manifest manifest = describe(*make_snapshot({.partitioning = Partitioning::kd, .row_order = order}));
    manifest.snapshot = {Uuid{}, 7};
    manifest.log = {3, Uuid{}};
    const json whole = json::parse(to_text(manifest));
    EXPECT_EQ(whole["partitioning"]["kind"], name);
    EXPECT_EQ(parse_manifest(whole.dump(), "").row_order, order);
    json changed = whole;
    changed["partitioning"]["kind"] = "kd by length";
    EXPECT_NE(complaint(changed.dump()).find("does not know"), std::string::npos);
  }
}

TEST(Manifest, RefusesValuesOutOfRange) {
  const std::vector<std::pair<const char*, json>> changes = {
      {"/format_version", 1},
      {"/byte_order", "big"},
      {"/features", {"compression"}},
      {"/features", {"uint64_ids", "compression"}},
      {"/uuid", "00"},
      {"/snapshot", 0},
      {"/leaf_rows", 24},
      {"/leaf_rows", 0},
      {"/leaf_rows", 8192},
      {"/fan_out", 64},
      {"/next_id", std::uint64_t{1} << 63},
      {"/log/number", 0},
      {"/log/number", 1'000'000'000'000'000'000},
      {"/log/uuid", "00"},
      {"/leaves", std::uint64_t{1} << 32},
      {"/levels", json::array()},
      {"/levels/0/nodes", 0},
      {"/levels/0/offset", 192},
      {"/levels", json::array({{{"nodes", 2}}})},  // no root
      {"/attributes", json::array()},
      {"/attributes/0/name", ""},
      {"/attributes/0/name", "a1"},
      {"/attributes/0/preference", "middle"},
      {"/attributes/0/minimum", "inf"},
      {"/attributes/0/minimum", "nan"},
      {"/attributes/0/minimum", "1p+400"},
      {"/attributes/0/minimum", "1p+30"},
      {"/attributes/0/quantum", -1075},
      {"/attributes/0/unit_exponent", 1001},
      {"/attributes/0/missing", "best"},
      {"/attributes/0/missing", "number"},  // without it
      {"/attributes/0/type", "text"},
      {"/attributes/0/type", "decimal"},
      {"/attributes/0/type", "timestamp"},  // without unit and zone
      {"/fields/1/name", ""},
      {"/fields/1/name", "a1"},
      {"/fields/1/name", "brand0"},
      {"/fields/1/role", "ranked"},
      {"/fields/1/type", "text"},  // without the sizes of a dictionary
      {"/fields/1/type", "decimal"},
      {"/fields/2/role", "filter"},
      {"/fields/0/texts", -1},
      {"/fields/0/texts", (std::uint64_t{1} << 31) + 1},
      {"/fields/0/text_bytes", (std::uint64_t{1} << 40) + 1},
      {"/fields/4/time_unit", "minute"},
      {"/fields/4/time_zone", 1},
      {"/fields/0", 1},
      {"/gaps", 1},
      {"/id_name", nullptr},
      {"/stand_ins", json::array()},
      {"/stand_ins", {"0p+0", "0p+0"}},
      {"/stand_ins/1", 0},
      {"/stand_ins/1", "nan"},
      {"/value_type", "float16"},
      {"/partitioning/splits", json::array({0})},
      {"/partitioning/kind", "random"},  // with splits
      {"/partitioning/partitions", 0},
      {"/partitioning/partitions", (1 << 20) + 1},
      {"/files/0/name", "../../etc/passwd"},
      {"/files/0/name", "SNAP-8-leaves"},
      {"/files/0/kind", "nodes"},
      {"/files/0/digest", "0123456789ABCDEF0123456789ABCDEF"},
      {"/files/0/bytes", -1},
      {"/labels", false},
  };
  for (const auto& [pointer, value] : changes) {
    json changed = sample();
    changed.at(json::json_pointer(pointer)) = value;
    EXPECT_NE(complaint(changed.dump()), "") << pointer << " = " << value;
  }
  json no_fields = sample();  // and yet a file of dictionaries
  no_fields["fields"] = json::array();
  EXPECT_NE(complaint(no_fields.dump()), "");
  json many_fields = sample();
  for (int f = 0; f < kMaxFields; ++f) {
    many_fields["fields"].push_back(many_fields["fields"][1]);
    many_fields["fields"].back()["name"] = "more " + std::to_string(f);
  }
  EXPECT_NE(complaint(many_fields.dump()), "");
  many_fields["fields"].erase(many_fields["fields"].begin() + kMaxFields, many_fields["fields"].end());
  EXPECT_EQ(complaint(many_fields.dump()), "");
  json too_many = sample();
  for (int i = 0; i < kMaxAttributes; ++i) too_many["attributes"].push_back(too_many["attributes"][0]);
  EXPECT_NE(complaint(too_many.dump()), "");
  for (std::size_t i = 0; i < too_many["attributes"].size(); ++i)
    too_many["attributes"][i]["name"] = "attribute " + std::to_string(i);
  while (too_many["attributes"].size() > kMaxAttributes) too_many["attributes"].erase(kMaxAttributes);
  too_many["stand_ins"] = std::vector<std::string>(kMaxAttributes, too_many["stand_ins"][0]);
  EXPECT_EQ(complaint(too_many.dump()), "");
}

TEST(Manifest, SaysWhichVersionItIsAndWhichOneIsRead) {
  json changed = sample();
  changed["format_version"] = 5;
  EXPECT_EQ(complaint(changed.dump()),
            "index/MANIFEST-7: \"format_version\" of the manifest is 5; this program reads version 11: use "
            "the program "
            "that wrote it, or build the index again from its table");
}

TEST(Manifest, GivesUpOnDeepOrEndlessJson) {
  const std::size_t many = 8 << 20;
  EXPECT_NE(complaint(std::string(many, '[')), "");
  EXPECT_NE(complaint("[" + std::string(many, '0') + "]"), "");
  std::string zeros = "[0";
  for (std::size_t i = 0; i < many / 2; ++i) zeros += ",0";
  EXPECT_NE(complaint(zeros + "]"), "");
  EXPECT_NE(complaint(""), "");
  EXPECT_NE(complaint("\"\xff\""), "");
}

TEST(Manifest, NamesTheByteWhereItStopsBeingJson) {
  EXPECT_NE(complaint("{\"format\": ?}").find("MANIFEST-7, byte 12"), std::string::npos)
      << complaint("{\"format\": ?}");
}

TEST(Names, BelongToASnapshotOnlyInTheirOneForm) {
  EXPECT_EQ(snapshot_number_of("MANIFEST-12"), 12u);
  EXPECT_EQ(snapshot_number_of("SNAP-3-partitions"), 3u);
  EXPECT_EQ(snapshot_number_of("MANIFEST-999999999999999999"), kMaxNumber);
  for (const char* name :
       {"", "-", "MANIFEST-", "MANIFEST-0", "MANIFEST-01", "MANIFEST-+1", "MANIFEST-1 ", "manifest-1",
        "SNAP-1", "SNAP-1-", "SNAP-1-leaf", "SNAP--1-leaves", "SNAP-1-leaves/", "../MANIFEST-1",
        "MANIFEST-1000000000000000000", "MANIFEST-99999999999999999999"})
    EXPECT_EQ(snapshot_number_of(name), 0u) << name;
}

TEST(Names, BelongToALogOnlyInTheirOneForm) {
  EXPECT_EQ(log_number_of("WAL-12"), 12u);
  EXPECT_EQ(log_number_of("WAL-999999999999999999"), kMaxNumber);
  for (const char* name : {"", "WAL", "WAL-", "WAL-0", "WAL-01", "WAL-1-", "wal-1", "MANIFEST-1", "../WAL-1",
                           "WAL-1000000000000000000"})
    EXPECT_EQ(log_number_of(name), 0u) << name;
}

}  // namespace
}  // namespace culmen::storage
