#include "index/write/leaf_writer.h"

#include <Eigen/Core>
#include <algorithm>
#include <cstring>
#include <string_view>

#include "culmen/error.h"
#include "index/leaf_codes.h"
#include "index/leaf_labels.h"

namespace culmen {

template <typename T>
static T* zone_vector_of(SlotArena& arena, std::uint32_t slot, Extreme which) {
  return reinterpret_cast<T*>(arena.zone_map(slot)) +
         static_cast<std::size_t>(which) * arena.shape().num_attributes;
}

LeafWriter::LeafWriter(Snapshot& snapshot, const BatchRows& rows)
    : snapshot_(snapshot),
      arena_(*snapshot.arena),
      leaves_(arena_),
      rows_(rows),
      bounds_(snapshot.layout, snapshot.units, snapshot.exact_sums, snapshot.leaf_rows),
      fields_(snapshot.fields),
      texts_(snapshot.fields) {}

void LeafWriter::write(std::uint32_t slot, std::uint32_t partition, std::span<const Run> runs) {
  LeafHeader& header = arena_.leaf(slot);
  header = {};
  for (const Run& run : runs) header.num_rows += run.count;
  header.partition = partition;
  header.version = snapshot_.version;
  copy_rows(slot, runs);
  header.min_id = *std::min_element(arena_.ids(slot), arena_.ids(slot) + header.num_rows);
  visit_value_type(snapshot_, [&]<typename T>(T) { write_zone_map<T>(slot); });
  write_leaf_codes(arena_, slot, header.num_rows);
  if (snapshot_.has_labels) copy_labels(slot, runs);
  copy_fields(slot, runs);
  if (arena_.shape().has_texts) copy_texts(slot, runs);
}

const std::byte* LeafWriter::column(const Run& run, std::size_t attribute) const {
  const LeafShape& shape = arena_.shape();
  if (run.slot == kOfBatch) return rows_.value(run.first, attribute);
  return leaves_.values(run.slot) + (attribute * shape.leaf_rows + run.first) * shape.value_bytes;
}

void LeafWriter::copy_rows(std::uint32_t slot, std::span<const Run> runs) {
  const LeafShape& shape = arena_.shape();
  const std::size_t column_bytes = shape.leaf_rows * shape.value_bytes;
  for (std::size_t i = 0; i < shape.num_attributes; ++i) {
    std::byte* const start = arena_.values(slot) + i * column_bytes;
    std::byte* to = start;
    for (const Run& run : runs) {
      std::memcpy(to, column(run, i), run.count * shape.value_bytes);
      to += run.count * shape.value_bytes;
    }
    std::memset(to, 0, column_bytes - static_cast<std::size_t>(to - start));
  }
  std::int64_t* ids = arena_.ids(slot);
  for (const Run& run : runs) {
    const std::int64_t* from = run.slot == kOfBatch ? rows_.change().ids.data() : leaves_.ids(run.slot);
    ids = std::copy_n(from + run.first, run.count, ids);
  }
  std::fill(ids, arena_.ids(slot) + shape.leaf_rows, 0);
}

void LeafWriter::copy_labels(std::uint32_t slot, std::span<const Run> runs) {
  std::vector<std::string_view> labels;
  for (const Run& run : runs)
    for (std::uint32_t r = run.first; r < run.first + run.count; ++r)
      labels.push_back(run.slot == kOfBatch ? rows_.change().label(r) : leaves_.label(run.slot, r));
  write_labels(
      arena_, slot, labels.size(), [&labels](std::size_t r) { return labels[r]; },
      [&](std::size_t row, const std::string& problem) { refuse(slot, row, problem); });
}

void LeafWriter::copy_fields(std::uint32_t slot, std::span<const Run> runs) {
  const bool has_any = !snapshot_.fields.empty() || std::ranges::any_of(runs, [this](const Run& run) {
    return run.slot == kOfBatch ? rows_.have_gaps() : !leaves_.fields(run.slot).empty();
  });
  if (!has_any) return arena_.set_fields(slot, {});
  fields_.start(arena_.leaf(slot).num_rows);
  std::size_t at = 0;
  for (const Run& run : runs)
    for (std::uint32_t r = run.first; r < run.first + run.count; ++r, ++at)
      if (run.slot == kOfBatch) {
        rows_.copy_row(r, fields_, at);
      } else {
        fields_.copy_row(at, leaves_.fields(run.slot), r);
      }
  const std::uint64_t first = std::uint64_t{slot} * arena_.shape().leaf_rows;
  arena_.set_fields(slot, fields_.finish([&](std::size_t attribute, std::size_t row) {
    return snapshot_.value(first + row, static_cast<int>(attribute));
  }));
}

void LeafWriter::copy_texts(std::uint32_t slot, std::span<const Run> runs) {
  texts_.start(arena_.leaf(slot).num_rows);
  std::size_t at = 0;
  for (const Run& run : runs)
    for (std::uint32_t r = run.first; r < run.first + run.count; ++r, ++at)
      if (run.slot == kOfBatch) {
        rows_.copy_texts(r, texts_, at);
      } else {
        texts_.copy_row(at, leaves_.texts(run.slot), r);
      }
  texts_.finish([&](std::size_t num_bytes) { return arena_.allocate_texts(slot, num_bytes); },
                [&](std::size_t row, const std::string& problem) { refuse(slot, row, problem); });
}

void LeafWriter::refuse(std::uint32_t slot, std::size_t row, const std::string& problem) const {
  const std::uint64_t place = std::uint64_t{slot} * arena_.shape().leaf_rows + row;
  throw InputError("row with the id " + snapshot_.shown_id(place) + ": " + problem);
}

template <typename T>
void LeafWriter::write_zone_map(std::uint32_t slot) {
  const LeafShape& shape = arena_.shape();
  const std::uint32_t num_rows = arena_.leaf(slot).num_rows;
  T* highest = zone_vector_of<T>(arena_, slot, Extreme::maximum);
  T* lowest = zone_vector_of<T>(arena_, slot, Extreme::minimum);
  for (std::size_t i = 0; i < shape.num_attributes; ++i) {
    const T* column = reinterpret_cast<const T*>(arena_.values(slot)) + i * shape.leaf_rows;
    const Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>> rows(column, num_rows);
    highest[i] = rows.maxCoeff();
    lowest[i] = rows.minCoeff();
  }
}

void LeafWriter::bound(std::uint32_t slot, std::uint32_t first, std::uint32_t count, std::span<float> rows) {
  visit_value_type(snapshot_, [&]<typename T>(T) {
    bounds_.compute(reinterpret_cast<const T*>(leaves_.values(slot)) + first, static_cast<int>(count), rows);
  });
}

void LeafWriter::recode(NodeAccess<std::byte> node) {
  const BoundLayout& layout = snapshot_.layout;
  const std::uint32_t num_children = node.header().num_children;
  std::vector<float> rows(static_cast<std::size_t>(layout.num_rows()));
  std::vector<float> bounds(rows.size() * kFanOut);
  for (std::uint32_t c = 0; c < num_children; ++c) {
    const std::uint32_t slot = node.children()[c];
    bound(slot, 0, leaves_.leaf(slot).num_rows, rows);
    for (std::size_t row = 0; row < rows.size(); ++row) bounds[row * kFanOut + c] = rows[row];
  }
  encode_bounds(layout, bounds, num_children, node.bounds());
}

}  // namespace culmen
