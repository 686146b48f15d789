// Index directories: any change to a valid one, with every checksum recomputed, gives an error or a snapshot that is
// safe to search and to write to. Without recomputed checksums a fuzzer would never pass the first check. If the
// manifest's text is unchanged, the frame files are read without it. Some inputs run through a whole index: batches in
// the log, checkpoints, compactions, and another open.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "cpu/bounded.h"
#include "culmen/error.h"
#include "culmen/filter.h"
#include "index/field_key.h"
#include "index/snapshot_fields.h"
#include "index/storage/manifest.h"
#include "index/storage/snapshot_files.h"
#include "index/storage/store.h"
#include "index/verify.h"
#include "index/write/live_index.h"
#include "query/resolve.h"
#include "tests/fuzz/bytes_directory.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/lies.h"
#include "tests/fuzz/writes.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::fuzz {
namespace {

using storage::Bytes;
using storage::FileKind;

// An input of this target: one byte that chooses the index, then changes of 8 bytes.
struct Edit {
  std::uint8_t target;  // modulo 64, 4: a member of the manifest; 5: a byte of its text; 6 to 9: a Lie, of
                        // which 8 and 9 are covered up; else a frame file, modulo their number
  std::uint8_t width;   // of the value written, in bytes: 1, 2, 4 or 8
  std::uint16_t frame;
  std::uint16_t offset;
  std::uint16_t value;  // below kValues.size(): one of these; else itself
};
static_assert(sizeof(Edit) == 8);
constexpr std::uint8_t kManifestMember = 4, kManifestText = 5, kFirstLie = 6, kFirstCoveredLie = 8,
                       kLastLie = 9;
constexpr std::array<std::uint8_t, storage::kFileKinds.size()> kFileTargets = {0, 1, 2, 3, 10, 11, 12};
constexpr std::size_t kOneIndexIn = 512;  // a whole index costs as much as many snapshots

bool is_of(std::uint8_t target, const Edit& change) {
  return change.target % 64 == target;
}
bool is_lie(const Edit& change) {
  return change.target % 64 >= kFirstLie && change.target % 64 <= kLastLie;
}
bool is_of_manifest(const Edit& change) {
  return is_of(kManifestMember, change) || is_of(kManifestText, change);
}

constexpr std::array<std::uint64_t, 25> kValues = {0,
                                                   1,
                                                   2,
                                                   3,
                                                   15,
                                                   16,
                                                   17,
                                                   31,
                                                   32,
                                                   33,
                                                   63,
                                                   64,
                                                   65,
                                                   4096,
                                                   0xffff,
                                                   0x7fffffff,
                                                   0x80000000,
                                                   0xffffffff,
                                                   std::uint64_t{1} << 62,
                                                   ~std::uint64_t{0},
                                                   0x7fc00000,  // NaN and -infinity, float32
                                                   0xff800000,
                                                   0x7ff8000000000000,  // and float64
                                                   0xfff0000000000000,
                                                   0x7e007e00};  // NaN, float16, twice

constexpr std::size_t kNumFiles = storage::kFileKinds.size();

struct Base {
  std::array<Bytes, kNumFiles> files;
  std::array<std::string, kNumFiles> names;
  Bytes log;
  storage::Manifest manifest;
  storage::Current current;
  std::array<std::vector<std::size_t>, kNumFiles> frame_starts;  // by file, followed by its end

