#include "index/write/change.h"

#include <cmath>
#include <cstring>
#include <string>

#include "culmen/error.h"

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
  std::uint64_t reserved = 0;        // 56
};
static_assert(sizeof(Header) == 64);

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

template <typename T>
bool are_finite(const std::vector<std::byte>& values) {
  for (std::size_t at = 0; at < values.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, values.data() + at, sizeof value);
    if (!std::isfinite(value) || (value == 0 && std::signbit(value))) return false;
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
  std::vector<std::byte> body(sizeof header);
  std::memcpy(body.data(), &header, sizeof header);
  body.reserve(sizeof header + 8 * (change.removed.size() + change.ids.size() + change.label_ends.size()) +
               change.values.size() + change.label_text.size());
  put(body, change.removed);
  put(body, change.ids);
  put(body, change.values);
  put(body, change.label_ends);
  put(body, change.label_text);
  return body;
}

Change decode(std::span<const std::byte> body, const LeafShape& shape) {
  Header header;
  if (body.size() < sizeof header) throw FormatError("a batch without its header");
  std::memcpy(&header, body.data(), sizeof header);
  const std::uint64_t row_bytes = shape.num_attributes * shape.value_bytes;
  if (header.num_rows > body.size() || header.value_bytes != header.num_rows * row_bytes ||
      header.has_labels > (shape.has_labels ? 1 : 0) || header.reserved != 0)
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
  if (!reader.at_end()) throw FormatError("a batch with bytes after its end");
  if (!ascend(change.label_ends, header.text_bytes)) throw FormatError("a batch with labels out of order");
  const bool finite = shape.value_bytes == sizeof(float) ? are_finite<float>(change.values)
                                                         : are_finite<double>(change.values);
  if (!finite) throw FormatError("a batch with a value that is not a finite number");
  return change;
}

}  // namespace culmen
