#include "table/npy_reader.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "culmen/error.h"
#include "table/matrix.h"
#include "table/text.h"

namespace culmen::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeaderBytes = std::size_t{64} << 10;

ElementType parse_element_type(std::string_view descr, const std::string& name) {
  if (descr.starts_with('>')) {
    throw InputError(name + ": expected little-endian values, found big-endian " + quote_excerpt(descr) +
                     " (store array.astype(array.dtype.newbyteorder('<')))");
  }
  const std::string_view type = descr.starts_with('<') || descr.starts_with('=') ? descr.substr(1) : "";
  if (type == "f4") return ElementType::float32;
  if (type == "f8") return ElementType::float64;
  if (type == "i4") return ElementType::int32;
  if (type == "i8") return ElementType::int64;
  throw InputError(name + ": expected values of type <f4, <f8, <i4 or <i8, found " + quote_excerpt(descr));
}

// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::size_t offset, const std::string& name)
      : text_(text), offset_(offset), name_(name) {}

  MatrixFormat parse() {
    expect('{');
    while (!take('}')) {
      parse_entry();
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (pos_ != text_.size()) fail("the end of the header");
    return finish();
  }

 private:
  void parse_entry() {
    const std::string_view key = parse_string("a key in quotes");
    expect(':');
    if (key == "descr" && !descr_) {
      descr_ = parse_string("the type in quotes (structured arrays cannot be read)");
    } else if (key == "fortran_order" && !column_major_) {
      column_major_ = parse_bool();
    } else if (key == "shape" && !shape_) {
      shape_ = parse_shape();
    } else {
      fail("the keys descr, fortran_order and shape, once each");
    }
  }

  MatrixFormat finish() const {
    if (!descr_ || !column_major_ || !shape_) fail("the keys descr, fortran_order and shape");
    if (shape_->empty() || shape_->size() > 2) {
      throw InputError(name_ + ": expected an array with one or two axes, found " +
                       std::to_string(shape_->size()));
    }
    MatrixFormat format;
    format.type = parse_element_type(*descr_, name_);
    format.num_rows = (*shape_)[0];
    format.num_columns = shape_->size() == 2 ? (*shape_)[1] : 1;
    format.column_major = *column_major_;
    return format;
  }

  std::vector<std::uint64_t> parse_shape() {
    constexpr std::size_t kMaxAxes = 32;
    std::vector<std::uint64_t> shape;
    expect('(');
    while (!take(')')) {
      if (shape.size() == kMaxAxes) fail("at most 32 axes");
      shape.push_back(parse_count());
      take('L');  // a Python 2 long
      if (take(',')) continue;
      if (shape.size() == 1) fail("a comma after the only axis");
      expect(')');
      break;
    }
    return shape;
  }

  std::uint64_t parse_count() {
    skip_space();
    std::uint64_t value = 0;
    const char* const begin = text_.data() + pos_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc{}) fail("a 64-bit count");
    pos_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  bool parse_bool() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.substr(pos_).starts_with(word)) continue;
      pos_ += word.size();
      return value;
    }
    fail("True or False");
  }

  std::string_view parse_string(const char* expected) {
    skip_space();
    const char quote = pos_ < text_.size() ? text_[pos_] : '\0';
    if (quote != '\'' && quote != '"') fail(expected);
    const std::size_t end = text_.find(quote, pos_ + 1);
    if (end == std::string_view::npos) fail("a closing quote");
    const std::string_view value = text_.substr(pos_ + 1, end - pos_ - 1);
    pos_ = end + 1;
    return value;
  }

  void skip_space() {
    while (pos_ < text_.size() && (text_[pos_] == ' ' || text_[pos_] == '\n')) ++pos_;
  }

  bool take(char wanted) {
    skip_space();
    if (pos_ == text_.size() || text_[pos_] != wanted) return false;
    ++pos_;
    return true;
  }

  void expect(char wanted) {
    if (!take(wanted)) fail(std::string("a ") + wanted);
  }

  [[noreturn]] void fail(const std::string& expected) const {
    const std::string_view rest = text_.substr(std::min(pos_, text_.size()));
    throw InputError(name_ + ": the NPY header is damaged at byte " + std::to_string(offset_ + pos_) +
                     ": expected " + expected + ", found " +
                     (rest.empty() ? "the end" : quote_excerpt(rest)));
  }

  std::string_view text_;
  std::size_t pos_ = 0;
  std::size_t offset_;  // of the text in the file
  const std::string& name_;
  std::optional<std::string_view> descr_;
  std::optional<bool> column_major_;
  std::optional<std::vector<std::uint64_t>> shape_;
};

class ExactReader {
 public:
  ExactReader(ByteSource& source, const std::string& name) : source_(source), name_(name) {}

  std::string take(std::size_t num_bytes) {
    std::string bytes(num_bytes, '\0');
    const std::size_t got = source_.read(bytes.data(), num_bytes);
    position_ += got;
    if (got != num_bytes) {
      throw InputError(name_ + ": the file ends at byte " + std::to_string(position_) +
                       ", within the NPY header");
    }
    return bytes;
  }
  std::size_t position() const { return position_; }

 private:
  ByteSource& source_;
  const std::string& name_;
  std::size_t position_ = 0;
};

std::size_t take_header_size(ExactReader& in, int major_version) {
  const std::string bytes = in.take(major_version == 1 ? 2 : 4);
  std::uint32_t size = 0;
  std::memcpy(&size, bytes.data(), bytes.size());  // little-endian, like the host
  return size;
}

}  // namespace

void open_npy(ByteSource& source, const std::string& name, const MatrixReading& read) {
  ExactReader in(source, name);
  const std::string lead = in.take(kMagic.size() + 2);
  if (!lead.starts_with(kMagic)) {
    throw InputError(name + ": expected an NPY file, which begins with " + quote_excerpt(kMagic) +
                     ", found " + quote_excerpt(lead));
  }
  const int major = static_cast<unsigned char>(lead[kMagic.size()]);
  const int minor = static_cast<unsigned char>(lead[kMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    throw InputError(name + ": expected NPY version 1.0, 2.0 or 3.0, found " + std::to_string(major) + "." +
                     std::to_string(minor));
  }
  const std::size_t header_size = take_header_size(in, major);
  if (header_size > kMaxHeaderBytes) {
    throw InputError(name + ": expected an NPY header of at most 64 KiB, found " +
                     std::to_string(header_size) + " bytes");
  }
  const std::size_t header_begin = in.position();
  const std::string header = in.take(header_size);
  const MatrixFormat format = HeaderParser(header, header_begin, name).parse();
  check_matrix_size(format, in.position(), source, name);
  read(source, format);
}

Table read_npy(ByteSource& source, const std::string& name, const ReadOptions& options) {
  return read_opened(open_npy, source, name, options);
}

}  // namespace culmen::io

namespace culmen {

Table parse_npy(std::string_view bytes, const std::string& name, const ReadOptions& options) {
  io::MemorySource source(bytes);
  return io::read_npy(source, name, options);
}

}  // namespace culmen
