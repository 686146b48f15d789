#include "table/decompress.h"

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "culmen/error.h"

namespace culmen::io {
namespace {

constexpr std::size_t kInputBytes = std::size_t{256} << 10;
// Refuses frames that need a larger window than the zstd program accepts by default.
constexpr int kMaxZstdWindowLog = 27;

// The compressed input of both decoders: a buffer, and the offset for error texts.
class CompressedInput {
 public:
  CompressedInput(std::unique_ptr<ByteSource> source, std::string name)
      : source_(std::move(source)), name_(std::move(name)), buffer_(kInputBytes) {}

  // The unread bytes; empty only at the end of the file.
  std::string_view available() {
    if (begin_ == end_) {
      begin_ = 0;
      end_ = source_->read(buffer_.data(), buffer_.size());
      offset_ += end_;
    }
    return {buffer_.data() + begin_, end_ - begin_};
  }
  void use(std::size_t num_bytes) { begin_ += num_bytes; }

  bool rewind() {
    begin_ = end_ = 0;
    offset_ = 0;
    return source_->rewind();
  }

  Progress progress() const { return {offset_ - (end_ - begin_), source_->progress().total_bytes}; }

  [[noreturn]] void refuse(const std::string& what) const {
    throw InputError(name_ + ": " + what + " at byte " + std::to_string(progress().done_bytes));
  }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string name_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t offset_ = 0;
};

// Of a format whose files are members, one after the other.
class MemberSource : public ByteSource {
 public:
  MemberSource(std::unique_ptr<ByteSource> compressed, std::string name, std::string_view format)
      : input_(std::move(compressed), std::move(name)), format_(format) {}

  std::size_t read(char* out, std::size_t num_bytes) override {
    std::size_t done = 0;
    while (done < num_bytes) {
      const std::string_view in = input_.available();
      if (in.empty() && !within_member_) break;
      within_member_ = true;
      // A decoder that has seen all of the input may still have text of it.
      const std::size_t written = decode(in, out + done, std::min(num_bytes - done, kMaxStep));
      if (in.empty() && written == 0 && within_member_)
        input_.refuse("the " + format_ + " data is cut short");
      done += written;
    }
    return done;
  }
  std::optional<std::uint64_t> num_bytes() const override { return std::nullopt; }
  bool rewind() override {
    within_member_ = true;
    reset();
    return input_.rewind();
  }
  Progress progress() const override { return input_.progress(); }

 protected:
  // Returns the number of bytes written. Calls use(), and end_member() at the end of one.
  virtual std::size_t decode(std::string_view in, char* out, std::size_t num_bytes) = 0;
  virtual void reset() = 0;

  void use(std::size_t num_bytes) { input_.use(num_bytes); }
  void end_member() {
    within_member_ = false;
    reset();
  }
  [[noreturn]] void refuse_damage() const { input_.refuse("the " + format_ + " data is damaged"); }

 private:
  static constexpr std::size_t kMaxStep = std::size_t{1} << 30;  // the libraries count in 32 bits

  CompressedInput input_;
  const std::string format_;
  bool within_member_ = true;  // an empty file is no compressed data
};

class GzipSource : public MemberSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> compressed, std::string name)
      : MemberSource(std::move(compressed), std::move(name), "gzip") {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

 private:
  std::size_t decode(std::string_view in, char* out, std::size_t num_bytes) override {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(num_bytes);
    const int status = inflate(&stream_, Z_NO_FLUSH);
    use(in.size() - stream_.avail_in);
    const std::size_t num_written = num_bytes - stream_.avail_out;
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status == Z_STREAM_END) {
      end_member();
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      refuse_damage();
    }
    return num_written;
  }
  void reset() override { inflateReset(&stream_); }

  z_stream stream_{};
};

class Bzip2Source : public MemberSource {
 public:
  Bzip2Source(std::unique_ptr<ByteSource> compressed, std::string name)
      : MemberSource(std::move(compressed), std::move(name), "bzip2") {
    begin();
  }
  ~Bzip2Source() override { BZ2_bzDecompressEnd(&stream_); }
  Bzip2Source(const Bzip2Source&) = delete;
  Bzip2Source& operator=(const Bzip2Source&) = delete;

 private:
  void begin() {
    stream_ = {};
    if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) throw std::bad_alloc();
  }

  std::size_t decode(std::string_view in, char* out, std::size_t num_bytes) override {
    stream_.next_in = const_cast<char*>(in.data());
    stream_.avail_in = static_cast<unsigned>(in.size());
    stream_.next_out = out;
    stream_.avail_out = static_cast<unsigned>(num_bytes);
    const int status = BZ2_bzDecompress(&stream_);
    use(in.size() - stream_.avail_in);
    const std::size_t num_written = num_bytes - stream_.avail_out;
    if (status == BZ_MEM_ERROR) throw std::bad_alloc();
    if (status == BZ_STREAM_END) {
      end_member();
    } else if (status != BZ_OK) {
      refuse_damage();
    }
    return num_written;
  }
  void reset() override {
    BZ2_bzDecompressEnd(&stream_);
    begin();
  }

  bz_stream stream_{};
};

