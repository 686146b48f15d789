#include "index/storage/id_file.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "index/encoding/encode.h"
#include "index/encoding/packed_column.h"
#include "index/storage/id_order_file.h"
#include "index/storage/log_format.h"

namespace culmen::storage {
namespace {

constexpr int kLeafBits = 32;

std::uint32_t tag_in(std::uint64_t entry) {
  return static_cast<std::uint32_t>(entry >> kLeafBits);
}

std::uint32_t tag_of(std::int64_t id, std::uint64_t seed) {
  return tag_in(checksum_of(std::as_bytes(std::span(&id, 1)), seed));
}

std::uint64_t entry_of(std::int64_t id, std::uint64_t leaf, std::uint64_t seed) {
  return std::uint64_t{tag_of(id, seed)} << kLeafBits | leaf;
}

// In order. Entries are first distributed by their upper bits, of which all values are about equally frequent: what is
// then sorted at a time is in memory, wherever all of them are.
PageBuffer<std::uint64_t> entries_of(const Snapshot& s, std::uint64_t seed) {
  constexpr int kBucketBits = 8;
  constexpr std::size_t kBuckets = std::size_t{1} << kBucketBits;
  const std::vector<std::uint32_t>& leaves = s.order().leaves;
  const auto each_entry = [&](const auto& use) {
    for (std::size_t number = 0; number < leaves.size(); ++number)
      for (const std::int64_t id : ids_of_leaf(s, leaves[number])) use(entry_of(id, number, seed));
  };
  const auto bucket_of = [](std::uint64_t entry) { return entry >> (64 - kBucketBits); };
  std::array<std::uint64_t, kBuckets> ends{};
  each_entry([&](std::uint64_t entry) { ++ends[bucket_of(entry)]; });
  std::uint64_t num_entries = 0;
  for (std::uint64_t& end : ends) end = std::exchange(num_entries, num_entries + end);
  PageBuffer<std::uint64_t> entries(num_entries, num_entries, PageSize::huge, s.arena->files());
  entries.expect_scattered_access();
  each_entry([&](std::uint64_t entry) { entries[ends[bucket_of(entry)]++] = entry; });
  entries.expect_usual_access();
  tbb::parallel_for(std::size_t{0}, kBuckets, [&](std::size_t bucket) {
    std::uint64_t* const begin = entries.data() + (bucket == 0 ? 0 : ends[bucket - 1]);
    tbb::parallel_sort(begin, entries.data() + ends[bucket]);
  });
  return entries;
}

std::uint64_t mixed(std::uint64_t entry, std::uint64_t seed) {
  return checksum_of(std::as_bytes(std::span(&entry, 1)), seed);
}

}  // namespace

std::span<const std::int64_t> ids_of_leaf(const Snapshot& s, std::uint64_t leaf) {
  return {s.leaf_ids(leaf), s.leaf(leaf).num_rows};
}

std::uint64_t sum_over(std::uint64_t count, const std::function<std::uint64_t(std::uint64_t)>& sum_of) {
  using Range = tbb::blocked_range<std::uint64_t>;
  return tbb::parallel_reduce(
      Range(0, count), std::uint64_t{0},
      [&](const Range& range, std::uint64_t sum) {
        for (std::uint64_t i = range.begin(); i < range.end(); ++i) sum += sum_of(i);
        return sum;
      },
      std::plus<>());
}

// The tags, then the leaves.
void encode_ids(std::span<const std::uint64_t> entries, std::vector<std::byte>& payload) {
  std::vector<std::int64_t> part(entries.size());
  encoding::ColumnEncoder encoder;
  std::ranges::transform(entries, part.begin(),
                         [](std::uint64_t entry) { return std::int64_t{tag_in(entry)}; });
  encoder.encode(std::span<const std::int64_t>(part), payload);
  std::ranges::transform(entries, part.begin(), [](std::uint64_t entry) {
    return static_cast<std::int64_t>(entry & std::numeric_limits<std::uint32_t>::max());
  });
  encoder.encode(std::span<const std::int64_t>(part), payload);
  payload.resize(payload.size() + encoding::kReadAhead);
}

bool decode_ids(std::span<const std::byte> payload, std::span<std::uint64_t> entries) {
  std::array<std::int64_t, kIdsPerFrame> tags{}, leaves{};
  for (auto* part : {&tags, &leaves}) {
    const auto column = encoding::take_column<std::int64_t>(payload, entries.size());
    if (!column) return false;
    encoding::decode(*column, part->data());
  }
  for (std::size_t i = 0; i < entries.size(); ++i)
    entries[i] = static_cast<std::uint64_t>(tags[i]) << kLeafBits | static_cast<std::uint64_t>(leaves[i]);
  return payload.size() == encoding::kReadAhead;
}

std::uint64_t most_id_bytes() {
  return 2 * encoding::most_column_bytes(kIdsPerFrame, sizeof(std::int64_t)) + encoding::kReadAhead;
}

void write_ids(const Snapshot& snapshot, const Uuid& uuid, FrameFileWriter& file) {
  if (snapshot.id_type == IdType::text) return write_id_order(snapshot, file);
  const PageBuffer<std::uint64_t> entries = entries_of(snapshot, frame_seed(uuid));
  write_framed_entries<std::uint64_t>(entries.span(), most_id_bytes(), encode_ids, file);
}

std::shared_ptr<const FiledIds> open_ids(const Manifest& manifest, FrameFileReader file, Loading loading,
                                         bool keeps_frames) {
  if (manifest.id_type == IdType::text)
    return std::make_shared<const IdOrderFile>(manifest, std::move(file), loading, keeps_frames);
  return std::make_shared<const IdFile>(manifest, std::move(file), loading, keeps_frames);
}

IdFile::IdFile(const Manifest& manifest, FrameFileReader file, Loading loading, bool keeps_frames)
    : num_leaves_(manifest.num_leaves),
      seed_(frame_seed(manifest.snapshot.uuid)),
      entries_(
          manifest.num_rows, most_id_bytes(), std::move(file), loading, keeps_frames,
          [num_leaves = manifest.num_leaves](std::span<const std::byte> payload,
                                             std::span<std::uint64_t> entries) {
            const auto has_leaf = [&](std::uint64_t entry) {
              return (entry & std::numeric_limits<std::uint32_t>::max()) < num_leaves;
            };
            return decode_ids(payload, entries) && std::ranges::is_sorted(entries) &&
                   std::ranges::all_of(entries, has_leaf);
          },
          "ids are not in order, or in a leaf that does not exist") {}

// The first frame whose last tag is at least this one: by interpolation, since tags are spread evenly. Each step takes a frame
// out of the search, whatever the frames hold.
std::uint64_t IdFile::first_frame_with(std::uint32_t tag, Entries::Frame& mine) const {
  std::uint64_t first = 0, end = entries_.num_frames();
  std::uint64_t below = 0,
                above = std::numeric_limits<std::uint32_t>::max();  // tags on both sides of the frames
  while (first < end) {
    const auto share = static_cast<double>(tag - below) / static_cast<double>(above - below + 1);
    const auto step = static_cast<std::uint64_t>(share * static_cast<double>(end - first));
    const std::uint64_t middle = std::min(first + step, end - 1);
    const std::span<const std::uint64_t> entries = entries_.frame(middle, mine);
    if (tag_in(entries.back()) < tag) {
      first = middle + 1;
      below = tag_in(entries.back());
    } else if (tag_in(entries.front()) < tag) {
      return middle;
    } else {
      end = middle;
      above = tag_in(entries.front());
    }
  }
  return first;
}

std::vector<std::uint32_t> IdFile::leaves_with(std::int64_t id) const {
  const std::uint32_t tag = tag_of(id, seed_);
  Entries::Frame mine;
  std::vector<std::uint32_t> leaves;
  for (std::uint64_t number = first_frame_with(tag, mine); number < entries_.num_frames(); ++number) {
    const std::span<const std::uint64_t> entries = entries_.frame(number, mine);
    auto entry = std::ranges::lower_bound(entries, tag, {}, tag_in);
    for (; entry != entries.end() && tag_in(*entry) == tag; ++entry)
      leaves.push_back(static_cast<std::uint32_t>(*entry));
    if (entry != entries.end()) break;
  }
  return leaves;
}

void IdFile::check_all(const Snapshot& s) const {
  entries_.read_all();
  const auto in_frame = [&](std::uint64_t number) {
    std::uint64_t sum = 0;
    for (const std::uint64_t entry : entries_.frame(number)) sum += mixed(entry, seed_);
    return sum;
  };
  const auto in_leaf = [&](std::uint64_t leaf) {
    std::uint64_t sum = 0;
    for (const std::int64_t id : ids_of_leaf(s, leaf)) sum += mixed(entry_of(id, leaf, seed_), seed_);
    return sum;
  };
  bool good = sum_over(entries_.num_frames(), in_frame) == sum_over(num_leaves_, in_leaf);
  for (std::uint64_t number = 1; number < entries_.num_frames(); ++number)
    good &= entries_.frame(number - 1).back() <= entries_.frame(number).front();
  if (!good) throw_damaged(entries_.file().path(), kFirstFrameOffset, "the ids are not those of the rows");
}

}  // namespace culmen::storage
