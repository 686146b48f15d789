// Random tables with random schemas: attributes and fields of every type, with gaps, ties, extreme values and texts. A
// table is a list of rows (culmen::Row), so that the oracle reads what the user wrote and nothing else.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "culmen/search.h"
#include "culmen/table.h"
#include "tests/generators.h"

namespace culmen::test {

inline constexpr std::int64_t kLowestInt = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kHighestInt = std::numeric_limits<std::int64_t>::max();

// Which rows miss a column: none, some at random, all, one, or those whose latent number lies in an interval, so that
// whole leaves miss it or have it.
class GapSource {
 public:
  explicit GapSource(Random& random) : kind_(random.below(8)), share_(random.pick({0.02, 0.2, 0.5, 0.95})) {
    if (kind_ == 4) share_ = 1;
    first_ = random.unit();
  }

  bool draw(Random& random, double latent) {
    if (kind_ <= 2) return false;
    if (kind_ == 3) return std::exchange(waits_, false);
    if (kind_ == 5) return latent >= first_ && latent < first_ + share_ / 2;
    return random.chance(share_);
  }

 private:
  std::uint64_t kind_;
  double share_, first_;
  bool waits_ = true;  // for the one gap
};

// Whether float32 holds the values of attributes: as they are, rounded, or not at all.
enum class Precision { float32, rounded_to_float32, float64 };

class AttributeSource {
 public:
  AttributeSource(Random& random, Precision precision)
      : kind_(random.below(16)), precision_(precision), gaps_(random), salt_(random.next()) {
    base_ = random.uniform(-10, 10);
    count_ = 1 + random.below(5);
    falls_ = random.chance(0.5);
  }

  ColumnFormat format() const {
    switch (kind_) {
      case 0:
      case 12:
        return {ColumnType::integer};
      case 11:
        return {ColumnType::timestamp, TimeUnit::second};
      case 13:
        return {ColumnType::boolean};
      case 14:
        return {ColumnType::date};
      default:
        return {};
    }
  }

  double draw(Random& random, double latent) {
    if (gaps_.draw(random, latent)) return std::numeric_limits<double>::quiet_NaN();
    const double value = number(random, latent);
    return precision_ == Precision::float32 ? static_cast<double>(static_cast<float>(value)) : value;
  }

 private:
  double number(Random& random, double latent) const {
    const bool small = precision_ != Precision::float64;
    switch (kind_) {
      case 0:
        return static_cast<double>(random.below(count_ + 1));
      case 1:
        return random.unit();
      case 2:
        return latent + random.uniform(-0.05, 0.05);
      case 3:
        return (falls_ ? 1 - latent : latent) * 100;
      case 4:
        return base_;
      case 5:
        return random.between(-1024, 1024) * 0x1p-10;
      case 6:
        return random.sign() * std::pow(10.0, small ? random.uniform(30, 37) : random.uniform(280, 300));
      case 7:
        return random.sign() * std::pow(10.0, random.uniform(-30, 30));
      case 8:
        return static_cast<double>(random.below(64)) * (small ? 0x1p-149 : 0x1p-1074) * random.sign();
      case 9:
        return random.pick({-0.0, 0.0, -0.0, 0.25, -0.25});
      case 10:
        return Random(salt_).uniform(1, 2) * (1 + static_cast<double>(random.below(4)) * 0x1p-52);
      case 11:
        return 1'700'000'000 + std::floor(latent * 1e6);
      case 12:
        return random.pick({0x1p53, -0x1p53, 0x1p53 - 1, 0.0, 1.0, 1e9}) * (falls_ ? -1 : 1);
      case 13:
        return static_cast<double>(random.below(2));
      case 14:
        return 19'000 + std::floor(latent * 1500);
      default:
        return Random(salt_ + static_cast<std::uint64_t>(latent * 4)).uniform(-1, 1);
    }
  }

  std::uint64_t kind_;
  Precision precision_;
  GapSource gaps_;
  std::uint64_t salt_;
  double base_ = 0;
  std::uint64_t count_ = 1;
  bool falls_ = false;
};

// Distinct texts, many of which begin with others.
class TextPool {
 public:
  TextPool(Random& random, std::size_t size) { grow(random, size); }

