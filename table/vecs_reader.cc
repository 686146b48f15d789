#include "table/vecs_reader.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "culmen/error.h"
#include "table/column_selection.h"
#include "table/matrix.h"

namespace culmen::io {
namespace {

// A source with its first bytes put back, after they were read for a check.
class PutBackSource : public ByteSource {
 public:
  PutBackSource(ByteSource& source, std::string_view front) : source_(source), front_(front) {}

  std::size_t read(char* out, std::size_t num_bytes) override {
    const std::size_t from_front = std::min(num_bytes, front_.size());
    if (from_front > 0) std::memcpy(out, front_.data(), from_front);
    front_.remove_prefix(from_front);
    return from_front + source_.read(out + from_front, num_bytes - from_front);
  }
  std::optional<std::uint64_t> num_bytes() const override { return source_.num_bytes(); }
  Progress progress() const override { return source_.progress(); }

 private:
  ByteSource& source_;
  std::string_view front_;
};

// True if the file has the length of a header of `header_bytes` and a matrix of this shape. Cannot overflow.
bool explains_length(std::uint64_t num_rows, std::uint64_t num_columns, std::uint64_t header_bytes,
                     std::uint64_t num_bytes) {
  if (num_bytes < header_bytes) return false;
  const std::uint64_t num_values = (num_bytes - header_bytes) / sizeof(float);
  if ((num_bytes - header_bytes) % sizeof(float) != 0) return false;
  if (num_rows == 0 || num_columns == 0) return num_values == 0;
  return num_values % num_columns == 0 && num_values / num_columns == num_rows;
}

std::uint64_t known_size(const ByteSource& source, const std::string& name) {
  if (!source.num_bytes()) throw IoError("cannot read " + name + ": expected a regular file");
  return *source.num_bytes();
}

}  // namespace

void open_fvecs(ByteSource& source, const std::string& name, const MatrixReading& read) {
  const std::uint64_t num_bytes = known_size(source, name);
  char prefix[sizeof(std::int32_t)];
  if (source.read(prefix, sizeof(prefix)) != sizeof(prefix)) {
    throw InputError(name + ": expected the length of the first row in bytes 0 to 3, found a file of " +
                     std::to_string(num_bytes) + " bytes");
  }
  std::int32_t num_columns = 0;
  std::memcpy(&num_columns, prefix, sizeof(prefix));
  if (num_columns < 1 || num_columns > static_cast<std::int32_t>(kMaxColumns)) {
    throw InputError(name + ": expected rows of 1 to " + std::to_string(kMaxColumns) +
                     " values, found a length of " + std::to_string(num_columns) + " at byte 0");
  }
  const std::uint64_t row_bytes = sizeof(prefix) + static_cast<std::uint64_t>(num_columns) * sizeof(float);
  if (num_bytes % row_bytes != 0) {
    throw InputError(name + ": expected rows of " + std::to_string(row_bytes) +
                     " bytes, but the file ends at byte " + std::to_string(num_bytes) + ", within row " +
                     std::to_string(num_bytes / row_bytes + 1));
  }
  MatrixFormat format;
  format.num_rows = num_bytes / row_bytes;
  format.num_columns = static_cast<std::uint64_t>(num_columns);
  format.has_row_prefix = true;
  PutBackSource whole(source, {prefix, sizeof(prefix)});
  read(whole, format);
}

Table read_fvecs(ByteSource& source, const std::string& name, const ReadOptions& options) {
  return read_opened(open_fvecs, source, name, options);
}

void open_fbin(ByteSource& source, const std::string& name, const MatrixReading& read) {
  const std::uint64_t num_bytes = known_size(source, name);
  char bytes[2 * sizeof(std::uint64_t)] = {};
  const std::size_t num_read = source.read(bytes, sizeof(bytes));
  std::uint32_t narrow[2];
  std::uint64_t wide[2];
  std::memcpy(narrow, bytes, sizeof(narrow));
  std::memcpy(wide, bytes, sizeof(wide));
  const bool is_narrow = explains_length(narrow[0], narrow[1], sizeof(narrow), num_bytes);
  if (!is_narrow && !explains_length(wide[0], wide[1], sizeof(wide), num_bytes)) {
    throw InputError(name + ": no header explains its " + std::to_string(num_bytes) +
                     " bytes: with 8 bytes it reads " + std::to_string(narrow[0]) + " x " +
                     std::to_string(narrow[1]) + " float32, with 16 bytes " + std::to_string(wide[0]) +
                     " x " + std::to_string(wide[1]));
  }
  const std::size_t header_bytes = is_narrow ? sizeof(narrow) : sizeof(wide);
  MatrixFormat format;
  format.num_rows = is_narrow ? narrow[0] : wide[0];
  format.num_columns = is_narrow ? narrow[1] : wide[1];
  check_matrix_size(format, header_bytes, source, name);
  PutBackSource rest(source, std::string_view(bytes, num_read).substr(header_bytes));
  read(rest, format);
}

Table read_fbin(ByteSource& source, const std::string& name, const ReadOptions& options) {
  return read_opened(open_fbin, source, name, options);
}

}  // namespace culmen::io

namespace culmen {

Table parse_fvecs(std::string_view bytes, const std::string& name, const ReadOptions& options) {
  io::MemorySource source(bytes);
  return io::read_fvecs(source, name, options);
}

Table parse_fbin(std::string_view bytes, const std::string& name, const ReadOptions& options) {
  io::MemorySource source(bytes);
  return io::read_fbin(source, name, options);
}

}  // namespace culmen
