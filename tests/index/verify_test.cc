// Damages one part of a valid snapshot at a time: verify must report each.
#include "index/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "index/build/bulk_load.h"
#include "tests/generators.h"

namespace culmen::test {
namespace {

std::shared_ptr<Snapshot> sound_snapshot() {
  Random random(1);
  Table table = random_table(random, ValueClass::uniform_f32, 2000, 3);
  table.ids.clear();
  for (Attribute& attribute : table.attributes) attribute.preference = Preference::high;
  return bulk_load(table.view(), {.num_partitions = 4, .leaf_rows = 16, .value_type = ValueType::float32});
}

// Ids that are texts, whose numbers ascend as they should or not.
std::vector<std::string> faults_of_texts(const std::vector<std::string_view>& texts) {
  const std::vector<double> values = {1, 2};
  const std::vector<std::int64_t> ids = {10, 20};
  Labels labels;
  for (const std::string_view text : texts) labels.append(text);
  TableView table = row_major_table(std::span<const double>(values), {{"a"}});
  table.ids = ids;
  table.labels = labels.view();
  table.id_type = IdType::text;
  return verify_snapshot(*bulk_load(table, {}), true);
}

TEST(VerifyTexts, SeesTextsThatDoNotAscend) {
  EXPECT_EQ(faults_of_texts({"a", "b"}), std::vector<std::string>{});
  const std::vector<std::string> wrong = {"index: the text of id \"b\" is not below that of \"a\""};
  EXPECT_EQ(faults_of_texts({"b", "a"}), wrong);
  EXPECT_EQ(faults_of_texts({"b", "b"}).size(), 1u);
}

float* values_of(Snapshot& s, std::size_t leaf) {
  return reinterpret_cast<float*>(s.arena->values(leaf));
}
float* zone_vector_of(Snapshot& s, std::size_t leaf, Extreme extreme) {
  return const_cast<float*>(s.zone_vector<float>(leaf, extreme));
}
std::int64_t* ids_of(Snapshot& s, std::size_t leaf) {
  return s.arena->ids(leaf);
}

// Moves the stored bound of a child by `distance` bound units.
void move_bound(Snapshot& s, std::size_t node, int row, int child, double distance) {
  const NodeAccess<std::byte> changed = s.arena->mutable_node(node);
  BoundRow& bounds = changed.bounds()[row];
  const auto c = static_cast<std::uint32_t>(child);
  bounds.set(c, bound_above(static_cast<double>(bounds[c]) + distance), changed.header().num_children,
             s.layout.extreme_of(row));
}

struct Damage {
  std::string name;
  std::function<void(Snapshot&)> inflict;
  std::string word;  // part of the text of a fault
  bool deep_only = false;

