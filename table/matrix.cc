#include "table/matrix.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/temporary_files.h"
#include "base/with_threads.h"
#include "culmen/error.h"
#include "table/cell_id.h"
#include "table/column_selection.h"
#include "table/matrix_values.h"
#include "table/text.h"
#include "table/unique_ids.h"

namespace culmen::io {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian and read as they are");

constexpr std::size_t kWindowBytes = std::size_t{16} << 20;  // read at a time
constexpr std::size_t kBlockBytes = std::size_t{256} << 10;  // checked by one task
constexpr std::size_t kNoFault = std::numeric_limits<std::size_t>::max();

template <Element T>
std::string to_text(T value) {
  char buffer[64];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end);
}

template <Element T>
class MatrixReader {
 public:
  MatrixReader(ByteSource& source, const MatrixFormat& format, const std::string& name,
               const ReadOptions& options)
      : source_(source),
        format_(format),
        name_(name),
        options_(options),
        num_prefix_(format.has_row_prefix ? 1 : 0),
        num_rows_(static_cast<std::size_t>(format.num_rows)),
        num_stored_columns_(static_cast<std::size_t>(format.num_columns) + num_prefix_),
        memory_(temporary_files(options.temp_directory)),
        values_(memory_) {
    select();
  }

  Table read() {
    const std::size_t num_values = num_rows_ * num_stored_columns_;
    values_.reserve(num_values);
    constexpr std::size_t kWindowElements = kWindowBytes / sizeof(T);
    for (std::size_t pos = 0; pos < num_values; pos += kWindowElements) {
      const std::size_t count = std::min(kWindowElements, num_values - pos);
      values_.resize(pos + count);  // not all at once: each page of a file would be written twice
      read_window(pos, count);
      check_window(pos, count);
    }
    drop_null_rows();
    return finish();
  }

 private:
  enum class Use : std::uint8_t { none, attribute, field };
  enum class Verdict : std::uint8_t { keep, drop_row, refuse };
  struct Cell {
    std::size_t row;
    std::size_t column;
  };

  void select();
  Verdict judge(T value, Use use) const;
  void read_window(std::size_t pos, std::size_t count);
  void check_window(std::size_t pos, std::size_t count);
  std::size_t check_block(std::size_t pos, std::size_t count, std::vector<std::uint64_t>& null_rows);
  std::size_t check_each(std::size_t pos, std::size_t count, std::vector<std::uint64_t>& null_rows) const;
  std::size_t check_prefixes(std::size_t pos, std::size_t count) const;
  bool is_right_prefix(std::size_t index) const;
  Cell cell_of(std::size_t index) const;
  std::string row_text(std::size_t row) const { return std::to_string(format_.first_row + row + 1); }
  [[noreturn]] void throw_fault(std::size_t index) const;
  void drop_null_rows();
  T* remove_rows(T* begin, std::size_t row_elements) const;
  void take_ids(Table& table) const;
  void make_unsigned(Table& table) const;
  Table finish();

  // The first value of a column, and the distance from one row to the next.
  std::size_t column_offset(std::size_t column) const {
    return format_.column_major ? column * static_cast<std::size_t>(format_.num_rows) : column + num_prefix_;
  }
  std::size_t row_stride() const { return format_.column_major ? 1 : num_stored_columns_; }

  ByteSource& source_;
  const MatrixFormat& format_;
  const std::string& name_;
  const ReadOptions& options_;
  const std::size_t num_prefix_;
  std::size_t num_rows_;
  const std::size_t num_stored_columns_;
  ColumnSelection selection_;
  std::vector<std::string> names_;
  std::vector<Use> uses_;  // [num_stored_columns]
  const std::shared_ptr<ArrayMemory> memory_;
  Array<T> values_;
  std::vector<std::uint64_t> null_rows_;  // to be dropped; sorted once everything is read
};