  bool has(std::size_t file) const { return !frame_starts[file].empty(); }
};

Base make_base(const storage::Shape& shape) {
  storage::MemoryFileSystem system;
  storage::save(*storage::make_snapshot(shape), system, "index", false);
  const std::map<std::string, Bytes> files = system.files("index");
  const auto text_of = [&](const char* name) {
    const Bytes& bytes = files.at(name);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  Base base;
  base.manifest = storage::parse_manifest(text_of("MANIFEST-1"), "");
  base.current = storage::parse_current(text_of("CURRENT"), "");
  base.log = files.at("WAL-1");
  for (std::size_t file = 0; file < kNumFiles; ++file) {
    base.names[file] = storage::file_name(storage::kFileKinds[file], base.manifest.snapshot.number);
    const auto found = files.find(base.names[file]);
    if (found == files.end()) continue;
    base.files[file] = found->second;
    base.frame_starts[file] = storage::frame_starts(found->second);
  }
  return base;
}

// Small ones first, which are quick to read; larger ones from kNumSmall on.
constexpr std::size_t kNumSmall = 7;
const std::vector<Base>& bases() {
  static const std::vector<Base> all = {
      make_base({.rows = 20, .attributes = 2, .partitioning = Partitioning::kd, .partitions = 2}),
      make_base({.rows = 20, .attributes = 1, .labels = false, .partitioning = Partitioning::random}),
      make_base({.rows = 5, .attributes = 3, .float64 = true}),
      make_base({.rows = 40,
                 .attributes = 1,
                 .float64 = true,
                 .partitioning = Partitioning::random,
                 .partitions = 2}),
      make_base({.rows = 0, .attributes = 3}),
      make_base({.rows = 20, .attributes = 2, .labels = false, .gaps = true}),
      make_base({.rows = 24, .attributes = 1, .labels = false, .fields = 3, .gaps = true}),
      make_base({.rows = 100, .attributes = 2, .partitions = 3}),
      make_base({.rows = 400, .attributes = 3, .partitioning = Partitioning::kd, .partitions = 15}),
      make_base({.rows = 60, .attributes = 2, .partitions = 3, .late_splits = 5}),
      make_base({.rows = 700,
                 .attributes = 1,
                 .labels = false,
                 .partitioning = Partitioning::random,
                 .partitions = 2}),
      make_base({.rows = 40, .attributes = 9, .float64 = true}),
      make_base({.rows = 100, .attributes = 3, .float64 = true, .fields = 8, .gaps = true}),
      make_base({.rows = 600, .attributes = 2, .labels = false, .partitions = 2, .fields = 9}),
      make_base({.rows = 300,
                 .attributes = 2,
                 .labels = false,
                 .partitioning = Partitioning::kd,
                 .partitions = 12,
                 .fields = 8,
                 .gaps = true,
                 .cluster = "brand0"}),
      make_base({.rows = 300,
                 .attributes = 2,
                 .partitioning = Partitioning::kd,
                 .partitions = 12,
                 .cluster = "a1"}),
  };
  return all;
}

// To what the manifest's text could say.
void change_field(storage::Manifest& manifest, const Edit& change, std::uint64_t value) {
  if (manifest.fields.empty()) return;
  const std::size_t f = change.frame % manifest.fields.size();
  Field& field = manifest.fields[f];
  storage::DictionarySize& size = manifest.dictionary_sizes[f];
  if (change.width % 4 == 0) field.format.type = static_cast<ColumnType>(value % 6);
  if (change.width % 4 == 1) field.role = static_cast<FieldRole>(value % 2);
  if (!has_dictionary(field)) {
    size = {};
  } else if (change.width % 4 == 2) {
    size.num_texts = value % Dictionary::kMaxTexts;
  } else {
    size.text_bytes = value % (std::uint64_t{1} << 40);
  }
}

constexpr std::uint16_t kNumMembers = 20;

void change_member(storage::Manifest& manifest, const Edit& change, std::uint64_t value) {
  const auto number = static_cast<double>(value);
  std::uint64_t* const counts[] = {&manifest.num_rows,       &manifest.num_leaves,     &manifest.num_cuts,
                                   &manifest.num_partitions, &manifest.rounded_values, &manifest.version,
                                   &manifest.snapshot.number};
  AttributeStats& stats = manifest.stats[change.frame % manifest.stats.size()];
  BoundUnit& unit = manifest.units[change.frame % manifest.units.size()];
  switch (change.offset % kNumMembers) {
    case 16:
      manifest.has_gaps ^= value % 2 == 0;
      break;
    case 17:
      if (!manifest.stand_ins.empty()) manifest.stand_ins[change.frame % manifest.stand_ins.size()] = number;
      manifest.attributes[change.frame % manifest.attributes.size()].stand_in =
          static_cast<StandIn>(value % 5);
      break;
    case 18:
      change_field(manifest, change, value);
      break;
    case 19:
      manifest.cluster =
          static_cast<std::uint32_t>(value % (manifest.attributes.size() + manifest.fields.size()));
      break;
    case 7:
      manifest.leaf_rows = static_cast<int>(value);
      break;
    case 8:
      manifest.level_nodes.resize(value % 80, value);
      break;
    case 9:
      if (!manifest.level_nodes.empty())
        manifest.level_nodes[change.frame % manifest.level_nodes.size()] = value;
      break;
    case 10:
      manifest.splits.assign(change.frame % 4, static_cast<std::int32_t>(value));
      break;
    case 11:
      stats.maximum = number;
      break;
    case 12:
      stats.minimum = -number;
      break;
    case 13:
      unit.exponent = static_cast<int>(value), unit.origin = number;
      break;
    case 14:
      manifest.files[change.frame % kNumFiles].bytes = value;
      break;
    case 15:
      manifest.has_labels ^= value % 2 == 0;
      if (value % 3 == 0) manifest.value_type = ValueType::float64;
      if (value % 5 == 0) manifest.partitioning = Partitioning::random;
      break;
    default:
      *counts[change.offset % kNumMembers] = value;
  }
}

void change_frame(const std::vector<std::size_t>& starts, Bytes& file, const Edit& change,
                  std::uint64_t value) {
  if (starts.size() < 2) return;
  const std::size_t frame = change.frame % (starts.size() - 1);
  const std::size_t at = starts[frame] + change.offset % (starts[frame + 1] - starts[frame]);
  const std::size_t width = std::size_t{1} << change.width % 4;
  std::memcpy(file.data() + at, &value, std::min(width, file.size() - at));
}

std::uint64_t value_of(const Edit& change) {
  return change.value < kValues.size() ? kValues[change.value] : std::uint64_t{change.value};
}

// A base index with the changes applied.
class Changed {
 public:
  Changed(const Base& base, std::span<const Edit> changes)
      : base_(base), manifest_(base.manifest), frame_starts_(base.frame_starts) {
    for (const Edit& change : changes)
      if (is_lie(change)) lie(change);
    for (const Edit& change : changes) {
      const std::size_t f = change.target % 64 % kNumFiles;
      if (is_of_manifest(change) || is_lie(change) || !base.has(f)) continue;
      if (files_[f].empty()) files_[f] = base.files[f];
      change_frame(frame_starts_[f], files_[f], change, value_of(change));
    }
    for (std::size_t f = 0; f < kNumFiles; ++f)
      if (!files_[f].empty()) manifest_.files[f] = storage::with_good_checksums(frame_starts_[f], files_[f]);
    for (const Edit& change : changes)
      if (is_of(kManifestMember, change)) change_member(manifest_, change, value_of(change));
  }

  // The frame files, without the manifest's text.
  std::shared_ptr<Snapshot> read_frame_files(Loading loading = Loading::whole) const {
    std::vector<BytesDirectory::Entry> entries;
    for (std::size_t f = 0; f < kNumFiles; ++f)
      if (base_.has(f)) entries.emplace_back(base_.names[f], file(f));
    return storage::read_snapshot(BytesDirectory(std::move(entries)), manifest_, loading);
  }

  // All of it, in a directory called "index".
  storage::MemoryFileSystem system(std::span<const Edit> changes) const {
    std::string text = storage::to_text(manifest_);
    for (const Edit& change : changes)
      if (is_of(kManifestText, change)) text[change.offset % text.size()] = static_cast<char>(change.value);
    storage::Current current = base_.current;
    current.manifest_bytes = text.size();
    current.manifest_digest = storage::digest_of(std::as_bytes(std::span(text)));
    std::map<std::string, Bytes> all = {{"MANIFEST-1", bytes_of(text)},
                                        {"CURRENT", bytes_of(storage::to_text(current))},
                                        {"WAL-1", base_.log}};
    for (std::size_t f = 0; f < kNumFiles; ++f)
      if (base_.has(f)) all[base_.names[f]] = file(f);
    storage::MemoryFileSystem system;
    system.put("index", all);
    return system;
  }

 private:
  // Lies come before all other changes, so the leaves can be decoded.
  void lie(const Edit& change) {
    constexpr std::size_t kLeaves = 0, kNodes = 1;
    for (const std::size_t f : {kLeaves, kNodes})
      if (files_[f].empty()) files_[f] = base_.files[f];
    Liar liar(manifest_, storage::read_leaf_rows(base_.manifest, files_[kLeaves]), files_[kNodes]);
    liar.tell(static_cast<Lie>(change.offset % static_cast<unsigned>(Lie::count)),
              change.frame + 256u * change.width, change.value);
    if (manifest_.num_leaves > 0 && change.target % 64 >= kFirstCoveredLie) liar.cover_up();
    files_[kLeaves] = storage::write_leaf_rows(manifest_, liar.leaves());
    frame_starts_[kLeaves] = storage::frame_starts(files_[kLeaves]);
  }

  const Bytes& file(std::size_t number) const {
    return files_[number].empty() ? base_.files[number] : files_[number];
  }
  static Bytes bytes_of(const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }

  const Base& base_;
  storage::Manifest manifest_;
  std::array<Bytes, kNumFiles> files_;  // the files that changed
  std::array<std::vector<std::size_t>, kNumFiles> frame_starts_;
};

// Everything engines rely on to stay inside their arrays and to keep numbers finite.
void check_tree(const Snapshot& s) {
  std::vector<std::size_t> nodes;
  if (s.height > 0) nodes.push_back(s.root);
  std::vector<int> times_reached(s.num_leaves);
  while (!nodes.empty()) {
    const NodeRef node = s.node(nodes.back());
    nodes.pop_back();
    for (std::uint32_t c = 0; c < node.header().num_children; ++c) {
      for (int row = 0; row < s.layout.num_rows(); ++row)
        require(!std::isnan(node.bounds()[row][c]), "NaN bound");
      if (node.header().level == 1) {
        ++times_reached.at(node.children()[c]);
      } else {
        require(s.node(node.children()[c]).header().level + 1 == node.header().level, "level");
        nodes.push_back(node.children()[c]);
      }
    }
  }
  require(std::all_of(times_reached.begin(), times_reached.end(), [](int times) { return times == 1; }),
          "reached once");
}

std::string text_of_field(const Snapshot& s, std::uint32_t leaf, std::uint32_t row, std::size_t f) {
  const LeafFields fields = s.leaf_fields(leaf);
  if (fields.misses_field(f, row)) return "";
  if (is_stored_text(s.fields[f])) return std::string(s.leaf_texts(leaf).text(f, row));
  const std::int64_t key = fields.key(f, row);
  if (has_dictionary(s.fields[f])) return std::string((*s.dictionaries[f])[static_cast<std::uint32_t>(key)]);
  return std::to_string(key);
}

std::uint64_t check_rows(const Snapshot& s) {
  std::uint64_t sum = 0, num_rows = 0;
  for (const std::uint32_t leaf : s.order().leaves) {
    num_rows += s.leaf(leaf).num_rows;
    for (std::uint32_t r = 0; r < s.leaf(leaf).num_rows; ++r) {
      const std::uint64_t row = leaf * static_cast<std::uint64_t>(s.leaf_rows) + r;
      for (std::size_t i = 0; i < s.attributes.size(); ++i) {
        const AttributeStats& stats = s.stats[i];
        const double value = s.value(row, static_cast<int>(i));
        if (s.leaf_fields(leaf).misses_attribute(i, r)) {
          require(value == s.stand_ins.at(i), "stand-in");
        } else {
          require(value >= stats.minimum && value <= stats.maximum, "value range");
        }
      }
      for (std::size_t f = 0; f < s.fields.size(); ++f)
        for (const char c : text_of_field(s, leaf, r, f)) sum += static_cast<unsigned char>(c);
      for (char c : s.label(row)) sum += static_cast<unsigned char>(c);
      sum += static_cast<std::uint64_t>(s.leaf_ids(leaf)[r]);
    }
  }
  require(num_rows == s.num_rows, "row count");
  return sum;
}

void check_partitions(const Snapshot& s) {
  for (const PartitionRange& range : s.order().partitions)
    for (std::uint32_t leaf = 0; leaf < range.num_leaves; ++leaf)
      require(range.first_leaf + leaf < s.num_leaves, "leaf number");
  if (s.num_leaves == 0) return;
  RowChunk row(1, s.attributes.size());
  for (std::size_t i = 0; i < s.attributes.size(); ++i) row(0, i) = s.value(0, static_cast<int>(i));
  OrderKey key = 0;
  const double cluster =
      s.partitioner->has_cluster_field() ? cut_value(s, 0, 0, *s.partitioner->cluster()) : 0;
  s.partitioner->keys(row, 0, s.num_rows, {&key, 1}, {&cluster, 1});
  require(partition_of(key) < s.partitioner->num_partitions(), "partition");
}

// A row in its leaf.
struct PlacedRow {
  std::uint32_t leaf, row;
};
using Passes = std::function<bool(const PlacedRow&)>;

// A filter over some column, and what it says of a row.
std::pair<Filter, Passes> some_filter(const Snapshot& s, std::uint64_t random) {
  const std::size_t column = random / 8 % (s.attributes.size() + s.fields.size());
  if (column < s.attributes.size()) {
    const Column it = col(static_cast<int>(column));
    const bool wants_missing = random % 2 == 0;
    return {wants_missing ? it.is_null() : it.is_not_null(),
            [&s, column, wants_missing](const PlacedRow& at) {
              return s.leaf_fields(at.leaf).misses_attribute(column, at.row) == wants_missing;
            }};
  }
  const std::size_t f = column - s.attributes.size();
  const Field& field = s.fields[f];
  const Column it = col(field.name);
  const auto misses = [&s, f](const PlacedRow& at) { return s.leaf_fields(at.leaf).misses_field(f, at.row); };
  if (random % 4 == 0 || field.role == FieldRole::stored) return {it.is_null(), misses};  // stored: refused
  if (has_dictionary(field)) {
    const std::string text = "text " + std::to_string(random / 512 % 40);
    const auto has_text = [&s, f, misses, text](const PlacedRow& at, bool whole) {
      const std::string here = text_of_field(s, at.leaf, at.row, f);
      return !misses(at) && (whole ? here == text : here.starts_with(text));
    };
    const bool whole = random % 4 == 1;
    return {whole ? it == text : it.starts_with(text),
            [=](const PlacedRow& at) { return has_text(at, whole); }};
  }
  if (field.format.type != ColumnType::integer) return {it.is_null(), misses};
  const auto most = static_cast<std::int64_t>(random / 512 % 1024);
  return {it <= Literal(most), [&s, f, misses, most](const PlacedRow& at) {
            return !misses(at) && s.leaf_fields(at.leaf).key(f, at.row) <= most;
          }};
}

std::map<std::int64_t, PlacedRow> rows_by_id(const Snapshot& s) {
  std::map<std::int64_t, PlacedRow> rows;
  for (const std::uint32_t leaf : s.order().leaves)
    for (std::uint32_t r = 0; r < s.leaf(leaf).num_rows; ++r) rows[s.leaf_ids(leaf)[r]] = {leaf, r};
  return rows;
}

// Bounds may be lies and ids may be there twice, so rows may be left out.
void search_with_filter(const Snapshot& s, std::vector<double> weights, std::uint64_t random) {
  const auto [filter, passes] = some_filter(s, next_random(random));
  const Missing missing = random % 2 == 0 ? Missing::skip : Missing::fill;
  const bool negates = random % 8 == 1;
  const ResolvedQuery query =
      resolve({.weights = weights, .k = 50, .where = negates ? !filter : filter, .missing = missing}, s);
  SearchStats stats;
  const std::map<std::int64_t, PlacedRow> rows = rows_by_id(s);
  if (rows.size() != s.num_rows) return;
  for (const Hit& hit : cpu::search_bounded(s, query, stats)) {
    const PlacedRow& at = rows.at(hit.id);
    if (!negates) require(passes(at), "a row that the filter lets pass");
    if (negates) require(!passes(at), "a row that the filter does not let pass");
    for (std::size_t i = 0; missing == Missing::skip && i < weights.size(); ++i)
      require(weights[i] == 0 || !s.leaf_fields(at.leaf).misses_attribute(i, at.row), "no gap is ranked");
  }
}

std::vector<double> some_weights(const Snapshot& s, std::uint64_t& random) {
  std::vector<double> weights;
  for (int i = 0; i < s.num_attributes(); ++i)
    weights.push_back(static_cast<double>(next_random(random) % 7) - 2);
  return weights;
}

// Before the checks between frames were made, a search ends with some rows or with an error.
void search_on_touch(const Snapshot& s, std::uint64_t random) {
  if (s.num_rows == 0) return;
  try {
    const std::vector<double> weights = some_weights(s, random);
    const auto [filter, passes] = some_filter(s, next_random(random));
    SearchStats stats;
    for (const Filter& where : {Filter(), filter}) {
      const ResolvedQuery query = resolve({.weights = weights, .k = 1 + random % 20, .where = where}, s);
      const std::vector<Hit> hits = cpu::search_bounded(s, query, stats);
      require(hits.size() <= query.k, "k rows at most");
      for (const Hit& hit : hits)
        require(s.id(hit.row) == hit.id && s.label(hit.row).size() < 1 << 20, "row");
    }
  } catch (const Error&) {
  }
}

// A writer neither leaves its arrays nor goes on for ever, and does not write to what is read later.
void write_on_touch(const std::shared_ptr<const Snapshot>& s, std::uint64_t random) {
  try {
    search_on_touch(*write_some(s, random), random);
  } catch (const Error&) {
  }
}

void search(const std::shared_ptr<const Snapshot>& s, std::uint64_t random) {
  const std::vector<double> weights = some_weights(*s, random);
  if (s->num_rows == 0) return;
  const ResolvedQuery query = resolve({.weights = weights, .k = 1 + random % 20}, *s);
  SearchStats stats;
  const std::vector<Hit> hits = cpu::search_bounded(*s, query, stats);
  require(hits.size() <= query.k, "k rows at most");
  search_with_filter(*s, weights, random);
}

void check_snapshot(const std::shared_ptr<const Snapshot>& s, std::uint64_t random) {
  check_tree(*s);
  check_partitions(*s);
  [[maybe_unused]] const volatile std::uint64_t sum = check_rows(*s);  // the reads must happen
  search(s, random);
}

void check_writes(const std::shared_ptr<const Snapshot>& s, std::uint64_t random) {
  const std::shared_ptr<const Snapshot> written = write_some(s, random);
  [[maybe_unused]] const volatile std::uint64_t sum = check_rows(*written);
  search(written, random);
}

// The table of a batch: rows like an existing one.
void insert_into(LiveIndex& index, std::uint64_t& random) {
  const std::shared_ptr<const Snapshot> s = index.published()->get();
  std::vector<std::int64_t> ids;
  for (std::uint64_t left = next_random(random) % 40; left > 0; --left)
    ids.push_back(static_cast<std::int64_t>(next_random(random) % 512));
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::vector<std::vector<double>> columns;
  for (int i = 0; i < s->num_attributes(); ++i)
    for (columns.emplace_back(); columns.back().size() < ids.size();)
      columns.back().push_back(static_cast<double>(next_random(random) % 1024) / 4);
  TableView table{ids.size(), s->attributes, {}, ids, {}};
  for (const std::vector<double>& column : columns) table.columns.emplace_back(column);
  const storage::FieldColumns fields({.rows = ids.size(),
                                      .seed = random,
                                      .fields = static_cast<int>(s->fields.size()),
                                      .gaps = random % 2 == 0},
                                     table);
  index.write(WriteBatch().upsert(table), {});
  for (std::int64_t& id : ids) id = id * 7 - 50;
  index.write(WriteBatch().erase(ids), {});
}

// Whatever happens to the directory in between, it can be opened again.
void check_index(storage::MemoryFileSystem system, std::uint64_t random) {
  const auto open = [&system, &random](bool writable) {
    const bool on_touch = writable && next_random(random) % 2 == 0;
    const OpenOptions options = {
        .writable = writable, .num_threads = 1, .loading = on_touch ? Loading::on_touch : Loading::whole};
    return std::make_unique<LiveIndex>(system, "index", options);
  };
  auto index = open(true);
  for (int round = 0; round < 2; ++round) {
    insert_into(*index, random);
    if (random % 3 == 0) index->checkpoint();
    if (random % 5 == 0) index->compact();
    if (round == 0) index = nullptr, index = open(true);  // with the batches in its log
  }
  index->close();
  const std::shared_ptr<const Snapshot> read = open(false)->published()->get();
  check_rows(*read);
  search(read, random);
  static_cast<void>(verify_snapshot(*read, true));
}

std::string change_bytes(const Edit& change) {
  return {reinterpret_cast<const char*>(&change), sizeof change};
}

}  // namespace

static std::size_t num_seeds_of(std::size_t base, std::uint8_t target) {
  if (target >= kFirstLie && target <= kLastLie) return 12;
  return base < kNumSmall && std::ranges::find(kFileTargets, target) != kFileTargets.end() ? 16 : 1;
}

std::vector<std::string> seed_inputs() {
  std::vector<std::string> seeds;
  std::mt19937 random(1);
  for (std::size_t base = 0; base < bases().size(); ++base) {
    const std::string start(1, static_cast<char>(base));
    seeds.push_back(start);
    for (std::uint8_t target = 0; target <= kFileTargets.back(); ++target)
      for (std::size_t i = 0; i < num_seeds_of(base, target); ++i)
        seeds.push_back(start + change_bytes({target, static_cast<std::uint8_t>(random() % 4),
                                              static_cast<std::uint16_t>(random() % 8),
                                              static_cast<std::uint16_t>(random() % 600),
                                              static_cast<std::uint16_t>(random() % kValues.size())}));
  }
  return seeds;
}

std::vector<std::string> tokens() {
  std::vector<std::string> all;
  for (const std::uint8_t target : kFileTargets)
    for (std::uint16_t offset = 0; offset < 640; offset = static_cast<std::uint16_t>(offset + 4))
      for (std::uint16_t value = 0; value < kValues.size(); ++value)
        all.push_back(change_bytes({target, 2, static_cast<std::uint16_t>(value % 5 + 1), offset, value}));
  for (std::uint16_t member = 0; member < kNumMembers; ++member)
    for (std::uint16_t value = 0; value < kValues.size(); ++value)
      all.push_back(change_bytes({kManifestMember, 2, static_cast<std::uint16_t>(value % 5), member, value}));
  return all;
}

}  // namespace culmen::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culmen;
  using namespace culmen::fuzz;
  if (size == 0) return 0;
  std::vector<Edit> changes((size - 1) / sizeof(Edit));
  if (!changes.empty()) std::memcpy(changes.data(), data + 1, changes.size() * sizeof(Edit));
  const Changed changed(bases()[data[0] % bases().size()], changes);
  const bool is_text_changed = std::any_of(changes.begin(), changes.end(), is_of_manifest);
  std::uint64_t random = storage::checksum_of(std::as_bytes(std::span(data, size)));
  try {
    if (next_random(random) % kOneIndexIn == 0) return check_index(changed.system(changes), random), 0;
    std::shared_ptr<const Snapshot> snapshot;
    if (is_text_changed) {
      storage::MemoryFileSystem system = changed.system(changes);
      snapshot = storage::load(system, "index");
    } else {
      const bool on_touch = next_random(random) % 2 == 0;
      snapshot = changed.read_frame_files(on_touch ? Loading::on_touch : Loading::whole);
      if (on_touch) search_on_touch(*snapshot, random);
      if (on_touch && next_random(random) % 2 == 0) write_on_touch(snapshot, random);
      snapshot->require_all();
    }
    check_snapshot(snapshot, random);
    if (next_random(random) % 2 == 0) check_writes(snapshot, random);
  } catch (const Error&) {
  }
  return 0;
}
