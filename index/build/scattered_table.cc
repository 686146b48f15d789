#include "index/build/scattered_table.h"

#include <sys/mman.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include "base/page_size.h"
#include "index/column_element.h"
#include "index/field_key.h"

namespace culmen {
namespace {

// A thread reads a bucket at a time, from each array its part. While rows are copied, each bucket has a page in each.
constexpr std::uint64_t kBytesOfBucket = std::uint64_t{4} << 20;
constexpr std::uint64_t kMostBuckets = 512;
constexpr std::uint64_t kLeastBuckets = 8;  // those of a small table are small
constexpr std::uint64_t kRowsOfSlice = 1 << 14;

// A hint. What the system reads ahead by itself may be far more than a bucket.
void will_read(const void* first, std::size_t num_bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(first), page = address / kPageBytes * kPageBytes;
  ::madvise(reinterpret_cast<void*>(page), address - page + num_bytes, MADV_WILLNEED);
}

}  // namespace

Buckets make_buckets(std::span<const std::uint32_t> order, std::span<const std::uint64_t> first_rows,
                     std::uint64_t row_bytes) {
  const std::uint64_t num_rows = first_rows.back();
  const std::uint64_t wanted = std::clamp(num_rows * row_bytes / kBytesOfBucket, kLeastBuckets, kMostBuckets);
  const std::uint64_t rows_of_bucket = num_rows / wanted + 1;
  Buckets buckets = {std::vector<std::uint32_t>(order.size()), {0}};
  std::uint64_t end = 0;
  for (const std::uint32_t p : order) {
    if (end - buckets.first_rows.back() >= rows_of_bucket) buckets.first_rows.push_back(end);
    buckets.of_partition[p] = static_cast<std::uint32_t>(buckets.first_rows.size() - 1);
    end += first_rows[p + std::size_t{1}] - first_rows[p];
  }
  buckets.first_rows.push_back(num_rows);
  return buckets;
}

ScatteredTable::ScatteredTable(const TableView& given, const TableView& filled,
                               std::span<const CodedColumn> coded, std::span<const KeyedRow> keys,
                               Buckets buckets, std::shared_ptr<TemporaryFiles> files)
    : num_rows_(given.num_rows),
      buckets_(std::move(buckets)),
      files_(std::move(files)),
      keys_(num_rows_, num_rows_, PageSize::small, files_) {
  given_ = given;
  given_.dropped_rows = {};
  add_ids(given.ids);
  if (!given.labels.empty()) given_.labels = add_texts(given.labels);
  for (ColumnView& column : given_.columns) column = add_column(column);
  for (std::size_t f = 0; f < coded.size(); ++f) given_.field_views[f] = add_field(f, given, coded[f]);
  filled_ = given_;
  for (std::size_t i = 0; i < filled.columns.size(); ++i)
    if (filled.columns[i].data != given.columns[i].data) filled_.columns[i] = add_column(filled.columns[i]);
  copy_all(keys);
}

void ScatteredTable::will_read_partition(std::uint32_t partition, std::uint32_t& last) const {
  const std::uint32_t bucket = buckets_.of_partition[partition];
  if (std::exchange(last, bucket) == bucket) return;
  const std::uint64_t first = buckets_.first_rows[bucket];
  const std::uint64_t num_rows = buckets_.first_rows[bucket + std::size_t{1}] - first;
  will_read(filled_.ids.data() + first, num_rows * sizeof(std::int64_t));
  for (const ColumnView& column : filled_.columns) {
    const auto stride = static_cast<std::uint64_t>(column.stride_bytes);
    will_read(column.data + first * stride, num_rows * stride);
  }
}

template <typename T>
T* ScatteredTable::add_array(std::uint64_t size) {
  const std::size_t num_bytes = size * sizeof(T);
  arrays_.emplace_back(num_bytes, num_bytes, PageSize::small, files_);
  arrays_.back().expect_scattered_access();
  return reinterpret_cast<T*>(arrays_.back().data());
}

void ScatteredTable::add_ids(std::span<const std::int64_t> ids) {
  auto* const out = add_array<std::int64_t>(num_rows_);
  copies_.emplace_back([=](std::uint64_t first, std::span<const std::uint64_t> places) {
    for (std::size_t r = 0; r < places.size(); ++r)
      out[places[r]] = ids.empty() ? static_cast<std::int64_t>(first + r) : ids[first + r];
  });
  given_.ids = {out, num_rows_};
}

ColumnView ScatteredTable::add_column(const ColumnView& column) {
  return visit_element_type(column, [&]<typename T>(T) {
    T* const out = add_array<T>(num_rows_);
    copies_.emplace_back([=](std::uint64_t first, std::span<const std::uint64_t> places) {
      for (std::size_t r = 0; r < places.size(); ++r) out[places[r]] = column_element<T>(column, first + r);
    });
    ColumnView scattered(out, num_rows_);
    scattered.validity = add_validity(column.validity);
    return scattered;
  });
}

Validity ScatteredTable::add_validity(const Validity& validity) {
  if (validity.bits == nullptr) return {};
  auto* const bits = add_array<std::uint8_t>(num_rows_ / 8 + 1);
  copies_.emplace_back([=](std::uint64_t first, std::span<const std::uint64_t> places) {
    for (std::size_t r = 0; r < places.size(); ++r)
      if (!validity.is_missing(first + r))
        bits[places[r] / 8] |= static_cast<std::uint8_t>(1U << places[r] % 8);
  });
  return {bits};
}

// First the length of a text is where it will end, then lengths are summed up, and then the bytes are copied.
LabelsView ScatteredTable::add_texts(const LabelsView& texts) {
  auto* const offsets = add_array<std::uint64_t>(num_rows_ + 1);
  auto* const bytes = add_array<char>(texts.offsets[num_rows_] - texts.offsets[0]);
  copies_.emplace_back([=](std::uint64_t first, std::span<const std::uint64_t> places) {
    for (std::size_t r = 0; r < places.size(); ++r) offsets[places[r] + 1] = texts[first + r].size();
  });
  text_copies_.emplace_back([=](std::uint64_t first, std::span<const std::uint64_t> places) {
    for (std::size_t r = 0; r < places.size(); ++r)
      std::ranges::copy(texts[first + r], bytes + offsets[places[r]]);
  });
  text_offsets_.emplace_back(offsets, num_rows_ + 1);
  return {{bytes, arrays_.back().size()}, text_offsets_.back()};
}

void ScatteredTable::add_codes(const CodedColumn& column) {
  CodedColumn& scattered =
      coded_.emplace_back(CodedColumn{column.dictionary, {num_rows_, num_rows_, PageSize::small, files_}});
  scattered.codes.expect_scattered_access();
  copies_.emplace_back([out = scattered.codes.data(), &codes = column.codes](
                           std::uint64_t first, std::span<const std::uint64_t> places) {
    for (std::size_t r = 0; r < places.size(); ++r) out[places[r]] = codes[first + r];
  });
}

FieldView ScatteredTable::add_field(std::size_t f, const TableView& table, const CodedColumn& coded) {
  const FieldView& field = table.field_views[f];
  const bool has_codes = has_dictionary(table.fields[f]);
  if (has_codes) {
    add_codes(coded);
  } else {
    coded_.emplace_back();
  }
  if (const ColumnView* const column = std::get_if<ColumnView>(&field)) return add_column(*column);
  const TextView& texts = std::get<TextView>(field);
  return TextView{has_codes ? LabelsView{} : add_texts(texts.texts), add_validity(texts.validity)};
}

void ScatteredTable::copy_all(std::span<const KeyedRow> keys) {
  keys_.expect_scattered_access();
  copies_.emplace_back([this, keys](std::uint64_t first, std::span<const std::uint64_t> places) {
    for (std::size_t r = 0; r < places.size(); ++r) keys_[places[r]] = {keys[first + r].key, places[r]};
  });
  const auto copy_by = [&](const std::vector<Copy>& copies) {
    std::vector<std::uint64_t> next = buckets_.first_rows, places;
    for (std::uint64_t first = 0; first < num_rows_ && !copies.empty(); first += kRowsOfSlice) {
      places.resize(std::min(kRowsOfSlice, num_rows_ - first));
      for (std::size_t r = 0; r < places.size(); ++r)
        places[r] = next[buckets_.of_partition[partition_of(keys[first + r].key)]]++;
      tbb::parallel_for(std::size_t{0}, copies.size(), [&](std::size_t c) { copies[c](first, places); });
    }
  };
  copy_by(copies_);
  for (const std::span<std::uint64_t> offsets : text_offsets_)
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  copy_by(text_copies_);
  copies_.clear();
  text_copies_.clear();
  keys_.expect_usual_access();
  for (CodedColumn& column : coded_) column.codes.expect_usual_access();
}

void ScatteredTable::expect_usual_access() {
  for (PageBuffer<std::byte>& array : arrays_) array.expect_usual_access();
}

}  // namespace culmen
