// The body of a batch in the log: any bytes, with lengths, labels and ids repaired or not, give an error or a change
// that is written as the same bytes. Some are applied to a tree, which refuses the change or is valid afterwards.
#include <algorithm>
#include <array>
#include <cstring>

#include "culmen/error.h"
#include "index/storage/hash.h"
#include "index/verify.h"
#include "index/write/change.h"
#include "index/write/change_fold.h"
#include "index/write/tree_writer.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/writes.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::fuzz {
namespace {

// Parts of an input's first byte: which index; whether lengths, labels and ids are repaired.
constexpr std::uint8_t kShapes = 3, kGoodLengths = 4, kGoodLabels = 8, kGoodIds = 16;
// With fields: they are good if the lengths are, or all but one byte is.
constexpr std::uint8_t kFields = 32, kBadByte = 64;

constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kOneTreeIn = 64;  // a tree costs as much as many bodies

// As in docs/format.md; the rest of the header may be anything.
struct Lengths {
  std::uint64_t num_removed, num_rows, value_bytes, text_bytes, has_labels;
};

struct Base {
  std::shared_ptr<const Snapshot> snapshot;
  LeafShape shape;
};

// Of an input's first byte.
std::size_t base_number(std::uint8_t flags) {
  return (flags & kShapes) + ((flags & kFields) != 0 ? std::size_t{kShapes} + 1 : 0);
}

const Base& base(std::size_t number) {
  static const auto make = [](const storage::Shape& shape) {
    Base made{storage::make_snapshot(shape), {}};
    made.shape = made.snapshot->leaf_shape();
    return made;
  };
  static const std::array<Base, 2 * (kShapes + 1)> all = {
      make({.rows = 60, .attributes = 2, .labels = false}),
      make({.rows = 40, .attributes = 1, .labels = true}),
      make({.rows = 20, .attributes = 3, .float64 = true, .labels = true}),
      make({.rows = 0, .attributes = 2, .labels = true}),
      make({.rows = 60, .attributes = 2, .labels = false, .fields = 8, .gaps = true}),
      make({.rows = 40, .attributes = 1, .labels = true, .gaps = true}),
      make({.rows = 20, .attributes = 3, .float64 = true, .labels = true, .fields = 9}),
      make({.rows = 0, .attributes = 2, .labels = true, .fields = 3}),
  };
  return all[number];
}

// Where the sections of a body begin if its lengths are valid.
struct Sections {
  std::size_t removed = kHeaderBytes, ids, label_ends, text, end;

