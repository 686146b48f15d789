// The frame files of a snapshot: how each is written, and what is checked when it is read.
//
// Readers trust nothing. They compare sizes with the file's before they allocate memory, and check everything that
// engines and writers need to stay within arrays, to terminate and to keep scores finite. Two things they do not check:
// whether bounds of sums of attributes are valid, which would cost more than everything else, and whether two rows have
// the same id, which a writer checks when it builds its id map or looks the id up (index/write/working_tree.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "culmen/open.h"
#include "index/snapshot.h"
#include "index/storage/dictionary_file.h"
#include "index/storage/frame_file.h"
#include "index/storage/leaf_frames.h"
#include "index/storage/manifest.h"

namespace culmen::storage {

// Those that the index has.
struct FramesOfLeaves {
  LeafFrames labels, fields, texts;
};

void write_leaves(const Snapshot& snapshot, const FramesOfLeaves& frames, bool has_fields_file,
                  FrameFileWriter& file);
void write_nodes(const Snapshot& snapshot, FrameFileWriter& file);
void write_dictionaries(const Snapshot& snapshot, const DictionaryFrames& frames, FrameFileWriter& file);
void write_partitions(const Snapshot& snapshot, FrameFileWriter& file);

// Where the frames are: one of each node, and one of all partitions.
ExtentOf frames_of_nodes(const Manifest& manifest);
ExtentOf frames_of_partitions(const Manifest& manifest);

// Each fills its part of `snapshot`, in this order, and throws FormatError.
// Returns the number of leaves of each partition.
std::vector<std::uint32_t> read_partitions(const Manifest& manifest, FrameFileReader& file,
                                           Snapshot& snapshot);
// Leaves and nodes: leaf_reader.h, node_reader.h.
// A leaf's labels, from its frame. Needs the leaf. Returns the bytes of memory that they take.
std::uint64_t take_labels(const LeafFrame& frame, std::uint64_t leaf, const std::byte* payload,
                          const FrameFileReader& file, Snapshot& snapshot);
void read_labels(const LeafFrames& frames, FrameFileReader& file, Snapshot& snapshot);
void read_dictionaries(const Manifest& manifest, FrameFileReader& file, Snapshot& snapshot);
// A leaf's fields, from its frame. Needs the leaf and the dictionaries. Returns the same.
std::uint64_t take_fields(const LeafFrame& frame, std::uint64_t leaf, const std::byte* payload,
                          std::span<const std::uint32_t> dictionary_sizes, const FrameFileReader& file,
                          Snapshot& snapshot);
void read_fields(const LeafFrames& frames, FrameFileReader& file, Snapshot& snapshot);
// A leaf's stored texts, from its frame. Needs the leaf and its fields. Returns the same.
std::uint64_t take_leaf_texts(const LeafFrame& frame, std::uint64_t leaf, const std::byte* payload,
                              const FrameFileReader& file, Snapshot& snapshot);
void read_leaf_texts(const LeafFrames& frames, FrameFileReader& file, Snapshot& snapshot);
// Reads nothing, but needs all fields.
void check_has_gaps(const Manifest& manifest, const FrameFileReader& file, const Snapshot& snapshot);
// The snapshot that the manifest describes, all of it in memory, or as little of it as opening needs (slot_files.h) and
// later about so many bytes of it.
std::shared_ptr<Snapshot> read_snapshot(const Directory& directory, const Manifest& manifest,
                                        Loading loading = Loading::whole,
                                        std::uint64_t memory = kUnlimitedMemory);

}  // namespace culmen::storage