template <Element T>
void MatrixReader<T>::select() {
  if (!options_.label_column.empty()) {
    throw InvalidArgument(name_ + ": this format has no labels; read them from CSV");
  }
  names_ = default_column_names(num_stored_columns_ - num_prefix_);
  selection_ = select_columns(names_, options_, name_, true);
  if (selection_.id && std::is_floating_point_v<T>) {
    throw InvalidArgument(name_ + ": column " + quote_excerpt(options_.id_column) +
                          " cannot hold ids: expected integers, found floats");
  }
  uses_.resize(num_stored_columns_);
  std::vector<std::string> ranked, others;
  for (KeptColumn& column : selection_.columns) {
    column.is_attribute |= column.is_undecided;  // all columns of a matrix are numbers
    Use& use = uses_[column.position + num_prefix_];
    if (use != Use::attribute) use = column.is_attribute ? Use::attribute : Use::field;
    (column.is_attribute ? ranked : others).push_back(column.name);
  }
  const bool chosen = !options_.attributes.empty() || options_.schema;
  check_column_counts(ranked, others, chosen, name_);
}

template <Element T>
auto MatrixReader<T>::judge(T value, Use use) const -> Verdict {
  if (use == Use::none || is_valid(value)) return Verdict::keep;
  if constexpr (std::is_floating_point_v<T>) {
    const bool drops = options_.nulls == NullPolicy::drop;
    if (std::isinf(value)) return drops ? Verdict::drop_row : Verdict::refuse;
    if (use == Use::field || options_.nulls == NullPolicy::keep) return Verdict::keep;
    return drops ? Verdict::drop_row : Verdict::refuse;
  } else {
    return use == Use::attribute ? Verdict::refuse : Verdict::keep;
  }
}

template <Element T>
void MatrixReader<T>::read_window(std::size_t pos, std::size_t count) {
  const std::size_t num_bytes = count * sizeof(T);
  if (source_.read(reinterpret_cast<char*>(values_.data() + pos), num_bytes) != num_bytes) {
    throw_too_short(name_);
  }
}

template <Element T>
void MatrixReader<T>::check_window(std::size_t pos, std::size_t count) {
  constexpr std::size_t kBlockElements = kBlockBytes / sizeof(T);
  const std::size_t num_blocks = (count + kBlockElements - 1) / kBlockElements;
  std::vector<std::size_t> faults(num_blocks, kNoFault);
  std::vector<std::vector<std::uint64_t>> null_rows(num_blocks);
  tbb::parallel_for(std::size_t{0}, num_blocks, [&](std::size_t block) {
    const std::size_t begin = block * kBlockElements;
    faults[block] = check_block(pos + begin, std::min(kBlockElements, count - begin), null_rows[block]);
  });
  const std::size_t first_fault = *std::min_element(faults.begin(), faults.end());
  if (first_fault != kNoFault) throw_fault(first_fault);
  for (const auto& rows : null_rows) null_rows_.insert(null_rows_.end(), rows.begin(), rows.end());
  if (!options_.on_progress) return;
  const Progress progress = source_.progress();
  options_.on_progress(progress.done_bytes, progress.total_bytes);
}

// Returns the position of the first value that is refused, or kNoFault.
template <Element T>
std::size_t MatrixReader<T>::check_block(std::size_t pos, std::size_t count,
                                         std::vector<std::uint64_t>& null_rows) {
  if (!clean(std::span<T>(values_.data() + pos, count))) return check_each(pos, count, null_rows);
  return format_.has_row_prefix ? check_prefixes(pos, count) : kNoFault;
}

// As check_block, for blocks with an invalid value, which may be in a column that is not read.
template <Element T>
std::size_t MatrixReader<T>::check_each(std::size_t pos, std::size_t count,
                                        std::vector<std::uint64_t>& null_rows) const {
  for (std::size_t index = pos; index < pos + count; ++index) {
    const Cell cell = cell_of(index);
    if (cell.row < format_.num_unchecked_rows) continue;
    if (cell.column < num_prefix_) {
      if (!is_right_prefix(index)) return index;
      continue;
    }
    const Verdict verdict = judge(values_[index], uses_[cell.column]);
    if (verdict == Verdict::refuse) return index;
    if (verdict == Verdict::drop_row) null_rows.push_back(cell.row);
  }
  return kNoFault;
}

