#include "index/storage/id_order_file.h"

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/pages.h"
#include "index/encoding/encode.h"
#include "index/encoding/packed_column.h"
#include "index/storage/log_format.h"

namespace culmen::storage {
namespace {

PageBuffer<OrderedId> ordered_ids_of(const Snapshot& s) {
  PageBuffer<OrderedId> entries(s.num_rows, s.num_rows, PageSize::huge, s.arena->files());
  const std::vector<std::uint32_t>& leaves = s.order().leaves;
  std::size_t end = 0;
  for (std::uint32_t number = 0; number < leaves.size(); ++number)
    for (const std::int64_t id : ids_of_leaf(s, leaves[number])) entries[end++] = {id, number};
  tbb::parallel_sort(entries.data(), entries.data() + end,
                     [](const OrderedId& a, const OrderedId& b) { return a.id < b.id; });
  return entries;
}

std::uint64_t mixed(const OrderedId& entry, std::uint64_t seed) {
  return checksum_of(std::as_bytes(std::span(&entry, 1)), seed);
}

bool ascend(std::span<const OrderedId> entries) {
  return std::ranges::adjacent_find(entries, std::greater_equal<>(), &OrderedId::id) == entries.end();
}

}  // namespace

// The ids, then the leaves.
void encode_id_order(std::span<const OrderedId> entries, std::vector<std::byte>& payload) {
  std::vector<std::int64_t> part(entries.size());
  encoding::ColumnEncoder encoder;
  std::ranges::transform(entries, part.begin(), &OrderedId::id);
  encoder.encode(std::span<const std::int64_t>(part), payload);
  std::ranges::transform(entries, part.begin(),
                         [](const OrderedId& entry) { return std::int64_t{entry.leaf}; });
  encoder.encode(std::span<const std::int64_t>(part), payload);
  payload.resize(payload.size() + encoding::kReadAhead);
}

bool decode_id_order(std::span<const std::byte> payload, std::span<OrderedId> entries) {
  std::array<std::int64_t, kIdsPerFrame> ids{}, leaves{};
  for (auto* part : {&ids, &leaves}) {
    const auto column = encoding::take_column<std::int64_t>(payload, entries.size());
    if (!column) return false;
    encoding::decode(*column, part->data());
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i] = {ids[i], static_cast<std::uint32_t>(leaves[i])};
    if (leaves[i] != std::int64_t{entries[i].leaf}) return false;
  }
  return payload.size() == encoding::kReadAhead;
}

void write_id_order(const Snapshot& snapshot, FrameFileWriter& file) {
  const PageBuffer<OrderedId> entries = ordered_ids_of(snapshot);
  write_framed_entries<OrderedId>(entries.span(), most_id_bytes(), encode_id_order, file);
}

IdOrderFile::IdOrderFile(const Manifest& manifest, FrameFileReader file, Loading loading, bool keeps_frames)
    : num_leaves_(manifest.num_leaves),
      seed_(frame_seed(manifest.snapshot.uuid)),
      entries_(
          manifest.num_rows, most_id_bytes(), std::move(file), loading, keeps_frames,
          [num_leaves = manifest.num_leaves](std::span<const std::byte> payload,
                                             std::span<OrderedId> entries) {
            const auto has_leaf = [&](const OrderedId& entry) { return entry.leaf < num_leaves; };
            return decode_id_order(payload, entries) && ascend(entries) &&
                   std::ranges::all_of(entries, has_leaf);
          },
          "ids are not in order, or not in the leaf that is named") {}

OrderedId IdOrderFile::at(std::uint64_t place) const {
  Entries::Frame mine;
  return entries_.frame(place / kIdsPerFrame, mine)[place % kIdsPerFrame];
}

std::uint64_t IdOrderFile::place_of(std::int64_t id) const {
  Entries::Frame mine;
  std::uint64_t first = 0, end = entries_.num_frames();
  while (first < end) {
    const std::uint64_t middle = first + (end - first) / 2;
    const std::span<const OrderedId> entries = entries_.frame(middle, mine);
    if (entries.back().id < id) {
      first = middle + 1;
    } else if (entries.front().id < id) {
      const auto found = std::ranges::lower_bound(entries, id, {}, &OrderedId::id);
      return middle * kIdsPerFrame + static_cast<std::uint64_t>(found - entries.begin());
    } else {
      end = middle;
    }
  }
  return std::min(first * kIdsPerFrame, num_ids());
}

std::vector<std::uint32_t> IdOrderFile::leaves_with(std::int64_t id) const {
  const std::uint64_t place = place_of(id);
  if (place == num_ids()) return {};
  const OrderedId found = at(place);
  return found.id == id ? std::vector{found.leaf} : std::vector<std::uint32_t>();
}

void IdOrderFile::check_all(const Snapshot& s) const {
  entries_.read_all();
  const auto in_frame = [&](std::uint64_t number) {
    std::uint64_t sum = 0;
    for (const OrderedId& entry : entries_.frame(number)) sum += mixed(entry, seed_);
    return sum;
  };
  const auto in_leaf = [&](std::uint64_t leaf) {
    std::uint64_t sum = 0;
    for (const std::int64_t id : ids_of_leaf(s, leaf))
      sum += mixed({id, static_cast<std::uint32_t>(leaf)}, seed_);
    return sum;
  };
  bool good = sum_over(entries_.num_frames(), in_frame) == sum_over(num_leaves_, in_leaf);
  for (std::uint64_t number = 1; number < entries_.num_frames(); ++number)
    good &= entries_.frame(number - 1).back().id < entries_.frame(number).front().id;
  if (!good) throw_damaged(entries_.file().path(), kFirstFrameOffset, "the ids are not those of the rows");
}

}  // namespace culmen::storage