  void grow(Random& random, std::size_t more) {
    for (std::size_t i = 0; i < more; ++i) {
      std::string text = word(random);
      while (!known_.insert(text).second) text += letter(random);
      texts_.push_back(std::move(text));
    }
  }

  // Earlier ones are more frequent.
  const std::string& draw(Random& random) const {
    const double u = random.unit();
    return texts_[static_cast<std::size_t>(u * u * static_cast<double>(texts_.size()))];
  }

  std::string word(Random& random) const {
    if (random.chance(0.02)) return "";
    std::string text;
    if (!texts_.empty() && random.chance(0.5)) {
      text = texts_[random.below(texts_.size())];
      text.resize(random.below(text.size() + 1));
      // Not in the middle of a character.
      while (!text.empty() && static_cast<unsigned char>(text.back()) >= 0x80) text.pop_back();
    }
    const std::size_t letters = random.chance(0.01) ? 300 : random.below(6);
    for (std::size_t i = 0; i < letters; ++i) text += letter(random);
    return text;
  }

 private:
  static std::string letter(Random& random) {
    if (random.chance(0.1))
      return random.pick<std::string>({"'", "\"", "%", "_", "\\", " ", "№", "\xf4\x8f\xbf\xbf", "\x7f",
                                       "\x01", std::string(1, '\0'), "é"});
    return std::string(1, static_cast<char>('a' + random.below(random.chance(0.5) ? 3 : 26)));
  }

  std::set<std::string> known_;
  std::vector<std::string> texts_;
};

class FieldSource {
 public:
  explicit FieldSource(Random& random)
      : kind_(random.below(6)),
        gaps_(random),
        pool_(random, random.pick<std::size_t>({1, 2, 5, 30, 60, 60, 60, 300, 3000})),
        base_(static_cast<std::int64_t>(random.next())) {
    if (random.chance(0.5)) base_ /= 1'000'000'000'000;
    role_ = random.chance(0.2) ? FieldRole::stored : FieldRole::filter;
    format_.type = random.pick({ColumnType::floating, ColumnType::integer, ColumnType::boolean,
                                ColumnType::date, ColumnType::timestamp, ColumnType::text, ColumnType::text});
    if (format_.type != ColumnType::timestamp) return;
    format_.unit =
        random.pick({TimeUnit::second, TimeUnit::millisecond, TimeUnit::microsecond, TimeUnit::nanosecond});
    if (random.chance(0.3)) format_.time_zone = "UTC";
  }

  FieldRole role() const { return role_; }
  const ColumnFormat& format() const { return format_; }
  const TextPool& pool() const { return pool_; }
  void grow(Random& random, std::size_t more) {
    if (format_.type == ColumnType::text) pool_.grow(random, more);
  }

  FieldValue draw(Random& random, double latent) {
    if (gaps_.draw(random, latent)) return std::monostate();
    switch (format_.type) {
      case ColumnType::floating:
        return floating(random, latent);
      case ColumnType::integer:
        return integer(random, latent);
      case ColumnType::boolean:
        return static_cast<std::int64_t>(kind_ == 0 ? 1 : random.below(2));
      case ColumnType::date:
        return date(random, latent);
      case ColumnType::timestamp:
        return timestamp(random, latent);
      case ColumnType::text:
        break;
    }
    if (role_ == FieldRole::stored && random.chance(0.3))
      return std::string(random.below(random.chance(0.02) ? 5000 : 40), 'x');
    return pool_.draw(random);
  }

 private:
  double floating(Random& random, double latent) const {
    constexpr double kLargest = std::numeric_limits<double>::max();
    switch (kind_) {
      case 0:
        return random.pick({kLargest, -kLargest, 0x1p-1074, -0x1p-1074, -0.0, 0.0, 1.0, 0x1.fffffffffffffp0});
      case 1:
        return random.between(-20, 20) * 0.1;
      case 2:
        return latent;
      case 3:
        return 7.25;
      case 4:
        return random.sign() * std::pow(10.0, random.uniform(-300, 300));
      default:
        return random.between(0, 1000);
    }
  }

