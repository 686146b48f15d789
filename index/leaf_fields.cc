#include "index/leaf_fields.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace culmen {
namespace {

constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::int32_t>::max();

std::size_t num_words(std::size_t num_rows) {
  return (num_rows + 63) / 64;
}

bool is_set(const std::vector<std::uint64_t>& bitmap, std::size_t row) {
  return (bitmap[row / 64] >> row % 64 & 1) != 0;
}

// Bytes that hold each difference to the smallest of some keys.
std::uint32_t bytes_for(std::uint64_t largest_difference) {
  const auto bits = static_cast<int>(std::bit_width(largest_difference));
  return bits == 0 ? 0 : bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

std::uint64_t difference(std::int64_t key, std::int64_t smallest) {
  return static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(smallest);
}

// Appends sections, each at a multiple of 8.
class Sections {
 public:
  explicit Sections(std::size_t header_bytes) : bytes_(header_bytes) {}

  // The offset of `size` new zero bytes.
  std::uint32_t add(std::size_t size) {
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
    const std::size_t offset = bytes_.size();
    bytes_.resize(offset + size);
    return static_cast<std::uint32_t>(offset);
  }
  std::uint32_t add(const std::vector<std::uint64_t>& words) {
    const std::uint32_t offset = add(words.size() * sizeof(std::uint64_t));
    std::memcpy(at(offset), words.data(), words.size() * sizeof(std::uint64_t));
    return offset;
  }
  std::byte* at(std::size_t offset) { return bytes_.data() + offset; }
  template <typename T>
  void put(std::size_t offset, const T& value) {
    std::memcpy(at(offset), &value, sizeof value);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
};

// The packed keys, and what the zone says of them. Missing ones are packed as the smallest.
void encode_keys(const std::vector<std::int64_t>& keys, const std::vector<std::uint64_t>& missing,
                 FieldZone& zone, Sections& sections) {
  zone.minimum = std::numeric_limits<std::int64_t>::max();
  zone.maximum = std::numeric_limits<std::int64_t>::min();
  for (std::size_t row = 0; row < keys.size(); ++row) {
    if (is_set(missing, row)) continue;
    zone.minimum = std::min(zone.minimum, keys[row]);
    zone.maximum = std::max(zone.maximum, keys[row]);
    zone.set |= key_set_bit(keys[row]);
  }
  if (zone.minimum >= zone.maximum) return;  // one key, or none
  zone.key_bytes = bytes_for(difference(zone.maximum, zone.minimum));
  zone.values = sections.add(keys.size() * zone.key_bytes);
  for (std::size_t row = 0; row < keys.size(); ++row) {
    const std::uint64_t packed = is_set(missing, row) ? 0 : difference(keys[row], zone.minimum);
    std::memcpy(sections.at(zone.values + row * zone.key_bytes), &packed, zone.key_bytes);
  }
}

std::size_t header_bytes(std::size_t num_gaps, std::size_t num_fields) {
  return sizeof(LeafFieldsHeader) + num_gaps * sizeof(AttributeGaps) + num_fields * sizeof(FieldZone);
}

}  // namespace

bool LeafFields::has_zones_of(const LeafFields& other) const {
  if (empty() || other.empty()) return empty() == other.empty();
  const auto is_full = [](std::uint32_t num_missing, const LeafFields& of) {
    return num_missing == of.header().num_rows;
  };
  const auto same_gaps = [&](const AttributeGaps& a, const AttributeGaps& b) {
    return a.attribute == b.attribute && is_full(a.num_missing, *this) == is_full(b.num_missing, other);
  };
  if (!std::ranges::equal(gaps(), other.gaps(), same_gaps)) return false;
  for (std::size_t f = 0; f < num_fields(); ++f) {
    const FieldZone &a = zone(f), &b = other.zone(f);
    if (a.minimum != b.minimum || a.maximum != b.maximum || a.set != b.set ||
        (a.num_missing > 0) != (b.num_missing > 0) ||
        is_full(a.num_missing, *this) != is_full(b.num_missing, other))
      return false;
  }
  return true;
}

LeafFieldsBuilder::LeafFieldsBuilder(std::span<const Field> fields) {
  for (const Field& field : fields) columns_.push_back({is_stored_text(field), {}, {}, 0});
}

void LeafFieldsBuilder::start(std::size_t num_rows) {
  num_rows_ = num_rows;
  missing_.clear();
  for (FieldColumn& column : columns_) {
    if (!column.is_stored_text) column.keys.assign(num_rows, 0);
    column.missing.assign(num_words(num_rows), 0);
    column.num_missing = 0;
  }
}

void LeafFieldsBuilder::set_missing_attribute(std::size_t attribute, std::size_t row) {
  const auto place = std::ranges::lower_bound(missing_, attribute, {}, &Missing::attribute);
  const auto found =
      place != missing_.end() && place->attribute == attribute
          ? place
          : missing_.insert(place, {attribute, std::vector<std::uint64_t>(num_words(num_rows_))});
  found->rows[row / 64] |= std::uint64_t{1} << row % 64;
}

void LeafFieldsBuilder::set_key(std::size_t field, std::size_t row, std::int64_t key) {
  columns_[field].keys[row] = key;
}

void LeafFieldsBuilder::set_missing(std::size_t field, std::size_t row) {
  columns_[field].missing[row / 64] |= std::uint64_t{1} << row % 64;
  ++columns_[field].num_missing;
}

void LeafFieldsBuilder::copy_row(std::size_t row, const LeafFields& from, std::size_t from_row) {
  for (const AttributeGaps& gaps : from.gaps())
    if (from.misses_attribute(gaps.attribute, from_row)) set_missing_attribute(gaps.attribute, row);
  for (std::size_t field = 0; field < columns_.size(); ++field) {
    if (from.misses_field(field, from_row)) {
      set_missing(field, row);
    } else if (!columns_[field].is_stored_text) {
      set_key(field, row, from.key(field, from_row));
    }
  }
}

bool LeafFieldsBuilder::is_missing_attribute(std::size_t attribute, std::size_t row) const {
  const auto found = std::ranges::lower_bound(missing_, attribute, {}, &Missing::attribute);
  return found != missing_.end() && found->attribute == attribute && is_set(found->rows, row);
}

std::vector<AttributeGaps>& LeafFieldsBuilder::find_gaps() {
  gaps_.clear();
  for (const Missing& one : missing_) {
    AttributeGaps gaps;
    gaps.attribute = static_cast<std::uint32_t>(one.attribute);
    for (const std::uint64_t word : one.rows)
      gaps.num_missing += static_cast<std::uint32_t>(std::popcount(word));
    gaps_.push_back(gaps);
  }
  return gaps_;
}

std::vector<std::byte> LeafFieldsBuilder::encode() const {
  if (columns_.empty() && gaps_.empty()) return {};
  Sections sections(header_bytes(gaps_.size(), columns_.size()));
  std::size_t entry = sizeof(LeafFieldsHeader);
  for (std::size_t i = 0; i < gaps_.size(); ++i, entry += sizeof(AttributeGaps)) {
    AttributeGaps gaps = gaps_[i];
    gaps.missing = sections.add(missing_[i].rows);
    sections.put(entry, gaps);
  }
  for (const FieldColumn& column : columns_) {
    FieldZone zone;
    zone.num_missing = column.num_missing;
    const bool some_missing = column.num_missing > 0 && column.num_missing < num_rows_;
    if (some_missing) zone.missing = sections.add(column.missing);
    if (!column.is_stored_text) encode_keys(column.keys, column.missing, zone, sections);
    sections.put(entry, zone);
    entry += sizeof(FieldZone);
  }
  sections.add(kLeafFieldsPadding);
  sections.put(0, LeafFieldsHeader{
                      static_cast<std::uint32_t>(sections.size()), static_cast<std::uint32_t>(num_rows_),
                      static_cast<std::uint32_t>(gaps_.size()), static_cast<std::uint32_t>(columns_.size())});
  return sections.take();
}

namespace {

// Checks LeafFields whose bytes may be anything.
class Checker {
 public:
  Checker(std::span<const std::byte> bytes, std::size_t num_rows) : bytes_(bytes), num_rows_(num_rows) {}

  std::string_view fault(std::size_t num_attributes, std::span<const Field> fields,
                         std::span<const std::uint32_t> dictionary_sizes) const {
    if (bytes_.size() < sizeof(LeafFieldsHeader) + kLeafFieldsPadding || bytes_.size() > kMaxBytes)
      return "the fields are too short or too long";
    const auto header = read<LeafFieldsHeader>(0);
    if (header.num_bytes != bytes_.size()) return "the length of the fields is wrong";
    if (header.num_rows != num_rows_) return "the fields are of another number of rows";
    if (header.num_fields != fields.size() || header.num_gaps > num_attributes)
      return "too many or too few fields";
    const std::size_t first_zone = sizeof(LeafFieldsHeader) + header.num_gaps * sizeof(AttributeGaps);
    if (header_bytes(header.num_gaps, header.num_fields) + kLeafFieldsPadding > bytes_.size())
      return "the fields are truncated";
    std::int64_t before = -1;
    for (std::size_t i = 0; i < header.num_gaps; ++i) {
      const auto gaps = read<AttributeGaps>(sizeof(LeafFieldsHeader) + i * sizeof(AttributeGaps));
      if (gaps.attribute >= num_attributes || std::int64_t{gaps.attribute} <= before ||
          gaps.num_missing == 0 || gaps.reserved != 0 || !is_bitmap(gaps.missing, gaps.num_missing))
        return "the gaps of an attribute are wrong";
      before = gaps.attribute;
    }
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const auto zone = read<FieldZone>(first_zone + f * sizeof(FieldZone));
      const bool some_missing = zone.num_missing > 0 && zone.num_missing < num_rows_;
      if (zone.num_missing > num_rows_ || some_missing != (zone.missing != 0) ||
          (some_missing && !is_bitmap(zone.missing, zone.num_missing)))
        return "the missing values of a field are wrong";
      if (is_stored_text(fields[f]) ? !has_no_keys(zone)
                                    : !keys_are_good(zone, fields[f], dictionary_sizes[f]))
        return "the values of a field are wrong";
    }
    return {};
  }

 private:
  template <typename T>
  T read(std::size_t offset) const {
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  bool has_section(std::uint64_t offset, std::uint64_t size) const {
    const std::uint64_t end = bytes_.size() - kLeafFieldsPadding;
    return offset % 8 == 0 && offset >= sizeof(LeafFieldsHeader) && offset <= end && size <= end - offset;
  }

  // `count` of the bits are set, none after the last row.
  bool is_bitmap(std::uint32_t offset, std::uint32_t count) const {
    const std::size_t words = num_words(num_rows_);
    if (!has_section(offset, words * sizeof(std::uint64_t))) return false;
    std::size_t set = 0;
    for (std::size_t w = 0; w < words; ++w)
      set += static_cast<std::size_t>(std::popcount(read<std::uint64_t>(offset + w * sizeof(std::uint64_t))));
    const std::uint64_t last = read<std::uint64_t>(offset + (words - 1) * sizeof(std::uint64_t));
    return set == count && (num_rows_ % 64 == 0 || last >> num_rows_ % 64 == 0);
  }

  bool is_missing(const FieldZone& zone, std::size_t row) const {
    if (zone.missing == 0) return zone.num_missing > 0;
    return (read<std::uint64_t>(zone.missing + row / 64 * sizeof(std::uint64_t)) >> row % 64 & 1) != 0;
  }

  // As a stored text.
  static bool has_no_keys(const FieldZone& zone) {
    return zone.minimum == 0 && zone.maximum == 0 && zone.set == 0 && zone.values == 0 && zone.key_bytes == 0;
  }

  // The zone is exactly that of the keys: engines and writers rely on it.
  bool keys_are_good(const FieldZone& zone, const Field& field, std::uint32_t dictionary_size) const {
    if (zone.num_missing == num_rows_)
      return zone.minimum > zone.maximum && zone.set == 0 && zone.key_bytes == 0 && zone.values == 0;
    if (zone.minimum > zone.maximum || (zone.key_bytes == 0 && zone.values != 0)) return false;
    if (zone.key_bytes != bytes_for(difference(zone.maximum, zone.minimum))) return false;
    if (zone.key_bytes > 0 && !has_section(zone.values, num_rows_ * zone.key_bytes)) return false;
    FieldZone real = zone;
    real.minimum = std::numeric_limits<std::int64_t>::max();
    real.maximum = std::numeric_limits<std::int64_t>::min();
    real.set = 0;
    for (std::size_t row = 0; row < num_rows_; ++row) {
      if (is_missing(zone, row)) continue;
      std::uint64_t packed = 0;
      if (zone.key_bytes > 0)
        std::memcpy(&packed, bytes_.data() + zone.values + row * zone.key_bytes, zone.key_bytes);
      if (packed > difference(zone.maximum, zone.minimum)) return false;
      const auto key = static_cast<std::int64_t>(static_cast<std::uint64_t>(zone.minimum) + packed);
      real.minimum = std::min(real.minimum, key);
      real.maximum = std::max(real.maximum, key);
      real.set |= key_set_bit(key);
    }
    return real == zone && keys_are_values(zone, field, dictionary_size);
  }

  static bool keys_are_values(const FieldZone& zone, const Field& field, std::uint32_t dictionary_size) {
    switch (field.format.type) {
      case ColumnType::text:
        return zone.minimum >= 0 && zone.maximum < std::int64_t{dictionary_size};
      case ColumnType::boolean:
        return zone.minimum >= 0 && zone.maximum <= 1;
      case ColumnType::floating:
        return zone.minimum >= key_of_double(std::numeric_limits<double>::lowest()) &&
               zone.maximum <= key_of_double(std::numeric_limits<double>::max());
      default:
        return true;
    }
  }

  std::span<const std::byte> bytes_;
  std::size_t num_rows_;
};

}  // namespace

std::string_view fault_of_leaf_fields(std::span<const std::byte> bytes, std::size_t num_rows,
                                      std::size_t num_attributes, std::span<const Field> fields,
                                      std::span<const std::uint32_t> dictionary_sizes) {
  return Checker(bytes, num_rows).fault(num_attributes, fields, dictionary_sizes);
}

}  // namespace culmen