  Sections(const Lengths& lengths)
      : ids(removed + 8 * lengths.num_removed),
        label_ends(ids + 8 * lengths.num_rows + lengths.value_bytes),
        text(label_ends + 8 * lengths.has_labels * lengths.num_rows),
        end(text + lengths.text_bytes) {}
};

// Lengths that add up to the bytes that are there: as many rows as asked for, or as fit.
Lengths make_lengths_good(std::vector<std::byte>& body, const LeafShape& shape) {
  Lengths lengths;
  body.resize(std::max(body.size(), kHeaderBytes));
  std::memcpy(&lengths, body.data(), sizeof lengths);
  lengths.has_labels = shape.has_labels ? lengths.has_labels % 2 : 0;
  std::size_t rest = body.size() - kHeaderBytes;
  const std::size_t row_bytes = shape.num_attributes * shape.value_bytes;
  const std::size_t bytes_of_row = 8 + row_bytes + 8 * lengths.has_labels;
  lengths.num_rows = std::min(lengths.num_rows % 64, rest / bytes_of_row);
  rest -= lengths.num_rows * bytes_of_row;
  lengths.num_removed = std::min(lengths.num_removed % 64, rest / 8);
  rest -= lengths.num_removed * 8;
  lengths.value_bytes = lengths.num_rows * row_bytes;
  lengths.text_bytes = lengths.has_labels != 0 && lengths.num_rows > 0 ? rest : 0;
  std::memcpy(body.data(), &lengths, sizeof lengths);
  std::memset(body.data() + 56, 0, 8);  // reserved
  body.resize(Sections(lengths).end);
  return lengths;
}

void make_labels_good(std::vector<std::byte>& body, const Lengths& lengths) {
  if (lengths.has_labels == 0) return;
  std::byte* const ends = body.data() + Sections(lengths).label_ends;
  std::uint64_t end = 0;
  for (std::uint64_t row = 0; row < lengths.num_rows; ++row) {
    end = std::min(end + std::to_integer<std::uint64_t>(ends[8 * row]) % 16, lengths.text_bytes);
    if (row + 1 == lengths.num_rows) end = lengths.text_bytes;
    std::memcpy(ends + 8 * row, &end, sizeof end);
  }
}

// Few different ones, so that some are in the index: those of the base are row * 7 - 50.
void make_ids_good(std::vector<std::byte>& body, const Lengths& lengths) {
  constexpr std::size_t kNextIdAt = 48;
  constexpr std::int64_t kNextId = 61 * 7;
  std::memcpy(body.data() + kNextIdAt, &kNextId, sizeof kNextId);
  const std::uint64_t num_ids = lengths.num_removed + lengths.num_rows;
  const Sections sections(lengths);
  for (std::uint64_t i = 0; i < num_ids; ++i) {
    std::byte* const at =
        body.data() +
        (i < lengths.num_removed ? sections.removed + 8 * i : sections.ids + 8 * (i - lengths.num_removed));
    std::uint64_t number;
    std::memcpy(&number, at, sizeof number);
    const std::int64_t id = static_cast<std::int64_t>(number % 61) * 7 - 50;
    std::memcpy(at, &id, sizeof id);
  }
}

void add_fields(std::vector<std::byte>& body, const Base& base, bool has_bad_byte) {
  Change change = decode(body, base.shape);
  std::uint64_t random = storage::checksum_of(body);
  if (change.num_rows() > 0) change.fields = some_fields(base.snapshot->fields, change.num_rows(), random);
  const std::size_t start = body.size();
  body = encode(change);
  if (has_bad_byte && body.size() > start)
    body[start + random % (body.size() - start)] ^= static_cast<std::byte>(1U << random / 64 % 8);
}

void check_change(const Change& change, std::span<const std::byte> body, const Base& base) {
  const LeafShape& shape = base.shape;
  const std::size_t num_values = change.num_rows() * shape.num_attributes;
  require(change.values.size() == num_values * shape.value_bytes, "values of each row");
  std::size_t text_bytes = 0;
  for (std::size_t row = 0; row < change.num_rows(); ++row) text_bytes += change.label(row).size();
  require(text_bytes == change.label_text.size(), "labels that make up the text");
  const std::vector<std::byte> written = encode(change);
  if (change.num_rows() > 0) require(std::ranges::equal(written, body), "a change has one form");
  require(encode(decode(written, shape, base.snapshot->fields)) == written, "what is written can be read");
}

void check_tree(const Base& base, const Change& change) {
  TreeWriter tree(base.snapshot);
  ChangeFold checked(
      base.shape, tree.current().next_id, [&tree](std::int64_t id) { return tree.contains(id); },
      base.snapshot->fields);
  checked.add(change);
  tree.apply(checked.fold());
  const auto next = tree.finish_version(base.snapshot->version + 1);
  require(next != nullptr, "a version");
  require(next->num_rows + change.removed.size() == base.snapshot->num_rows + change.num_rows(),
          "the number of rows");
  const std::vector<std::string> faults = verify_snapshot(*next, true);
  if (!faults.empty()) require(false, faults.front());
}

Change some_change(const Base& base, std::size_t num_removed, std::size_t num_rows, bool labels) {
  Change change;
  for (std::size_t i = 0; i < num_removed; ++i)
    change.removed.push_back(static_cast<std::int64_t>(i * 7) - 50);
  for (std::size_t i = 0; i < num_rows; ++i) change.ids.push_back(static_cast<std::int64_t>(i * 3) + 1000);
  const std::size_t num_values = num_rows * base.shape.num_attributes;
  for (std::size_t i = 0; i < num_values; ++i) {
    const double value = 0.25 * static_cast<double>(i);
    const auto narrow = static_cast<float>(value);
    const auto bytes = base.shape.value_bytes == sizeof narrow ? std::as_bytes(std::span(&narrow, 1))
                                                               : std::as_bytes(std::span(&value, 1));
    change.values.insert(change.values.end(), bytes.begin(), bytes.end());
  }
  for (std::size_t i = 0; labels && i < num_rows; ++i) {
    change.label_text.insert(change.label_text.end(), i % 4, 'x');
    change.label_ends.push_back(change.label_text.size());
  }
  std::uint64_t random = num_rows;
  if (num_rows > 0) change.fields = some_fields(base.snapshot->fields, num_rows, random);
  change.next_id = 2000;
  return change;
}

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

std::vector<std::string> seed_inputs() {
  constexpr std::uint8_t kFixes[] = {0, kGoodLengths, kGoodLengths | kGoodLabels,
                                     kGoodLengths | kGoodLabels | kGoodIds};
  std::vector<std::string> seeds;
  constexpr std::uint8_t kBases[] = {0, 1, 2, 3, 32, 33, 34, 35, 96, 97};
  for (const std::uint8_t number : kBases) {
    const Base& index = base(base_number(number));
    const std::size_t num_removed = std::min<std::size_t>(index.snapshot->num_rows, 5);
    for (const std::uint8_t fixes : kFixes) {
      for (const std::size_t num_rows : {std::size_t{0}, std::size_t{4}, std::size_t{40}}) {
        const std::vector<std::byte> body =
            encode(some_change(index, num_removed, num_rows, index.shape.has_labels));
        seeds.push_back(static_cast<char>(number | fixes) +
                        std::string(reinterpret_cast<const char*>(body.data()), body.size()));
      }
    }
  }
  return seeds;
}

std::vector<std::string> tokens() {
  std::vector<std::string> all = {bytes_of(0.5f),         bytes_of(-0.0f),
                                  bytes_of(-0.0),         bytes_of(1e30f),
                                  bytes_of(1e300),        bytes_of(std::numeric_limits<float>::infinity()),
                                  bytes_of(-1e-300),      bytes_of(std::numeric_limits<double>::quiet_NaN()),
                                  std::string(8, '\xFF'), std::string(16, '\0')};
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{8}, std::uint64_t{64},
                                    std::uint64_t{1} << 32, std::uint64_t{1} << 61, std::uint64_t{1} << 63,
                                    static_cast<std::uint64_t>(-50), static_cast<std::uint64_t>(-43)})
    all.push_back(bytes_of(value));
  return all;
}

}  // namespace culmen::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culmen;
  using namespace culmen::fuzz;
  if (size == 0) return 0;
  const std::uint8_t flags = data[0];
  const Base& index = base(base_number(flags));
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  std::vector<std::byte> body(bytes.begin(), bytes.end());
  if ((flags & kGoodLengths) != 0) {
    const Lengths lengths = make_lengths_good(body, index.shape);
    if ((flags & kGoodLabels) != 0) make_labels_good(body, lengths);
    if ((flags & kGoodIds) != 0) make_ids_good(body, lengths);
  }
  try {
    if ((flags & kFields) != 0 && (flags & kGoodLengths) != 0)
      add_fields(body, index, (flags & kBadByte) != 0);
    const Change change = decode(body, index.shape, index.snapshot->fields);
    check_change(change, body, index);
    if (storage::checksum_of(body) % kOneTreeIn == 0) check_tree(index, change);
  } catch (const Error&) {
  }
  return 0;
}
