// The four frame files of a snapshot: what each frame holds, how it is written and what is checked when it is
// read.
//
// Reading trusts nothing: sizes are compared with the file's before memory is asked for, and whatever an
// engine or a writer relies on to stay inside its arrays, to end and to keep scores finite is checked here.
// Two things are not: whether bounds of sums of attributes are true, which would cost more than all the rest,
// and whether an id stands in two rows, which a writer finds out when it makes its id map
// (index/write/tree_writer.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "index/snapshot.h"
#include "index/storage/frame_file.h"
#include "index/storage/manifest.h"

namespace culmen::storage {

// Offsets of the frames of the labels file, and behind them its end. Empty without labels.
std::vector<std::uint64_t> label_offsets(const Snapshot& snapshot);

// Whether labels end one behind the other, the last of them where the text does.
bool label_ends_are_good(const std::uint32_t* ends, std::uint64_t leaf_rows, std::uint64_t text_bytes);

void write_leaves(const Snapshot& snapshot, const std::vector<std::uint64_t>& label_offsets,
                  FrameFileWriter& file);
void write_nodes(const Snapshot& snapshot, FrameFileWriter& file);
void write_labels(const Snapshot& snapshot, const std::vector<std::uint64_t>& label_offsets,
                  FrameFileWriter& file);
void write_partitions(const Snapshot& snapshot, FrameFileWriter& file);

// Each fills its part of `snapshot`, in this order, and throws FormatError.
// Returns how many leaves each partition has.
std::vector<std::uint32_t> read_partitions(const Manifest& manifest, FrameFileReader& file,
                                           Snapshot& snapshot);
// Makes the frames and fills the leaves. Returns the bytes of label text of each leaf, if there are labels.
std::vector<std::uint64_t> read_leaves(const Manifest& manifest,
                                       std::span<const std::uint32_t> leaves_of_partition,
                                       FrameFileReader& file, Snapshot& snapshot);
void read_labels(const Manifest& manifest, const std::vector<std::uint64_t>& label_bytes,
                 FrameFileReader& file, Snapshot& snapshot);
void read_nodes(const Manifest& manifest, FrameFileReader& file, Snapshot& snapshot);

// All of them: the snapshot that the manifest describes.
std::shared_ptr<Snapshot> read_snapshot(const Directory& directory, const Manifest& manifest);

}  // namespace culmen::storage
