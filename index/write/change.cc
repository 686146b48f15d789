#include "index/write/change.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "base/ids.h"
#include "culmen/error.h"
#include "index/field_key.h"

namespace culmen {
namespace {

struct Header {
  std::uint64_t num_removed = 0;     //  0
  std::uint64_t num_rows = 0;        //  8
  std::uint64_t value_bytes = 0;     // 16  of all values
  std::uint64_t text_bytes = 0;      // 24
  std::uint64_t has_labels = 0;      // 32  0 or 1
  std::uint64_t rounded_values = 0;  // 40
  std::int64_t next_id = 0;          // 48
  std::uint64_t num_fields = 0;      // 56  0 without rows
};
static_assert(sizeof(Header) == 64);

// Before the keys, texts and missing rows of a field.
struct FieldHeader {
  std::uint64_t num_texts = 0;   //  0
  std::uint64_t text_bytes = 0;  //  8
  std::uint64_t has_gaps = 0;    // 16  0 or 1
  std::uint64_t reserved = 0;    // 24
};
static_assert(sizeof(FieldHeader) == 32);

template <typename T>
void put(std::vector<std::byte>& out, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  void take(std::vector<T>& out, std::uint64_t count) {
    if (count > bytes_.size() / sizeof(T)) throw FormatError("a truncated batch");
    out.resize(count);
    if (count > 0) std::memcpy(out.data(), bytes_.data(), count * sizeof(T));
    bytes_ = bytes_.subspan(count * sizeof(T));
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
};

// Finite or the one NaN that means missing; never -0.
template <typename T>
bool are_values(const std::vector<std::byte>& values) {
  constexpr T kMissing = std::numeric_limits<T>::quiet_NaN();
  for (std::size_t at = 0; at < values.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, values.data() + at, sizeof value);
    const bool is_number = std::isfinite(value) && !(value == 0 && std::signbit(value));
    if (!is_number && std::memcmp(&value, &kMissing, sizeof value) != 0) return false;
  }
  return true;
}

bool ascend(const std::vector<std::uint64_t>& ends, std::uint64_t last) {
  std::uint64_t before = 0;
  for (std::uint64_t end : ends) {
    if (end < before) return false;
    before = end;
  }
  return before == last;
}

// The keys of present rows are positions of texts, each of which appears first after the ones before it.
bool are_positions(const FieldChange& field) {
  std::int64_t num_seen = 0;
  for (std::size_t row = 0; row < field.keys.size(); ++row) {
    if (field.is_missing(row)) continue;
    if (field.keys[row] < 0 || field.keys[row] > num_seen) return false;
    if (field.keys[row] == num_seen) ++num_seen;
  }
  return static_cast<std::uint64_t>(num_seen) == field.text_ends.size();
}

bool is_key_of(ColumnType type, std::int64_t key) {
  switch (type) {
    case ColumnType::boolean:
      return key == 0 || key == 1;
    case ColumnType::floating:
      return std::isfinite(double_of_key(key)) && key == key_of_double(double_of_key(key));
    default:
      return true;
  }
}

bool is_sound(const FieldChange& change, const Field& field, std::size_t num_rows) {
  if (std::ranges::any_of(change.missing, [](std::uint8_t missing) { return missing > 1; })) return false;
  for (std::size_t row = 0; row < num_rows; ++row) {
    if (!change.is_missing(row)) continue;
    if (is_stored_text(field) ? !change.text_at(row).empty() : change.keys[row] != 0) return false;
  }
  if (is_stored_text(field)) return true;
  if (has_dictionary(field)) return are_positions(change);
  for (std::size_t row = 0; row < num_rows; ++row)
    if (!change.is_missing(row) && !is_key_of(field.format.type, change.keys[row])) return false;
  return true;
}

void put(std::vector<std::byte>& out, const FieldChange& field) {
  FieldHeader header;
  header.num_texts = field.text_ends.size();
  header.text_bytes = field.text.size();
  header.has_gaps = field.missing.empty() ? 0 : 1;
  put(out, std::vector<FieldHeader>{header});
  put(out, field.keys);
  put(out, field.text_ends);
  put(out, field.text);
  put(out, field.missing);
}

FieldChange take_field(Reader& reader, const Field& field, std::uint64_t num_rows) {
  std::vector<FieldHeader> headers;
  reader.take(headers, 1);
  const FieldHeader& header = headers.front();
  const bool has_right_count = is_stored_text(field)   ? header.num_texts == num_rows
                               : has_dictionary(field) ? header.num_texts <= num_rows
                                                       : header.num_texts == 0;
  if (!has_right_count || header.has_gaps > 1 || header.reserved != 0)
    throw FormatError("a batch with a field of another kind");
  FieldChange change;
  reader.take(change.keys, is_stored_text(field) ? 0 : num_rows);
  reader.take(change.text_ends, header.num_texts);
  reader.take(change.text, header.text_bytes);
  reader.take(change.missing, header.has_gaps * num_rows);
  const bool has_gaps = std::ranges::find(change.missing, std::uint8_t{1}) != change.missing.end();
  if (has_gaps != (header.has_gaps == 1) || !ascend(change.text_ends, header.text_bytes) ||
      !is_sound(change, field, num_rows))
    throw FormatError("a batch with a value that its column cannot have");
  return change;
}

}  // namespace

std::vector<std::byte> encode(const Change& change) {
  Header header;
  header.num_removed = change.removed.size();
  header.num_rows = change.num_rows();
  header.value_bytes = change.values.size();
  header.text_bytes = change.label_text.size();
  header.has_labels = change.label_ends.empty() ? 0 : 1;
  header.rounded_values = change.rounded_values;
  header.next_id = change.next_id;
  header.num_fields = change.num_rows() == 0 ? 0 : change.fields.size();
  std::vector<std::byte> body(sizeof header);
  std::memcpy(body.data(), &header, sizeof header);
  body.reserve(sizeof header + 8 * (change.removed.size() + change.ids.size() + change.label_ends.size()) +
               change.values.size() + change.label_text.size());
  put(body, change.removed);
  put(body, change.ids);
  put(body, change.values);
  put(body, change.label_ends);
  put(body, change.label_text);
  if (header.num_fields > 0)
    for (const FieldChange& field : change.fields) put(body, field);
  return body;
}

Change decode(std::span<const std::byte> body, const LeafShape& shape, std::span<const Field> fields) {
  Header header;
  if (body.size() < sizeof header) throw FormatError("a batch without its header");
  std::memcpy(&header, body.data(), sizeof header);
  const std::uint64_t row_bytes = shape.num_attributes * shape.value_bytes;
  if (header.num_rows > body.size() || header.value_bytes != header.num_rows * row_bytes ||
      header.has_labels > (shape.has_labels ? 1 : 0) ||
      header.num_fields != (header.num_rows == 0 ? 0 : fields.size()))
    throw FormatError("a batch of another shape than the index");
  Change change;
  change.rounded_values = header.rounded_values;
  change.next_id = header.next_id;
  Reader reader(body.subspan(sizeof header));
  reader.take(change.removed, header.num_removed);
  reader.take(change.ids, header.num_rows);
  reader.take(change.values, header.value_bytes);
  reader.take(change.label_ends, header.has_labels * header.num_rows);
  reader.take(change.label_text, header.text_bytes);
  if (!ascend(change.label_ends, header.text_bytes)) throw FormatError("a batch with labels out of order");
  const bool are_good = shape.value_bytes == sizeof(float) ? are_values<float>(change.values)
                                                           : are_values<double>(change.values);
  if (!are_good) throw FormatError("a batch with a value that is neither a finite number nor missing");
  if (header.num_fields > 0)
    for (const Field& field : fields) change.fields.push_back(take_field(reader, field, header.num_rows));
  if (!reader.at_end()) throw FormatError("a batch with bytes after its end");
  return change;
}

void require_next_id_above_all(const Change& change, std::int64_t next_id_before) {
  std::int64_t min_next_id = next_id_before;
  for (const std::int64_t id : change.ids) min_next_id = std::max(min_next_id, id_after(id));
  if (change.next_id < min_next_id)
    throw FormatError("a batch says that the next id is " + std::to_string(change.next_id) +
                      ", but ids below " + std::to_string(min_next_id) + " are used");
}

}  // namespace culmen