template <Element T>
std::size_t MatrixReader<T>::check_prefixes(std::size_t pos, std::size_t count) const {
  const std::size_t first_row = (pos + num_stored_columns_ - 1) / num_stored_columns_;
  for (std::size_t index = first_row * num_stored_columns_; index < pos + count;
       index += num_stored_columns_) {
    if (!is_right_prefix(index)) return index;
  }
  return kNoFault;
}

template <Element T>
bool MatrixReader<T>::is_right_prefix(std::size_t index) const {
  if constexpr (sizeof(T) == sizeof(std::uint32_t)) {
    return std::bit_cast<std::uint32_t>(values_[index]) == format_.num_columns;
  }
  return false;
}

template <Element T>
auto MatrixReader<T>::cell_of(std::size_t index) const -> Cell {
  if (format_.column_major) return {index % num_rows_, index / num_rows_};
  return {index / num_stored_columns_, index % num_stored_columns_};
}

template <Element T>
void MatrixReader<T>::throw_fault(std::size_t index) const {
  const Cell cell = cell_of(index);
  const std::string where = name_ + ": row " + row_text(cell.row);  // from 1, as lines are
  const T value = values_[index];
  if (cell.column < num_prefix_) {
    const auto found = std::bit_cast<std::int32_t>(static_cast<float>(value));
    throw InputError(where + ": expected " + std::to_string(format_.num_columns) +
                     " values as in row 1, found a length of " + std::to_string(found));
  }
  const std::string column = ", column " + quote_excerpt(names_[cell.column - num_prefix_]);
  if (std::is_floating_point_v<T>) {
    throw InputError(where + column + ": expected a finite number, found " + to_text(value),
                     InputError::Remedy::drop_nulls);
  }
  throw InputError(where + column +
                   ": expected an integer that float64 holds exactly, as all up to 2^53, found " +
                   to_text(value));
}

template <Element T>
void MatrixReader<T>::drop_null_rows() {
  std::sort(null_rows_.begin(), null_rows_.end());
  null_rows_.erase(std::unique(null_rows_.begin(), null_rows_.end()), null_rows_.end());
  if (null_rows_.empty()) return;
  if (format_.column_major) {
    for (std::size_t column = 0; column < num_stored_columns_; ++column) {
      remove_rows(values_.data() + column_offset(column), 1);
    }
  } else {
    const T* const end = remove_rows(values_.data(), num_stored_columns_);
    values_.resize(static_cast<std::size_t>(end - values_.data()));
  }
  num_rows_ -= null_rows_.size();
}

// Moves the remaining rows to the front and returns their end.
template <Element T>
T* MatrixReader<T>::remove_rows(T* begin, std::size_t row_elements) const {
  T* out = begin + null_rows_.front() * row_elements;
  for (std::size_t i = 0; i < null_rows_.size(); ++i) {
    const std::size_t next_null = i + 1 < null_rows_.size() ? null_rows_[i + 1] : num_rows_;
    out = std::copy(begin + (null_rows_[i] + 1) * row_elements, begin + next_null * row_elements, out);
  }
  return out;
}

// Ids are integers, and an integer matrix has no nulls: no row was dropped or moved.
template <Element T>
void MatrixReader<T>::take_ids(Table& table) const {
  table.ids = Array<std::int64_t>(num_rows_, memory_);
  const T* const first = values_.data() + column_offset(*selection_.id);
  for (std::size_t row = 0; row < num_rows_; ++row) {
    table.ids[row] = static_cast<std::int64_t>(first[row * row_stride()]);
  }
  table.id_type = given_id_type(options_).value_or(IdType::int64);  // no format has uint64
  if (table.id_type == IdType::uint64) make_unsigned(table);
  if (!options_.unique_ids) return;
  const std::size_t first_row = std::min<std::size_t>(num_rows_, format_.num_unchecked_rows);
  const auto ids = std::span<const std::int64_t>(table.ids).subspan(first_row);
  const std::optional<RepeatedId> repeated = find_repeated_id(ids, memory_);
  if (!repeated) return;
  throw InputError(name_ + ": row " + row_text(first_row + repeated->second_row) + ", column " +
                   quote_excerpt(table.id_name) + ": expected unique ids, found " +
                   id_text(ids[repeated->second_row], table.id_type) + " again (first in row " +
                   row_text(first_row + repeated->first_row) + ")");
}