  std::int64_t integer(Random& random, double latent) const {
    constexpr std::int64_t kBig = std::int64_t{1} << 53;
    switch (kind_) {
      case 0:
        return random.pick({kLowestInt, kLowestInt + 1, kHighestInt, kHighestInt - 1, std::int64_t{0},
                            std::int64_t{-1}, kBig, kBig + 1, -kBig - 1});
      case 1:
        return random.between(-3, 3);
      case 2:
        return static_cast<std::int64_t>(latent * 1e5);
      case 3:
        return base_;
      case 4:
        return static_cast<std::int64_t>(random.next());
      default:
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(base_) + random.below(70'000));
    }
  }

  std::int64_t date(Random& random, double latent) const {
    if (kind_ == 0) return static_cast<std::int32_t>(random.next());  // any that there is
    if (kind_ == 1) return 20'240;
    return 18'000 + static_cast<std::int64_t>(kind_ == 2 ? latent * 3000 : random.between(0, 90));
  }

  std::int64_t timestamp(Random& random, double latent) const {
    if (kind_ == 0) return random.pick({kLowestInt + 1, kHighestInt, std::int64_t{0}, std::int64_t{-1}});
    std::int64_t ticks = 1;
    for (int unit = 0; unit < static_cast<int>(format_.unit); ++unit) ticks *= 1000;
    const auto seconds = kind_ == 1   ? random.between(1'700'000'000, 1'700'000'010)
                         : kind_ == 2 ? 1'600'000'000 + static_cast<int>(latent * 1e8)
                                      : 86'400 * random.between(19'000, 19'060);
    const auto part = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(ticks)));
    return seconds * ticks + (random.chance(0.5) ? part : 0);
  }

  std::uint64_t kind_;
  GapSource gaps_;
  TextPool pool_;
  std::int64_t base_;
  FieldRole role_;
  ColumnFormat format_;
};

// A schema, and rows for it without end.
class RowSource {
 public:
  RowSource(Random& random, Precision precision) : RowSource(random, precision, random.between(1, 8)) {}
  RowSource(Random& random, Precision precision, int num_attributes) : random_(random) {
    const int num_fields = random.between(0, 6);
    for (int i = 0; i < num_attributes; ++i) {
      attributes_.emplace_back(random, precision);
      Attribute attribute{name("a", i), random.chance(0.3) ? Preference::low : Preference::high};
      attribute.format = attributes_.back().format();
      attribute.stand_in =
          random.pick({StandIn::worst, StandIn::worst, StandIn::median, StandIn::mean, StandIn::number});
      if (attribute.stand_in == StandIn::number) attribute.number = random.pick({0.0, -1.5, 0.5, 1e6, -0.0});
      schema_.attributes.push_back(attribute);
    }
    for (int i = 0; i < num_fields; ++i) {
      fields_.emplace_back(random);
      schema_.fields.push_back({name("f", i), fields_.back().role(), fields_.back().format()});
    }
    schema_.has_labels = random.chance(0.2);
    id_kind_ = random.below(5);
  }

  const Schema& schema() const { return schema_; }
  const TextPool& pool(std::size_t field) const { return fields_[field].pool(); }
  // Whether ids above all of the rows' are there to be assigned.
  bool leaves_ids() const { return id_kind_ != 3; }

  // More texts to draw from.
  void grow() {
    for (FieldSource& field : fields_) field.grow(random_, random_.below(random_.chance(0.1) ? 500 : 5));
  }

  // With an id that no row has had.
  culmen::Row draw() { return draw(next_id()); }
  culmen::Row draw(std::int64_t id) {
    const double latent = random_.unit();
    culmen::Row row;
    row.id = id;
    for (AttributeSource& attribute : attributes_) row.values.push_back(attribute.draw(random_, latent));
    for (FieldSource& field : fields_) row.fields.push_back(field.draw(random_, latent));
    if (schema_.has_labels && random_.chance(0.9)) row.label = "Zeile № " + std::to_string(id);
    return row;
  }
  std::vector<culmen::Row> draw_many(std::size_t count) {
    std::vector<culmen::Row> rows;
    while (rows.size() < count) rows.push_back(draw());
    return rows;
  }

 private:
  std::string name(const char* letter, int number) {
    const std::string plain = std::string(letter).append(std::to_string(number));
    if (random_.chance(0.9)) return plain;
    return random_.pick<std::string>({plain + " b", plain + "\"q\"", plain + "é", "1" + plain, plain + "'s"});
  }

