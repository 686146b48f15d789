#include "gpu/build/span_load.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "culmen/error.h"
#include "gpu/build/transfer.h"
#include "index/leaf_codes.h"
#include "index/leaf_labels.h"

namespace culmen::gpu {
namespace {

// The nodes above the leaves are complete before this one.
std::uint32_t end_of_complete_nodes(std::uint32_t end_leaf, std::uint64_t num_leaves) {
  return end_leaf == num_leaves ? (end_leaf + kFanOut - 1) / kFanOut : end_leaf / kFanOut;
}

}  // namespace

// Device memory for the leaves of a span, and the nodes above them.
struct SpanLoad::LeafBuffers {
  cuda::Buffer<std::byte> values, ids, leaves, zone_map, nodes;

  LeafBuffers(const SlotArena& arena, std::size_t num_leaves, std::size_t num_nodes)
      : values(num_leaves * arena.shape().leaf_bytes()),
        ids(num_leaves * arena.shape().leaf_rows * sizeof(std::int64_t)),
        leaves(num_leaves * sizeof(LeafHeader)),
        zone_map(num_leaves * kZoneVectors * arena.shape().zone_vector_bytes()),
        nodes(num_nodes * arena.node_bytes()) {}
  SlotArraysRef ref() const {
    return {values.data(), ids.data(), leaves.data(), zone_map.data(), nodes.data()};
  }
};

struct SpanLoad::Made {
  LeafTarget leaves;
  std::optional<LeafBuffers> buffers;  // unless leaves are kept
  RowSort sort;
  const std::uint32_t* order = nullptr;  // the rows in key order
  cuda::Buffer<std::uint32_t> starts;    // the first row of each leaf in that order
  cuda::Buffer<std::uint16_t> codes;