template <Element T>
void MatrixReader<T>::make_unsigned(Table& table) const {
  const auto negative = std::ranges::find_if(table.ids, [](std::int64_t id) { return id < 0; });
  if (negative != table.ids.end())
    throw InputError(name_ + ": row " + row_text(static_cast<std::size_t>(negative - table.ids.begin())) +
                     ", column " + quote_excerpt(table.id_name) + ": expected " +
                     std::string(expected_id(IdType::uint64)) + ", found " + std::to_string(*negative));
  make_uint64_ids(table.ids);
}

template <Element T>
Table MatrixReader<T>::finish() {
  if (given_id_type(options_) == IdType::text)
    throw InvalidArgument(name_ +
                          ": the ids are texts, and this format holds numbers alone: give CSV or JSON Lines");
  Table table;
  table.num_rows = num_rows_;
  table.num_dropped_rows = null_rows_.size();
  table.dropped_rows = null_rows_;
  if (selection_.id) {
    table.id_name = names_[*selection_.id];
    take_ids(table);
  }
  const ColumnFormat own_format = {std::is_floating_point_v<T> ? ColumnType::floating : ColumnType::integer};
  for (const KeptColumn& column : selection_.columns) {
    const T* const first = values_.empty() ? nullptr : values_.data() + column_offset(column.position);
    const ColumnView view(first, table.num_rows, static_cast<std::ptrdiff_t>(row_stride()));
    const ColumnFormat format = column.format.value_or(own_format);
    if (column.is_attribute) {
      table.columns.push_back(view);
      table.attributes.push_back(column.attribute);
      table.attributes.back().format = format;
    } else {
      table.field_columns.emplace_back(view);
      table.fields.push_back({column.name, column.role.value_or(FieldRole::filter), format});
    }
  }
  table.storage.emplace_back(std::move(values_));  // moving a vector does not move its elements
  table.location_of_row = [name = name_, first_row = format_.first_row,
                           dropped = std::move(null_rows_)](std::size_t row) {
    return name + ": row " + std::to_string(first_row + row_number(row, dropped) + 1);
  };
  return table;
}

}  // namespace

void throw_too_short(const std::string& name) {
  throw IoError("cannot read " + name + ": it became shorter while it was read");
}

void check_matrix_size(const MatrixFormat& format, std::uint64_t header_bytes, const ByteSource& source,
                       const std::string& name) {
  if (!source.num_bytes()) throw IoError("cannot read " + name + ": expected a regular file");
  if (format.num_columns > kMaxColumns) {
    throw InputError(name + ": expected at most " + std::to_string(kMaxColumns) + " columns, found " +
                     std::to_string(format.num_columns));
  }
  const std::uint64_t row_bytes =
      (format.num_columns + (format.has_row_prefix ? 1 : 0)) * element_bytes(format.type);
  const std::uint64_t present = *source.num_bytes() - std::min(header_bytes, *source.num_bytes());
  const bool fits =
      row_bytes == 0 ? present == 0 : present % row_bytes == 0 && present / row_bytes == format.num_rows;
  if (fits) return;
  throw InputError(name + ": the header announces " + std::to_string(format.num_rows) + " rows of " +
                   std::to_string(row_bytes) + " bytes from byte " + std::to_string(header_bytes) +
                   " on, but the file ends at byte " + std::to_string(*source.num_bytes()));
}

Table read_matrix(ByteSource& source, const MatrixFormat& format, const std::string& name,
                  const ReadOptions& options) {
  Table table;
  with_threads(options.num_threads, [&] {
    switch (format.type) {
      case ElementType::float32:
        table = MatrixReader<float>(source, format, name, options).read();
        break;
      case ElementType::float64:
        table = MatrixReader<double>(source, format, name, options).read();
        break;
      case ElementType::int32:
        table = MatrixReader<std::int32_t>(source, format, name, options).read();
        break;
      case ElementType::int64:
        table = MatrixReader<std::int64_t>(source, format, name, options).read();
        break;
    }
  });
  return table;
}

}  // namespace culmen::io
