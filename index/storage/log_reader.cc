#include "index/storage/log_reader.h"

#include <algorithm>
#include <cstring>

#include "culmen/error.h"

namespace culmen::storage {
namespace {

constexpr std::uint64_t kWindowBytes = std::uint64_t{1} << 20;

template <typename T>
T copied_from(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::optional<LogHeader> whole_header(const ReadableFile& file) {
  if (file.size() < sizeof(LogHeader)) return std::nullopt;
  LogHeader header;
  file.read(0, std::as_writable_bytes(std::span(&header, 1)));
  if (header.checksum != checksum_of(header)) return std::nullopt;
  return header;
}

// `bytes` must not be empty. Compares each byte with the one before it.
bool is_zero(std::span<const std::byte> bytes) {
  return bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

bool is_good(const LogFrameHeader& header, std::uint64_t seed) {
  return header.magic == kLogFrameMagic && header.checksum == checksum_of(header, seed);
}

}  // namespace

LogReader::LogReader(const Directory& directory, const LogName& name, const LogBound& bound)
    : file_(directory.open(log_name(name.number))),
      name_(name),
      bound_(bound.number == name.number ? bound : LogBound{}),
      seed_(frame_seed(name.uuid)) {
  refresh();
}

LogReader::LogReader(const Directory& directory, const LogName& name, std::uint64_t version,
                     const LogBound& bound)
    : LogReader(directory, name, bound) {
  check_header(version);
}

LogReader LogReader::behind_damage(const Directory& directory, const LogName& name, const LogPosition& end) {
  LogReader reader(directory, name, LogBound{});
  reader.end_ = end;
  reader.behind_ = end.offset;
  reader.newest_version_ = end.version;
  return reader;
}

void LogReader::throw_damaged_here(const std::string& what) const {
  throw_damaged(path(), end_.offset, what + "; repair saves what comes before");
}

void LogReader::check_header(std::uint64_t version) {
  const std::optional<LogHeader> header = whole_header(*file_);
  if (!header) throw_damaged_here("the header of the log is damaged");
  LogHeader expected = *header;
  expected.number = name_.number;
  expected.uuid = name_.uuid;
  expected.version = version;
  expected.checksum = checksum_of(expected);
  if (expected.checksum != header->checksum)
    throw_damaged_here("this log belongs to another index or to another position in it");
  const LogHeader ours;
  if (header->format_version != ours.format_version || header->byte_order != ours.byte_order ||
      std::memcmp(header->magic, ours.magic, sizeof ours.magic) != 0)
    throw_damaged_here("not a log of a format that this program reads");
  advance_to({sizeof(LogHeader), header->checksum, version});
}

// A header's checksum is its first field and covers the previous header's checksum, so comparing one compares the
// chain.
bool LogReader::reopen(const Directory& directory) {
  try {
    std::unique_ptr<ReadableFile> file = directory.open(log_name(name_.number));
    std::uint64_t chain = 0;
    if (file->size() < end_.offset) return false;
    file->read(last_header_, std::as_writable_bytes(std::span(&chain, 1)));
    if (chain != end_.chain) return false;
    file_ = std::move(file);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void LogReader::refresh() {
  file_->refresh();
  torn_bytes_ = 0;
  file_->sync();  // before any batch up to that size is returned
  window_.clear();
  if (file_->size() < std::max(bound_.bytes, end_.offset))
    throw_damaged(
        path(), file_->size(),
        "the log ends here; it was durable to byte " + std::to_string(std::max(bound_.bytes, end_.offset)));
}

std::span<const std::byte> LogReader::window(std::uint64_t offset, std::uint64_t bytes) {
  if (offset < window_offset_ || offset + bytes > window_offset_ + window_.size()) {
    const std::uint64_t wanted = std::max(bytes, std::min(kWindowBytes, file_->size() - offset));
    if (std::max<std::uint64_t>(wanted, window_.capacity()) > kWindowBytes) window_ = {};
    window_.resize(wanted);
    window_offset_ = offset;
    try {
      file_->read(offset, window_);
    } catch (...) {
      window_.clear();
      throw;
    }
  }
  return std::span<const std::byte>(window_).subspan(offset - window_offset_, bytes);
}

std::optional<LogFrameHeader> LogReader::header_at(std::uint64_t offset) {
  if (file_->size() - offset < sizeof(LogFrameHeader)) return std::nullopt;
  const auto header = copied_from<LogFrameHeader>(window(offset, sizeof(LogFrameHeader)));
  return is_good(header, seed_) ? std::optional(header) : std::nullopt;
}

std::optional<std::span<const std::byte>> LogReader::rest_of(const LogFrameHeader& header,
                                                             std::uint64_t offset) {
  const std::uint64_t start = offset + sizeof header;
  if (header.body_bytes > file_->size() - start) return std::nullopt;
  const std::uint64_t bytes = whole_sectors(sizeof header + header.body_bytes) - sizeof header;
  if (bytes > file_->size() - start) return std::nullopt;
  // A header in a sparse file may claim a body of gigabytes.
  if (bytes > kWindowBytes && checksum_of(*file_, start, bytes, seed_) != header.body_checksum)
    return std::nullopt;
  const auto rest = window(start, bytes);
  return header.body_checksum == checksum_of(rest, seed_) ? std::optional(rest) : std::nullopt;
}

std::optional<LogReader::Batch> LogReader::next() {
  if (successor_ || end_.offset == file_->size()) return std::nullopt;
  const std::optional<LogFrameHeader> header = header_at(end_.offset);
  const auto rest = header && header->previous == end_.chain ? rest_of(*header, end_.offset) : std::nullopt;
  if (!rest) {
    require_torn();
    return std::nullopt;
  }
  const auto body = rest->first(header->body_bytes);
  const LogPosition next{end_.offset + sizeof(LogFrameHeader) + rest->size(), header->checksum,
                         header->version};
  if (header->kind == LogFrameKind::seal && header->version == end_.version) {
    const LogName successor = sealed_successor(body);
    advance_to(next);
    successor_ = successor;
    return std::nullopt;
  }
  if (header->kind != LogFrameKind::batch || header->version != end_.version + 1 ||
      header->version > kMaxVersion)
    throw_damaged_here("this frame does not follow the one before");
  advance_to(next);
  return Batch{header->version, body};
}

// The bound must be the end of a frame, and of the same frame as when the index was closed.
void LogReader::advance_to(const LogPosition& position) {
  const bool passes = end_.offset < bound_.bytes && bound_.bytes <= position.offset;
  if (passes && (position.offset != bound_.bytes || position.chain != bound_.chain))
    throw_damaged_here("this is not the log that CURRENT refers to");
  last_header_ = end_.offset;
  end_ = position;
}

LogName LogReader::sealed_successor(std::span<const std::byte> body) const {
  if (body.size() != sizeof(SealBody)) throw_damaged_here("the seal of this log is invalid");
  const auto seal = copied_from<SealBody>(body);
  if (seal.next_number <= name_.number || seal.next_number > kMaxNumber)
    throw_damaged_here("the seal of this log does not name a later log");
  return {seal.next_number, seal.next_uuid};
}

// Moves `offset` to the first sector from there on that is not zero. Returns false if there is none.
bool LogReader::find_sector(std::uint64_t& offset) {
  for (; offset < file_->size(); offset += kSectorBytes) {
    if (offset >= window_offset_ + window_.size()) {  // skips holes instead of reading them
      offset = std::max(offset, file_->data_from(offset) / kSectorBytes * kSectorBytes);
      if (offset >= file_->size()) return false;
    }
    if (!is_zero(window(offset, std::min(kSectorBytes, file_->size() - offset)))) return true;
  }
  return false;
}

// There is no valid frame at the end of the chain. Throws if there was one that was durable, or that was reported as done.
void LogReader::require_torn() {
  if (end_.offset < bound_.bytes)
    throw_damaged_here("a frame is damaged; the log was durable to byte " + std::to_string(bound_.bytes));
  std::optional<std::uint64_t> later_write;
  for (std::uint64_t offset = end_.offset; find_sector(offset); offset += kSectorBytes) {
    torn_bytes_ = std::min(offset + kSectorBytes, file_->size()) - end_.offset;
    const std::optional<LogFrameHeader> later = header_at(offset);
    if (!later) continue;
    if (later->durable_through > end_.version)
      throw_damaged_here("a frame is damaged that was durable according to the one at byte " +
                         std::to_string(offset));
    if (!later_write && appended_before(*later) > end_.version) later_write = offset;
  }
  if (later_write)
    throw_damaged_here(
        "a frame is damaged that was reported as done, with durability os or batch, before the one at byte " +
        std::to_string(*later_write) + " was written; a power failure can do this, too");
}

std::optional<LogReader::Batch> LogReader::next_behind() {
  for (; find_sector(behind_); behind_ += kSectorBytes) {
    const std::optional<LogFrameHeader> header = header_at(behind_);
    const bool is_later = header && header->kind == LogFrameKind::batch && header->version > end_.version &&
                          header->version <= kMaxVersion;
    if (!is_later) continue;
    newest_version_ = std::max(newest_version_, header->version);
    const auto rest = rest_of(*header, behind_);
    if (!rest) continue;
    behind_ += sizeof *header + rest->size();
    return Batch{header->version, rest->first(header->body_bytes)};
  }
  return std::nullopt;
}

std::optional<LogOrigin> read_log_origin(const Directory& directory, std::uint64_t number) {
  const auto file = directory.open(log_name(number));
  const std::optional<LogHeader> header = whole_header(*file);
  if (!header || header->number != number) return std::nullopt;
  LogOrigin origin{header->uuid, header->previous, header->version, false};
  if (file->size() >= sizeof(LogHeader) + sizeof(LogFrameHeader)) {
    LogFrameHeader frame;
    file->read(sizeof(LogHeader), std::as_writable_bytes(std::span(&frame, 1)));
    origin.has_frames = is_good(frame, frame_seed(header->uuid));
  }
  return origin;
}

}  // namespace culmen::storage
