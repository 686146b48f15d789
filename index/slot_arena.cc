#include "index/slot_arena.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/page_size.h"

namespace culmen {
namespace {

// Reserved addresses cost nothing. When they run out, the index is reloaded. By then that pays: the tree has several
// times as many leaves as its partitions were cut for.
constexpr std::size_t kRoomForLeaves = 4;
constexpr std::size_t kRoomForNodes = 16;  // a batch that touches every leaf copies all and may split all
constexpr std::size_t kMinLeaves = 1 << 16;
constexpr std::size_t kMinNodes = 1 << 13;

std::size_t memory_of(std::initializer_list<std::size_t> parts, bool is_beside) {
  std::size_t bytes = 0;
  for (const std::size_t part : parts) bytes += is_beside ? part : whole_pages(part);
  return bytes;
}

}  // namespace

SlotArena::SlotArena(const LeafShape& shape, const BoundLayout& layout, std::size_t num_leaves,
                     std::size_t num_nodes, PageSize pages, std::shared_ptr<TemporaryFiles> files,
                     ArenaRoom room)
    : shape_(shape),
      files_(std::move(files)),
      blocks_(files_),
      node_bytes_(node_bytes_of(layout)),
      node_capacity_(room == ArenaRoom::none ? num_nodes : std::max(kRoomForNodes * num_nodes, kMinNodes)) {
  const std::size_t capacity =
      room == ArenaRoom::none ? num_leaves : std::max(kRoomForLeaves * num_leaves, kMinLeaves);
  const auto reserve = [&]<typename T>(PageBuffer<T>& slots, std::size_t size) {
    slots = PageBuffer<T>(0, size, pages, files_);
  };
  reserve(leaves_, capacity);
  reserve(values_, capacity * shape_.leaf_bytes());
  reserve(ids_, capacity * shape_.leaf_rows);
  reserve(zone_maps_, capacity * kZoneVectors * shape_.zone_vector_bytes());
  reserve(codes_, capacity * shape_.code_words() + kCodeWordsReadAtOnce);
  reserve(nodes_, node_capacity_ * node_bytes_);
  reserve(node_zone_maps_, node_capacity_ * kZoneVectors * shape_.zone_vector_bytes());
  if (shape_.has_labels) reserve(labels_, capacity);
  reserve(fields_, capacity);
  if (shape_.has_texts) reserve(texts_, capacity);
  reserve(child_zones_, node_capacity_ * child_zones_layout().node_bytes());
  grow_leaves(num_leaves);
  grow_nodes(num_nodes);
}

SlotArena::~SlotArena() {
  if (files_ != nullptr) return;  // their blocks go with them
  const auto free_all = [&](std::span<std::byte*> blocks) {
    for (std::size_t slot = 0; slot < blocks.size(); ++slot)
      if (has_leaf(slot)) blocks_.free(blocks[slot]);  // the pages of others were never touched
  };
  free_all(labels_.span());
  if (has_fields()) free_all(fields_.span());
  free_all(texts_.span());
}

void SlotArena::require_all() const {
  if (source_ != nullptr) source_->require_all();
}

void SlotArena::limit_memory(std::uint64_t most_bytes) {
  source_->limit_memory(most_bytes, [this](SlotKind kind, std::size_t first, std::size_t end) {
    kind == SlotKind::leaf ? discard_leaves(first, end) : discard_nodes(first, end);
  });
}

void SlotArena::discard_leaves(std::size_t first, std::size_t end) {
  source_->forget_leaves(first, end);
  leaves_.discard(first, end);
  values_.discard(first * shape_.leaf_bytes(), end * shape_.leaf_bytes());
  ids_.discard(first * shape_.leaf_rows, end * shape_.leaf_rows);
  const std::size_t zone_map_bytes = kZoneVectors * shape_.zone_vector_bytes();
  zone_maps_.discard(first * zone_map_bytes, end * zone_map_bytes);
  codes_.discard(first * shape_.code_words(), end * shape_.code_words());
  for (std::size_t slot = first; slot < end; ++slot) {
    if (shape_.has_labels) blocks_.free(std::exchange(labels_[slot], nullptr));
    blocks_.free(std::exchange(fields_[slot], nullptr));
    if (shape_.has_texts) blocks_.free(std::exchange(texts_[slot], nullptr));
  }
}

void SlotArena::discard_nodes(std::size_t first, std::size_t end) {
  source_->forget_nodes(first, end);
  nodes_.discard(first * node_bytes_, end * node_bytes_);
  const std::size_t zone_map_bytes = kZoneVectors * shape_.zone_vector_bytes();
  node_zone_maps_.discard(first * zone_map_bytes, end * zone_map_bytes);
  const std::size_t zones_bytes = child_zones_layout().node_bytes();
  child_zones_.discard(first * zones_bytes, end * zones_bytes);
}

std::size_t SlotArena::bytes_of_leaf(bool is_beside) const {
  const auto bytes = {sizeof(LeafHeader), shape_.leaf_bytes(), shape_.leaf_rows * sizeof(std::int64_t),
                      kZoneVectors * shape_.zone_vector_bytes(), shape_.code_words() * sizeof(std::uint16_t)};
  return memory_of(bytes, is_beside);
}

std::size_t SlotArena::bytes_of_node(bool is_beside) const {
  return memory_of(
      {node_bytes_, kZoneVectors * shape_.zone_vector_bytes(), child_zones_layout().node_bytes()}, is_beside);
}

void SlotArena::each_array(const auto& f) {
  f(leaves_);
  f(values_);
  f(ids_);
  f(zone_maps_);
  f(codes_);
  f(nodes_);
  f(node_zone_maps_);
  f(labels_);
  f(fields_);
  f(texts_);
  f(child_zones_);
}

void SlotArena::use_huge_pages() {
  each_array([](auto& array) { array.use_huge_pages(); });
}

void SlotArena::expect_scattered_access() {
  each_array([](auto& array) { array.expect_scattered_access(); });
}

void SlotArena::expect_usual_access() {
  each_array([](auto& array) { array.expect_usual_access(); });
}

void SlotArena::grow_leaves(std::size_t num_leaves) {
  values_.grow(num_leaves * shape_.leaf_bytes());
  ids_.grow(num_leaves * shape_.leaf_rows);
  zone_maps_.grow(num_leaves * kZoneVectors * shape_.zone_vector_bytes());
  codes_.grow(num_leaves * shape_.code_words() + kCodeWordsReadAtOnce);
  if (shape_.has_labels) labels_.grow(num_leaves);
  fields_.grow(num_leaves);
  if (shape_.has_texts) texts_.grow(num_leaves);
  leaves_.grow(num_leaves);
}

void SlotArena::grow_nodes(std::size_t num_nodes) {
  nodes_.grow(num_nodes * node_bytes_);
  node_zone_maps_.grow(num_nodes * kZoneVectors * shape_.zone_vector_bytes());
  child_zones_.grow(num_nodes * child_zones_layout().node_bytes());
  num_nodes_ = std::max(num_nodes_, num_nodes);
}

std::span<const std::byte> SlotArena::labels(std::size_t slot) const {
  if (!shape_.has_labels) return {};
  require_labels(slot);
  if (labels_[slot] == nullptr) return {};
  return {labels_[slot], shape_.label_end_bytes() + label_ends(slot)[shape_.leaf_rows - 1]};
}

std::string_view SlotArena::label(std::size_t slot, std::size_t row) const {
  if (!shape_.has_labels) return {};
  require_labels(slot);
  if (labels_[slot] == nullptr) return {};
  const std::uint32_t* ends = label_ends(slot);
  const std::uint32_t start = row == 0 ? 0 : ends[row - 1];
  return {reinterpret_cast<const char*>(labels_[slot]) + shape_.label_end_bytes() + start, ends[row] - start};
}

std::span<std::byte> SlotArena::allocate_labels(std::size_t slot, std::size_t text_bytes) {
  const std::size_t size = shape_.label_end_bytes() + text_bytes;
  std::byte* const fresh = blocks_.allocate(size);
  blocks_.free(labels_[slot]);
  labels_[slot] = fresh;
  return {fresh, size};
}

void SlotArena::set_block(std::byte*& block, std::span<const std::byte> bytes) {
  std::byte* const fresh = bytes.empty() ? nullptr : blocks_.allocate_unset(bytes.size());
  std::ranges::copy(bytes, fresh);
  blocks_.free(std::exchange(block, fresh));
}

void SlotArena::set_fields(std::size_t slot, std::span<const std::byte> bytes) {
  set_block(fields_[slot], bytes);
  if (!bytes.empty()) has_fields_.store(true, std::memory_order_relaxed);
}

void SlotArena::set_texts(std::size_t slot, std::span<const std::byte> bytes) {
  if (shape_.has_texts) set_block(texts_[slot], bytes);
}

std::span<std::byte> SlotArena::allocate_texts(std::size_t slot, std::size_t num_bytes) {
  std::byte* const fresh = blocks_.allocate_unset(num_bytes);
  blocks_.free(std::exchange(texts_[slot], fresh));
  return {fresh, num_bytes};
}

void SlotArena::add_older_version(OlderVersion older) {
  if (older_versions_.size() >= most_older_versions_) {
    std::erase_if(older_versions_, [](const OlderVersion& one) { return !one.may_be_read(); });
    most_older_versions_ = std::max<std::size_t>(64, 2 * older_versions_.size());
  }
  older_versions_.push_back(std::move(older));
}

}  // namespace culmen