  std::int64_t next_id() {
    const std::int64_t i = num_ids_++;
    if (id_kind_ == 0) return i;
    if (id_kind_ == 1) return -i;
    if (id_kind_ == 2) return i * 1'000'003 - 5'000;
    if (id_kind_ == 3) return i % 2 == 0 ? kLowestInt + i : kHighestInt - i;
    return i * 7919 % 1'000'003;
  }

  Random& random_;
  Schema schema_;
  std::vector<AttributeSource> attributes_;
  std::vector<FieldSource> fields_;
  std::uint64_t id_kind_ = 0;
  std::int64_t num_ids_ = 0;
};

// Rows as a table in memory, in a random one of the forms that a TableView takes.
class RowTable {
 public:
  struct Shape {
    bool has_ids = true;
    bool shuffles_columns = false;
    std::vector<bool> left_out =
        {};  // [num_fields] of fields that the table does not have; empty: it has all
  };

  RowTable(Random& random, const Schema& schema, const std::vector<culmen::Row>& rows)
      : RowTable(random, schema, rows, Shape()) {}
  RowTable(Random& random, const Schema& schema, const std::vector<culmen::Row>& rows, const Shape& shape)
      : random_(random), rows_(rows) {
    view_.num_rows = rows.size();
    std::vector<std::size_t> order = positions(schema.attributes.size(), shape.shuffles_columns);
    for (const std::size_t i : order) {
      view_.attributes.push_back(schema.attributes[i]);
      view_.columns.push_back(attribute_column(i));
    }
    order = positions(schema.fields.size(), shape.shuffles_columns);
    for (const std::size_t f : order) {
      if (!shape.left_out.empty() && shape.left_out[f]) continue;
      view_.fields.push_back(schema.fields[f]);
      if (schema.fields[f].is_text()) {
        view_.field_views.emplace_back(text_column(f));
      } else {
        view_.field_views.emplace_back(field_column(f, schema.fields[f].format.type));
      }
    }
    labels_.offsets.push_back(0);
    for (const culmen::Row& row : rows) {
      ids_.push_back(row.id);
      append(labels_, row.label);
    }
    if (shape.has_ids) view_.ids = ids_;
    if (schema.has_labels) view_.labels = labels_.view();
  }
  RowTable(const RowTable&) = delete;
  RowTable& operator=(const RowTable&) = delete;

  const TableView& view() const { return view_; }

 private:
  std::vector<std::size_t> positions(std::size_t count, bool shuffled) {
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = i;
    if (shuffled)
      for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    return order;
  }

  static void append(Labels& labels, const std::string& text) {
    labels.bytes.insert(labels.bytes.end(), text.begin(), text.end());
    labels.offsets.push_back(labels.bytes.size());
  }

  // The bitmap begins anywhere, and its other bits are anything.
  Validity validity(const std::vector<bool>& missing) {
    const std::size_t offset = random_.below(20);
    std::vector<std::uint8_t>& bits = bitmaps_.emplace_back((offset + missing.size()) / 8 + 1);
    for (std::uint8_t& byte : bits) byte = static_cast<std::uint8_t>(random_.next());
    for (std::size_t row = 0; row < missing.size(); ++row) {
      const std::size_t at = offset + row;
      const auto bit = static_cast<std::uint8_t>(1u << at % 8);
      bits[at / 8] = static_cast<std::uint8_t>(missing[row] ? bits[at / 8] & ~bit : bits[at / 8] | bit);
    }
    return {bits.data(), offset};
  }

  template <Element T>
  static bool holds(const std::vector<double>& values) {
    if constexpr (std::is_same_v<T, double>) return true;
    const double limit = std::is_same_v<T, float> ? 3e38 : std::is_same_v<T, std::int32_t> ? 2e9 : 0x1p53;
    return std::all_of(values.begin(), values.end(), [limit](double value) {
      return std::isnan(value) ||
             (std::fabs(value) <= limit && static_cast<double>(static_cast<T>(value)) == value);
    });
  }

  // What stands where a value is missing means nothing.
  template <Element T>
  T rubbish() {
    if constexpr (std::is_floating_point_v<T>)
      return random_.pick(
          {T{0}, std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN(), T{1e30F}});
    return random_.pick({T{0}, std::numeric_limits<T>::max(), T{-1}});
  }