  Made(const LeafTarget& target, std::uint32_t num_rows, cudaStream_t stream)
      : leaves(target), sort(num_rows, stream) {}
};

SpanLoad::SpanLoad(Snapshot& snapshot, LabelsView labels, const LeafPlan& plan, const LeafShare& share,
                   LoadReport report, int device, cudaStream_t stream)
    : snapshot_(snapshot),
      labels_(labels),
      plan_(plan),
      share_(share),
      report_(std::move(report)),
      stream_(stream),
      d_first_rows_(send(plan.first_rows, stream)),
      d_partitions_(send(plan.partitions, stream)),
      d_units_(send(snapshot.units, stream)),
      bounds_({snapshot.layout, d_units_.data(), snapshot.exact_sums}),
      downloader_(device) {}

SpanLoad::~SpanLoad() = default;

std::shared_ptr<SlotArrays> SpanLoad::make_arrays() {
  try {
    // Fields are loaded later, and find room or not when a copy takes these arrays over.
    arrays_ = std::make_shared<SlotArrays>(snapshot_, SlotCounts{snapshot_.leaf_slots, snapshot_.node_slots},
                                           FieldBytes(), DeviceMemory::device, 0);
  } catch (const OutOfDeviceMemory&) {  // the load goes on without them
  }
  return arrays_;
}

PartitionsRef SpanLoad::partitions_ref(PartitionSpan span) const {
  return {d_partitions_.data(), d_first_rows_.data(), span, plan_.first_rows[span.first]};
}

LeafTarget SpanLoad::target_of(PartitionSpan span) const {
  const LeafShape& shape = snapshot_.arena->shape();
  const std::uint32_t first_leaf = std::max(plan_.partitions[span.first].first_leaf, share_.first_leaf);
  const std::uint32_t end_leaf = span.end < plan_.partitions.size()
                                     ? std::min(plan_.partitions[span.end].first_leaf, share_.end_leaf)
                                     : share_.end_leaf;
  return {{},
          first_leaf,
          end_leaf - std::min(first_leaf, end_leaf),
          static_cast<std::uint32_t>(shape.leaf_rows),
          static_cast<std::uint32_t>(shape.num_attributes),
          snapshot_.arena->node_bytes()};
}

void SpanLoad::make(PartitionSpan span, const Rows& rows, bool ids_ascend) {
  const LeafTarget target = target_of(span);
  if (target.num_leaves == 0) return;
  report_("sorting", 0);
  const auto num_rows = static_cast<std::uint32_t>(rows.size());
  made_ = std::make_unique<Made>(target, num_rows, stream_);
  LeafTarget& leaves = made_->leaves;
  made_->order = made_->sort.by_key(rows.ref().keys, ids_ascend ? nullptr : rows.ref().ids, num_rows);
  cuda::check(cudaStreamSynchronize(stream_));
  report_("bounding", 0);
  const std::uint32_t num_nodes =
      (leaves.first_leaf + leaves.num_leaves - 1) / kFanOut + 1 - leaves.first_leaf / kFanOut;
  if (arrays_ == nullptr) made_->buffers.emplace(*snapshot_.arena, leaves.num_leaves, num_nodes);
  leaves.slots = arrays_ == nullptr ? made_->buffers->ref() : arrays_->ref();
  cuda::check(cudaMemsetAsync(leaves.slots.nodes, 0, num_nodes * leaves.node_bytes, stream_));
  made_->starts = cuda::Buffer<std::uint32_t>(leaves.num_leaves);
  made_->codes = cuda::Buffer<std::uint16_t>(leaves.num_leaves * snapshot_.arena->shape().code_words());
  visit_value_type(snapshot_, [&]<typename T>(T) {
    make_leaves<T>(leaves, partitions_ref(span), rows, made_->order, made_->starts.data());
    launch_codes<T>(leaves, static_cast<std::uint32_t>(num_code_words(leaves.leaf_rows)), made_->codes.data(),
                    stream_);
  });
  cuda::check(cudaStreamSynchronize(stream_));
}

void SpanLoad::download(const Rows& rows) {
  if (made_ == nullptr) return;
  const std::unique_ptr<const Made> made = std::move(made_);
  const LeafTarget& leaves = made->leaves;
  report_("copying", 0);
  downloader_.copy(downloads_of(leaves, made->codes.data()));
  if (snapshot_.has_labels) copy_labels(leaves, rows, made->order, made->starts.data());
}

template <typename T>
void SpanLoad::make_leaves(const LeafTarget& leaves, const PartitionsRef& partitions, const Rows& rows,
                           const std::uint32_t* order, std::uint32_t* starts) {
  if (unfinished_node_.size() > 0)
    cuda::check(cudaMemcpyAsync(leaves.slots.nodes, unfinished_node_.data(), leaves.node_bytes,
                                cudaMemcpyDeviceToDevice, stream_));
  launch_cut(leaves, partitions, starts, stream_);
  launch_fill<T>(leaves, rows.ref(), order, starts, stream_);
  bounds_.launch<T>(leaves, stream_);
  launch_node_headers(leaves, stream_);
  keep_unfinished_node(leaves);
}

void SpanLoad::keep_unfinished_node(const LeafTarget& leaves) {
  const std::uint32_t end_leaf = leaves.first_leaf + leaves.num_leaves;
  if (end_leaf % kFanOut == 0 || end_leaf == snapshot_.num_leaves) {
    unfinished_node_ = {};
    return;
  }
  cuda::grow(unfinished_node_, leaves.node_bytes, cuda::Memory::device);
  cuda::check(cudaMemcpyAsync(unfinished_node_.data(), leaves.node(end_leaf).bytes, leaves.node_bytes,
                              cudaMemcpyDeviceToDevice, stream_));
}

// Skips nodes that are not complete yet.
std::array<Download, 6> SpanLoad::downloads_of(const LeafTarget& leaves, const std::uint16_t* codes) const {
  SlotArena& arena = *snapshot_.arena;
  const LeafShape& shape = arena.shape();
  const SlotArraysRef& from = leaves.slots;
  const std::uint32_t first = leaves.first_leaf, first_node = first / kFanOut;
  const std::uint32_t end_node = end_of_complete_nodes(first + leaves.num_leaves, snapshot_.num_leaves);
  const std::size_t count = leaves.num_leaves;
  const auto bytes = [](auto* to, std::size_t size) {
    return std::span(reinterpret_cast<std::byte*>(to), size);
  };
  return {{{from.leaves, bytes(&arena.leaf(first), count * sizeof(LeafHeader))},
           {from.zone_map, bytes(arena.zone_map(first), count * kZoneVectors * shape.zone_vector_bytes())},
           {from.ids, bytes(arena.ids(first), count * shape.leaf_rows * sizeof(std::int64_t))},
           {from.values, bytes(arena.values(first), count * shape.leaf_bytes())},
           {reinterpret_cast<const std::byte*>(codes),
            bytes(arena.codes(first), count * shape.code_words() * sizeof(std::uint16_t))},
           {from.nodes,
            bytes(arena.mutable_node(first_node).bytes, (end_node - first_node) * arena.node_bytes())}}};
}

void SpanLoad::copy_labels(const LeafTarget& leaves, const Rows& rows, const std::uint32_t* order,
                           const std::uint32_t* starts) {
  const std::vector<std::uint32_t> start_of = fetch(starts, leaves.num_leaves, stream_);
  const std::vector<std::uint32_t> row_at = fetch(order, rows.size(), stream_);
  const std::vector<std::uint64_t> number_of = fetch(rows.ref().numbers, rows.size(), stream_);
  tbb::parallel_for(std::size_t{0}, start_of.size(), [&](std::size_t i) {
    const std::size_t leaf = leaves.first_leaf + i;
    const auto row_of = [&](std::uint64_t r) { return number_of[row_at[start_of[i] + r]]; };
    const auto label = [&](std::uint64_t r) { return labels_[row_of(r)]; };
    const auto refuse = [&](std::size_t r, const std::string& problem) {
      throw RowError(row_of(r), problem);
    };
    write_labels(*snapshot_.arena, leaf, snapshot_.leaf(leaf).num_rows, label, refuse);
  });
}

}  // namespace culmen::gpu
