#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "culmen/error.h"
#include "index/storage/snapshot_files.h"

namespace culmen::storage {
namespace {

// The only frame of this file. As float64: minima and maxima [num_attributes], cuts [num_cuts], cuts of late splits. As
// uint32: the number of leaves of each partition, the partition and the column of each late split. As uint8, in wide tables
// as uint16, for k-d partitions: the own coordinate of each cut.
struct PartitionSections {
  std::uint64_t num_attributes, num_cuts, num_partitions, num_late_splits, num_own_coordinates;

  bool is_wide() const { return num_attributes > kMaxGroupedAttributes; }

  std::uint64_t num_doubles() const { return 2 * num_attributes + num_cuts + num_late_splits; }
  std::uint64_t payload_bytes() const {
    return num_doubles() * sizeof(double) + (num_partitions + 2 * num_late_splits) * sizeof(std::uint32_t) +
           num_own_coordinates * (is_wide() ? sizeof(Coordinate) : sizeof(std::uint8_t));
  }
  ExtentOf extents() const {
    return [bytes = payload_bytes()](std::uint64_t number) { return fixed_extent(number, bytes, 0); };
  }
};

// In a byte angles begin at 128.
constexpr Coordinate kFirstAngleOfBytes = 128;

void write_coordinates(std::span<const Coordinate> own, bool is_wide, void* out) {
  if (is_wide) {
    std::ranges::copy(own, static_cast<Coordinate*>(out));
    return;
  }
  std::ranges::transform(own, static_cast<std::uint8_t*>(out), [](Coordinate coordinate) {
    const int byte = coordinate < kFirstAngle ? coordinate : coordinate - kFirstAngle + kFirstAngleOfBytes;
    return static_cast<std::uint8_t>(byte);
  });
}

std::vector<Coordinate> read_coordinates(const void* from, std::size_t count, bool is_wide) {
  if (is_wide) {
    const auto* own = static_cast<const Coordinate*>(from);
    return {own, own + count};
  }
  std::vector<Coordinate> coordinates(count);
  const auto* bytes = static_cast<const std::uint8_t*>(from);
  std::transform(bytes, bytes + count, coordinates.begin(), [](std::uint8_t byte) {
    const int coordinate = byte < kFirstAngleOfBytes ? byte : byte - kFirstAngleOfBytes + kFirstAngle;
    return static_cast<Coordinate>(coordinate);
  });
  return coordinates;
}

PartitionSections sections_of(const Manifest& manifest) {
  const bool is_random = manifest.partitioning == Partitioning::random;
  return {manifest.attributes.size(), manifest.num_cuts, manifest.num_partitions,
          is_random ? 0 : manifest.num_partitions - manifest.num_cuts - 1,
          manifest.partitioning == Partitioning::kd ? manifest.num_cuts : 0};
}

Partitioner restore_partitioner(const Manifest& manifest, const double* doubles,
                                std::span<const LateSplit> late_splits,
                                std::vector<Coordinate> own_coordinates, const std::string& path) {
  const std::size_t d = manifest.attributes.size();
  const double* cuts = doubles + 2 * d;
  // Keys are computed from these by casts to integers, which are undefined for other than finite, ordered numbers.
  bool good = std::none_of(cuts, cuts + manifest.num_cuts, [](double cut) { return std::isnan(cut); });
  for (std::size_t i = 0; i < d; ++i)
    good &= std::isfinite(doubles[i]) && std::isfinite(doubles[d + i]) && doubles[i] <= doubles[d + i];
  if (!good) throw_damaged(path, kFirstFrameOffset, "a range or a cut of the partitioner is invalid");
  try {
    Partitioner built =
        Partitioner::restore(manifest.partitioning, {doubles, doubles + d}, {doubles + d, cuts},
                             manifest.splits, {cuts, cuts + manifest.num_cuts}, std::move(own_coordinates),
                             static_cast<std::uint32_t>(manifest.num_partitions - late_splits.size()));
    if (manifest.cluster) built = std::move(built).clustered_by(*manifest.cluster);
    return std::move(built).with_order(manifest.row_order).with(late_splits);
  } catch (const InvalidArgument& error) {
    throw_damaged(path, kFirstFrameOffset, error.what());
  }
}

}  // namespace

void write_partitions(const Snapshot& s, FrameFileWriter& file) {
  const Partitioner& p = *s.partitioner;
  const std::vector<LateSplit>& later = p.late_splits().all();
  const PartitionSections sections{s.attributes.size(), p.cuts().size(), p.num_partitions(), later.size(),
                                   p.own_coordinates().size()};
  file.write(sections.extents(), [&](std::uint64_t, std::byte* payload) {
    auto* doubles = reinterpret_cast<double*>(payload);
    doubles = std::copy(p.minimum().begin(), p.minimum().end(), doubles);
    doubles = std::copy(p.maximum().begin(), p.maximum().end(), doubles);
    doubles = std::copy(p.cuts().begin(), p.cuts().end(), doubles);
    for (const LateSplit& cut : later) *doubles++ = cut.cut;
    auto* words = reinterpret_cast<std::uint32_t*>(doubles);
    for (const PartitionRange& range : s.order().partitions) *words++ = range.num_leaves;
    for (const LateSplit& cut : later) *words++ = cut.partition;
    for (const LateSplit& cut : later) *words++ = cut.column;
    write_coordinates(p.own_coordinates(), sections.is_wide(), words);
  });
}

ExtentOf frames_of_partitions(const Manifest& manifest) {
  return sections_of(manifest).extents();
}

std::vector<std::uint32_t> read_partitions(const Manifest& manifest, FrameFileReader& file,
                                           Snapshot& snapshot) {
  const PartitionSections sections = sections_of(manifest);
  file.require_end(sections.extents()(1).offset);
  file.read_file_header(1);
  std::vector<std::uint32_t> num_leaves(manifest.num_partitions);
  file.read(0, 1, sections.extents(), [&](std::uint64_t, const std::byte* payload) {
    const auto* doubles = reinterpret_cast<const double*>(payload);
    const auto* words = reinterpret_cast<const std::uint32_t*>(doubles + sections.num_doubles());
    std::copy_n(words, num_leaves.size(), num_leaves.begin());
    words += num_leaves.size();
    std::vector<LateSplit> later(sections.num_late_splits);
    for (std::size_t i = 0; i < later.size(); ++i)
      later[i] = {words[i], words[later.size() + i], (doubles + sections.num_doubles() - later.size())[i]};
    snapshot.partitioner = std::make_shared<const Partitioner>(restore_partitioner(
        manifest, doubles, later,
        read_coordinates(words + 2 * later.size(), sections.num_own_coordinates, sections.is_wide()),
        file.path()));
  });
  if (std::accumulate(num_leaves.begin(), num_leaves.end(), std::uint64_t{0}) != manifest.num_leaves)
    throw_damaged(file.path(), kFirstFrameOffset, "the partitions do not add up to the number of leaves");
  file.check_digest();
  return num_leaves;
}

}  // namespace culmen::storage