  template <Element T>
  ColumnView number_column(const std::vector<double>& values) {
    Array<T>& stored = std::get<Array<T>>(storage_.emplace_back(Array<T>()));
    std::vector<bool> missing;
    for (const double value : values) missing.push_back(std::isnan(value));
    const bool has_gaps = std::find(missing.begin(), missing.end(), true) != missing.end();
    const bool by_nan = std::is_floating_point_v<T> && random_.chance(0.5);
    for (const double value : values)
      stored.push_back(std::isnan(value) ? by_nan ? std::numeric_limits<T>::quiet_NaN() : rubbish<T>()
                                         : static_cast<T>(value));
    ColumnView column(stored);
    if ((has_gaps && !by_nan) || random_.chance(0.1)) column.validity = validity(missing);
    return column;
  }

  ColumnView any_number_column(const std::vector<double>& values) {
    for (;;) {
      const std::uint64_t type = random_.below(4);
      if (type == 0) return number_column<double>(values);
      if (type == 1 && holds<float>(values)) return number_column<float>(values);
      if (type == 2 && holds<std::int32_t>(values)) return number_column<std::int32_t>(values);
      if (type == 3 && holds<std::int64_t>(values)) return number_column<std::int64_t>(values);
    }
  }

  ColumnView attribute_column(std::size_t i) {
    std::vector<double> values;
    for (const culmen::Row& row : rows_) values.push_back(row.values[i]);
    return any_number_column(values);
  }

  template <Element T>
  ColumnView integer_column(std::size_t f, const std::vector<bool>& missing, bool has_gaps) {
    Array<T>& stored = std::get<Array<T>>(storage_.emplace_back(Array<T>()));
    for (std::size_t row = 0; row < rows_.size(); ++row)
      stored.push_back(missing[row] ? rubbish<T>()
                                    : static_cast<T>(std::get<std::int64_t>(rows_[row].fields[f])));
    ColumnView column(stored);
    if (has_gaps) column.validity = validity(missing);
    return column;
  }

  ColumnView field_column(std::size_t f, ColumnType type) {
    std::vector<bool> missing;
    bool has_gaps = random_.chance(0.1), is_small = true;
    std::vector<double> numbers;
    for (const culmen::Row& row : rows_) {
      const FieldValue& value = row.fields[f];
      missing.push_back(std::holds_alternative<std::monostate>(value));
      has_gaps |= missing.back();
      if (type == ColumnType::floating)
        numbers.push_back(missing.back() ? std::numeric_limits<double>::quiet_NaN()
                                         : std::get<double>(value));
      if (const auto* integer = std::get_if<std::int64_t>(&value))
        is_small = is_small && *integer >= std::numeric_limits<std::int32_t>::min() &&
                   *integer <= std::numeric_limits<std::int32_t>::max();
    }
    if (type == ColumnType::floating)
      return holds<float>(numbers) && random_.chance(0.3) ? number_column<float>(numbers)
                                                          : number_column<double>(numbers);
    return is_small && random_.chance(0.5) ? integer_column<std::int32_t>(f, missing, has_gaps)
                                           : integer_column<std::int64_t>(f, missing, has_gaps);
  }

  TextView text_column(std::size_t f) {
    Labels& labels = texts_.emplace_back();
    labels.offsets.push_back(0);
    std::vector<bool> missing;
    for (const culmen::Row& row : rows_) {
      const std::string* text = std::get_if<std::string>(&row.fields[f]);
      missing.push_back(text == nullptr);
      append(labels, text != nullptr ? *text : random_.chance(0.3) ? "rubbish" : "");
    }
    TextView column{labels.view(), {}};
    if (std::find(missing.begin(), missing.end(), true) != missing.end() || random_.chance(0.1))
      column.validity = validity(missing);
    return column;
  }

  Random& random_;
  const std::vector<culmen::Row>& rows_;
  std::deque<Table::Values> storage_;
  std::deque<std::vector<std::uint8_t>> bitmaps_;
  std::deque<Labels> texts_;
  std::vector<std::int64_t> ids_;
  Labels labels_;
  TableView view_;
};

}  // namespace culmen::test