class XzSource : public ByteSource {
 public:
  XzSource(std::unique_ptr<ByteSource> compressed, std::string name)
      : input_(std::move(compressed), std::move(name)) {
    begin();
  }
  ~XzSource() override { lzma_end(&stream_); }
  XzSource(const XzSource&) = delete;
  XzSource& operator=(const XzSource&) = delete;

  std::size_t read(char* out, std::size_t num_bytes) override {
    std::size_t done = 0;
    while (done < num_bytes && !is_at_end_) done += decode(out + done, num_bytes - done);
    return done;
  }
  std::optional<std::uint64_t> num_bytes() const override { return std::nullopt; }
  bool rewind() override {
    begin();
    return input_.rewind();
  }
  Progress progress() const override { return input_.progress(); }

 private:
  void begin() {
    constexpr std::uint64_t kMaxMemory = std::uint64_t{1} << 30;  // a dictionary of any size that xz writes
    is_at_end_ = false;
    if (lzma_stream_decoder(&stream_, kMaxMemory, LZMA_CONCATENATED) != LZMA_OK) throw std::bad_alloc();
  }

  std::size_t decode(char* out, std::size_t num_bytes) {
    const std::string_view in = input_.available();
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out);
    stream_.avail_out = num_bytes;
    const lzma_ret status = lzma_code(&stream_, in.empty() ? LZMA_FINISH : LZMA_RUN);
    input_.use(in.size() - stream_.avail_in);
    if (status == LZMA_MEM_ERROR) throw std::bad_alloc();
    if (status == LZMA_MEMLIMIT_ERROR) input_.refuse("the xz data needs more than 1 GiB of memory");
    if (status == LZMA_BUF_ERROR && in.empty()) input_.refuse("the xz data is cut short");
    is_at_end_ = status == LZMA_STREAM_END;
    if (status != LZMA_OK && status != LZMA_BUF_ERROR && !is_at_end_) input_.refuse("the xz data is damaged");
    return num_bytes - stream_.avail_out;
  }

  CompressedInput input_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool is_at_end_ = false;
};

class ZstdSource : public ByteSource {
 public:
  ZstdSource(std::unique_ptr<ByteSource> compressed, std::string name)
      : input_(std::move(compressed), std::move(name)), stream_(ZSTD_createDStream()) {
    if (!stream_) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kMaxZstdWindowLog);
  }

  std::size_t read(char* out, std::size_t num_bytes) override {
    ZSTD_outBuffer target{out, num_bytes, 0};
    while (target.pos < target.size) {
      const std::string_view bytes = input_.available();
      if (bytes.empty() && !within_frame_) break;
      ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
      const std::size_t pos_before = target.pos;
      const std::size_t status = ZSTD_decompressStream(stream_.get(), &target, &in);
      input_.use(in.pos);
      if (ZSTD_isError(status)) {
        input_.refuse(std::string("the zstd data is damaged (") + ZSTD_getErrorName(status) + ")");
      }
      within_frame_ = status != 0;
      if (bytes.empty() && target.pos == pos_before && within_frame_) {
        input_.refuse("the zstd data is cut short");
      }
    }
    return target.pos;
  }
  std::optional<std::uint64_t> num_bytes() const override { return std::nullopt; }
  bool rewind() override {
    within_frame_ = true;
    return ZSTD_isError(ZSTD_DCtx_reset(stream_.get(), ZSTD_reset_session_only)) == 0 && input_.rewind();
  }
  Progress progress() const override { return input_.progress(); }

 private:
  struct FreeStream {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  CompressedInput input_;
  std::unique_ptr<ZSTD_DStream, FreeStream> stream_;
  bool within_frame_ = true;  // an empty file is not zstd data
};

}  // namespace

std::unique_ptr<ByteSource> decompress_gzip(std::unique_ptr<ByteSource> compressed, std::string name) {
  return std::make_unique<GzipSource>(std::move(compressed), std::move(name));
}

std::unique_ptr<ByteSource> decompress_bzip2(std::unique_ptr<ByteSource> compressed, std::string name) {
  return std::make_unique<Bzip2Source>(std::move(compressed), std::move(name));
}

std::unique_ptr<ByteSource> decompress_xz(std::unique_ptr<ByteSource> compressed, std::string name) {
  return std::make_unique<XzSource>(std::move(compressed), std::move(name));
}

std::unique_ptr<ByteSource> decompress_zstd(std::unique_ptr<ByteSource> compressed, std::string name) {
  return std::make_unique<ZstdSource>(std::move(compressed), std::move(name));
}

}  // namespace culmen::io