  friend void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.name; }
};

class Verify : public testing::TestWithParam<Damage> {};

TEST_P(Verify, SeesTheDamage) {
  const std::shared_ptr<Snapshot> s = sound_snapshot();
  ASSERT_TRUE(verify_snapshot(*s, true).empty());
  GetParam().inflict(*s);
  const std::vector<std::string> faults = verify_snapshot(*s, true);
  ASSERT_FALSE(faults.empty());
  EXPECT_TRUE(std::any_of(faults.begin(), faults.end(), [](const std::string& fault) {
    return fault.find(GetParam().word) != std::string::npos;
  })) << faults.front();
  EXPECT_EQ(verify_snapshot(*s, false).empty(), GetParam().deep_only);
}

std::vector<Damage> damages() {
  return {
      Damage{"value", [](Snapshot& s) { values_of(s, 5)[2] = 0; }, "leaf 5"},
      Damage{"value_beyond_range", [](Snapshot& s) { values_of(s, 5)[2] = 7; }, "outside"},
      Damage{"value_nan", [](Snapshot& s) { values_of(s, 5)[2] = std::numeric_limits<float>::quiet_NaN(); },
             "leaf 5"},
      Damage{"swapped_rows",
             [](Snapshot& s) {
               for (std::size_t i = 0; i < 3; ++i)
                 std::swap(values_of(s, 5)[i * 16], values_of(s, 5)[i * 16 + 9]);
               std::swap(ids_of(s, 5)[0], ids_of(s, 5)[9]);
             },
             "leaf 5"},
      Damage{"id_twice", [](Snapshot& s) { ids_of(s, 3)[1] = ids_of(s, 9)[4]; }, "two rows"},
      Damage{"min_id", [](Snapshot& s) { s.arena->leaf(7).min_id -= 1; }, "leaf 7"},
      Damage{"num_rows", [](Snapshot& s) { s.arena->leaf(4).num_rows -= 1; }, "rows"},
      Damage{"no_rows", [](Snapshot& s) { s.arena->leaf(4).num_rows = 0; }, "leaf 4"},
      Damage{"too_many_rows", [](Snapshot& s) { s.arena->leaf(4).num_rows = 1u << 30; }, "leaf 4"},
      Damage{"rows_of_the_index", [](Snapshot& s) { s.num_rows += 1; }, "rows"},
      Damage{"partition_of_a_leaf", [](Snapshot& s) { s.arena->leaf(2).partition += 1; }, "partition"},
      Damage{"zone_maximum", [](Snapshot& s) { zone_vector_of(s, 6, Extreme::maximum)[1] = 0; },
             "is not the leaf's maximum"},
      Damage{"zone_minimum", [](Snapshot& s) { zone_vector_of(s, 6, Extreme::minimum)[1] = 1; },
             "is not the leaf's minimum"},
      Damage{"code", [](Snapshot& s) { s.arena->codes(5)[3] ^= 0x10; }, "leaf 5: its codes"},
      Damage{"bound", [](Snapshot& s) { move_bound(s, 0, 2, 3, -0.5); }, "node 0", true},
      Damage{"minimum_bound", [](Snapshot& s) { move_bound(s, 0, s.layout.minimum_row(1), 3, 0.5); },
             "node 0", true},
      Damage{"bound_of_the_root", [](Snapshot& s) { move_bound(s, s.root, 4, 0, -0.5); }, "node"},
      Damage{"child", [](Snapshot& s) { s.arena->mutable_node(0).children()[1] = 1u << 30; }, "child 1"},
      Damage{"child_twice",
             [](Snapshot& s) {
               const NodeAccess<std::byte> node = s.arena->mutable_node(0);
               node.children()[1] = node.children()[0];
               node.min_ids()[1] = node.min_ids()[0];
             },
             "node"},
      Damage{"skipped_child", [](Snapshot& s) { s.arena->mutable_node(0).header().num_children -= 1; },
             "node"},
      Damage{"no_children", [](Snapshot& s) { s.arena->mutable_node(1).header().num_children = 0; },
             "node 1"},
      Damage{"min_id_of_a_child", [](Snapshot& s) { s.arena->mutable_node(0).min_ids()[2] += 1; }, "child 2"},
      Damage{"min_id_of_a_node", [](Snapshot& s) { s.arena->mutable_node(0).header().min_id = kNoId; },
             "node"},
      Damage{"quantum", [](Snapshot& s) { s.stats[0].quantum = 0; }, "quantum"},
      Damage{"range", [](Snapshot& s) { s.stats[1].maximum = 0.5; }, "range"},
      Damage{"range_too_wide", [](Snapshot& s) { s.stats[1].maximum = 2; }, ""},
      Damage{"origin",
             [](Snapshot& s) {
               s.exact_sums = true;
               s.units[0].origin = 0x1p-80;
             },
             "can round"},
      Damage{"unit", [](Snapshot& s) { s.units[0].unit *= 2; }, ""}};
}

INSTANTIATE_TEST_SUITE_P(Parts, Verify, testing::ValuesIn(damages()),
                         [](const auto& suite) { return suite.param.name; });

// With a gap in each column but the texts, which are one to filter by and one to show.
std::shared_ptr<Snapshot> sound_snapshot_with_fields() {
  std::vector<double> values(600);
  std::vector<std::int64_t> numbers(values.size());
  Labels texts;
  texts.offsets.push_back(0);
  for (std::size_t row = 0; row < values.size(); ++row) {
    values[row] =
        row % 7 == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(row * 37 % 601);
    numbers[row] = static_cast<std::int64_t>(row % 50);
    texts.bytes.push_back(static_cast<char>('a' + row % 26));
    texts.offsets.push_back(texts.bytes.size());
  }
  const std::vector<std::uint8_t> validity(values.size() / 8 + 1, 0x7f);
  TableView table{values.size(), {{"a"}, {"b"}}, {values, values}, {}, {}};
  ColumnView column(numbers);
  column.validity = {validity.data()};
  table.fields = {{"n", FieldRole::filter, {ColumnType::integer}},
                  {"t", FieldRole::filter, {ColumnType::text}},
                  {"s", FieldRole::stored, {ColumnType::text}}};
  table.field_views = {column, TextView{texts.view(), {}}, TextView{texts.view(), {}}};
  return bulk_load(table, {.num_partitions = 2, .leaf_rows = 16, .value_type = ValueType::float32});
}

TEST(Verify, SeesDamagedFields) {
  const auto gaps = [](Snapshot& s) {
    std::size_t leaf = 0;
    while (s.leaf_fields(leaf).gaps().empty()) ++leaf;
    return const_cast<AttributeGaps*>(s.leaf_fields(leaf).gaps().data());
  };
  const auto zone = [](Snapshot& s, std::size_t f) {
    return const_cast<FieldZone*>(&s.leaf_fields(5).zone(f));
  };
  const std::pair<std::string, std::function<void(Snapshot&)>> damages[] = {
      {"stand-in", [&](Snapshot& s) { s.stand_ins[0] += 1; }},
      {"range of the others", [&](Snapshot& s) { gaps(s)->minimum -= 1; }},
      {"gaps of an attribute", [&](Snapshot& s) { gaps(s)->num_missing += 1; }},
      {"values of a field", [&](Snapshot& s) { zone(s, 0)->set ^= 1; }},
      {"values of a field", [&](Snapshot& s) { zone(s, 1)->maximum += 26; }},
      {"missing values of a field", [&](Snapshot& s) { zone(s, 0)->num_missing += 1; }},
      {"too short", [](Snapshot& s) { s.arena->set_fields(5, {}); }},
      {"texts are too short", [](Snapshot& s) { s.arena->set_texts(5, {}); }},
      {"number of rows",
       [](Snapshot& s) {
         LeafTextsBuilder of_three_rows(s.fields);
         of_three_rows.start(3);
         of_three_rows.finish([&](std::size_t num_bytes) { return s.arena->allocate_texts(5, num_bytes); },
                              [](std::size_t, const std::string&) {});
       }},
      {"ends before", [](Snapshot& s) { const_cast<std::uint32_t&>(s.leaf_texts(5).ends(2)[3]) = 1; }},
      {"outside", [](Snapshot& s) { const_cast<std::uint32_t&>(s.leaf_texts(5).ends(2).back()) += 1; }},
      {"dictionary", [](Snapshot& s) { s.dictionaries[1] = nullptr; }},
      {"dictionary", [](Snapshot& s) { s.dictionaries[0] = std::make_shared<const Dictionary>(); }},
      {"a text twice",
       [](Snapshot& s) {
         std::vector<std::string_view> texts(26, "x");
         s.dictionaries[1] = std::make_shared<const Dictionary>(texts);
       }},
      {"the zones of its children",
       [](Snapshot& s) { s.arena->child_zones_bytes(0)[offsetof(ChildGaps, some_missing)] ^= std::byte{1}; }},
      {"the zones of its children",
       [](Snapshot& s) {
         s.arena->child_zones_bytes(s.root)[s.arena->child_zones_layout().zones_offset()] ^= std::byte{1};
       }},
      {"its zone map", [](Snapshot& s) { s.arena->node_zone_map(s.root)[3] ^= std::byte{1}; }},
      {"is not that of its values", [](Snapshot& s) { s.stats[0].minimum -= 1; }},
  };
  ASSERT_EQ(verify_snapshot(*sound_snapshot_with_fields(), true), std::vector<std::string>());
  for (const auto& [words, inflict] : damages) {
    const std::shared_ptr<Snapshot> s = sound_snapshot_with_fields();
    inflict(*s);
    const std::vector<std::string> faults = verify_snapshot(*s, false);
    ASSERT_FALSE(faults.empty()) << words;
    EXPECT_TRUE(std::ranges::any_of(
        faults, [&word = words](const std::string& fault) { return fault.find(word) != std::string::npos; }))
        << words << ": " << faults.front();
  }
}

TEST(Verify, SeesAFalseClaimThatNoSumRounds) {
  Random random(3);
  const Table table = random_table(random, ValueClass::uniform_f64, 100, 3);
  const std::shared_ptr<Snapshot> s = bulk_load(table.view(), {});
  ASSERT_FALSE(s->exact_sums);
  s->exact_sums = true;
  EXPECT_FALSE(verify_snapshot(*s, false).empty());
}

TEST(Verify, FindsNoFaultInSoundSnapshots) {
  Random random(2);
  for (const ValueClass value_class : all_value_classes())
    for (const std::size_t num_rows : {std::size_t{0}, std::size_t{1}, std::size_t{17}, std::size_t{1500}})
      for (const Partitioning partitioning : {Partitioning::kd, Partitioning::angle, Partitioning::random}) {
        const Table table = random_table(random, value_class, num_rows, random_width(random, 12));
        const std::vector<std::string> faults = verify_snapshot(
            *bulk_load(table.view(), {.partitioning = partitioning, .num_partitions = 6, .leaf_rows = 16}),
            true);
        EXPECT_TRUE(faults.empty()) << value_class_name(value_class) << ": " << faults.front();
      }
}

TEST(Verify, StopsAfterAHundredFaults) {
  const std::shared_ptr<Snapshot> s = sound_snapshot();
  for (std::size_t leaf = 0; leaf < s->num_leaves; ++leaf)
    for (std::size_t i = 0; i < 48; ++i) values_of(*s, leaf)[i] = 9;
  EXPECT_EQ(verify_snapshot(*s, true).size(), 100u);
}

}  // namespace
}  // namespace culmen::test
