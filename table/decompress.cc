#include "table/decompress.h"

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

class GzipSource : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> compressed, std::string name)
      : input_(std::move(compressed), std::move(name)) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(char* out, std::size_t num_bytes) override {
    std::size_t done = 0;
    while (done < num_bytes) {
      const std::string_view in = input_.available();
      if (in.empty()) {
        if (within_member_) input_.refuse("the gzip data is cut short");
        break;
      }
      done += inflate_some(in, out + done, num_bytes - done);
    }
    return done;
  }
  std::optional<std::uint64_t> num_bytes() const override { return std::nullopt; }
  bool rewind() override {
    within_member_ = true;
    return inflateReset(&stream_) == Z_OK && input_.rewind();
  }
  Progress progress() const override { return input_.progress(); }

 private:
  std::size_t inflate_some(std::string_view in, char* out, std::size_t num_bytes) {
    constexpr std::size_t kMaxStep = std::size_t{1} << 30;  // zlib counts in 32 bits
    const auto room = static_cast<uInt>(std::min(num_bytes, kMaxStep));
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = room;
    within_member_ = true;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    input_.use(in.size() - stream_.avail_in);
    if (status == Z_STREAM_END) {
      within_member_ = false;
      inflateReset(&stream_);
    } else if (status == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      input_.refuse("the gzip data is damaged");
    }
    return room - stream_.avail_out;
  }

  CompressedInput input_;
  z_stream stream_{};
  bool within_member_ = true;  // an empty file is not gzip data
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

std::unique_ptr<ByteSource> decompress_zstd(std::unique_ptr<ByteSource> compressed, std::string name) {
  return std::make_unique<ZstdSource>(std::move(compressed), std::move(name));
}

}  // namespace culmen::io
