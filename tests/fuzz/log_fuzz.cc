// Logs: any bytes in place of one of the two logs of an index, with checksums recomputed or not, give an error or whole
// batches in order. Without recomputed checksums a fuzzer would never pass the first check. Some inputs run through a
// whole store: if a writer continues, the next reader finds what it added.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "culmen/error.h"
#include "index/storage/store.h"
#include "tests/fuzz/bytes_directory.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/index/storage/memory_file_system.h"
#include "tests/index/storage/snapshots.h"

namespace culmen::fuzz {
namespace {

using namespace storage;

// Bits of an input's first byte: recompute the checksums, recompute the chain too, tell CURRENT the end, which log to
// damage.
constexpr std::uint8_t kGoodChecksums = 1, kGoodChain = 2, kClosed = 4, kSecondLog = 8;

constexpr std::size_t kOneStoreIn = 256;  // a store costs as much as many logs

void append(Store& store, std::size_t bytes) {
  const Bytes body(bytes, static_cast<std::byte>(bytes));
  store.append(std::vector<LogRecord>{{store.last_version() + 1, body}});
  store.sync();
}

struct Base {
  std::map<std::string, Bytes> files;
  std::array<LogName, 2> logs;
  std::array<std::uint64_t, 2> versions;  // before the first frame of each
  LogBound bound;
};

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Base make_base(bool close) {
  MemoryFileSystem system;
  save(*make_snapshot({.rows = 1, .attributes = 1, .labels = false}), system, "index", false);
  const auto store = Store::open(system, "index", true);
  store->replay([](std::uint64_t, std::span<const std::byte>) {});
  for (std::size_t bytes : {0, 40, 600}) append(*store, bytes);
  store->begin_checkpoint();
  for (std::size_t bytes : {1, 456}) append(*store, bytes);
  if (close) store->close();
  Base base{system.files("index"), {}, {}, {}};
  base.bound = parse_current(text_of(base.files.at("CURRENT")), "").log;
  for (std::size_t log = 0; log < 2; ++log) {
    LogHeader header;
    std::memcpy(&header, base.files.at(log_name(log + 1)).data(), sizeof header);
    base.logs[log] = {header.number, header.uuid};
    base.versions[log] = header.version;
  }
  return base;
}

const Base& base(bool closed) {
  static const Base open = make_base(false), shut = make_base(true);
  return closed ? shut : open;
}

// Recomputes the checksums of every frame that the chain of lengths reaches.
void make_good(Bytes& log, bool chain_too) {
  LogHeader first;
  if (log.size() < sizeof first) return;
  std::memcpy(&first, log.data(), sizeof first);
  first.checksum = checksum_of(first);
  std::memcpy(log.data(), &first, sizeof first);
  const std::uint64_t seed = frame_seed(first.uuid);
  std::uint64_t previous = first.checksum;
  LogFrameHeader header;
  for (std::size_t at = sizeof first; log.size() - at >= sizeof header;) {
    std::memcpy(&header, log.data() + at, sizeof header);
    const std::size_t rest = log.size() - at - sizeof header;
    const bool fits = header.body_bytes <= rest;
    const std::size_t covered =
        fits ? std::min(rest, whole_sectors(sizeof header + header.body_bytes) - sizeof header) : rest;
    header.body_checksum =
        checksum_of(std::span<const std::byte>(log).subspan(at + sizeof header, covered), seed);
    if (chain_too) header.previous = previous;
    header.checksum = checksum_of(header, seed);
    std::memcpy(log.data() + at, &header, sizeof header);
    previous = header.checksum;
    if (!fits) return;
    at = std::min(log.size(), at + sizeof header + covered);
  }
}

void touch(std::span<const std::byte> bytes) {
  [[maybe_unused]] volatile std::uint64_t sum = 0;  // the reads must happen
  for (std::size_t i = 0; i < bytes.size(); i += 16) sum = sum + std::to_integer<unsigned>(bytes[i]);
  if (!bytes.empty()) sum = sum + std::to_integer<unsigned>(bytes.back());
}

// Counts the bytes after `end`, up to the sector with the last one that is not zero.
std::uint64_t written_bytes(const Bytes& bytes, std::uint64_t end) {
  const auto last =
      std::find_if(bytes.rbegin(), bytes.rend(), [](std::byte byte) { return byte != std::byte{0}; });
  const std::uint64_t sectors = whole_sectors(static_cast<std::uint64_t>(bytes.rend() - last));
  return std::max(end, std::min<std::uint64_t>(sectors, bytes.size())) - end;
}

// The log alone.
void check_log(const Bytes& bytes, const Base& base, std::size_t log) {
  const LogName& name = base.logs[log];
  const BytesDirectory directory({{log_name(name.number), bytes}});
  const std::optional<LogOrigin> origin = read_log_origin(directory, name.number);
  LogReader reader(directory, name, base.versions[log], base.bound);
  require(origin && origin->version == base.versions[log], "a log that can be read has an origin");
  std::uint64_t last = base.versions[log];
  while (const auto batch = reader.next()) {
    require(batch->version == ++last, "versions without a gap");
    require(reader.end().offset <= bytes.size() && batch->body.size() < reader.end().offset,
            "a body in the log");
    touch(batch->body);
  }
  require(reader.end().version == last, "the last batch at the end of what was read");
  const std::uint64_t torn = reader.successor() ? 0 : written_bytes(bytes, reader.end().offset);
  require(reader.torn_bytes() == torn, "the bytes of a torn end");
  require(reader.end().offset % kSectorBytes == 0, "whole sectors");
  if (reader.successor()) require(reader.successor()->number > name.number, "a later log");
  reader.refresh();
  require(!reader.next(), "no batch that was not there before");
}

// The last version that is found.
std::uint64_t replay(Store& store) {
  std::uint64_t last = store.take_snapshot()->version;
  store.replay([&](std::uint64_t version, std::span<const std::byte> body) {
    require(version == last + 1, "versions without a gap");
    last = version;
    touch(body);
  });
  return last;
}

void check_store(const Bytes& log, const Base& base, std::size_t number) {
  auto files = base.files;
  files[log_name(number + 1)] = log;
  MemoryFileSystem system;
  system.put("index", files);
  const std::uint64_t read = replay(*Store::open(system, "index", false));
  require(system.files("index") == files, "a reader changes nothing");
  auto writer = Store::open(system, "index", true);
  require(replay(*writer) == read, "a writer finds what a reader finds");
  append(*writer, 10);
  writer->close();
  writer.reset();
  require(replay(*Store::open(system, "index", false)) == read + 1, "what is appended is found");
}

std::string header_bytes(const LogFrameHeader& header) {
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

}  // namespace

std::vector<std::string> seed_inputs() {
  std::vector<std::string> seeds;
  for (std::uint8_t flags = 0; flags < 16; ++flags)
    seeds.push_back(
        static_cast<char>(flags) +
        text_of(base((flags & kClosed) != 0).files.at(log_name((flags & kSecondLog) != 0 ? 2 : 1))));
  return seeds;
}

std::vector<std::string> tokens() {
  std::vector<std::string> all;
  LogFrameHeader header;
  for (LogFrameKind kind : {LogFrameKind::batch, LogFrameKind::seal}) {
    for (std::uint64_t value : {std::uint64_t{0}, std::uint64_t{24}, std::uint64_t{456}, ~std::uint64_t{0}}) {
      header.kind = kind;
      header.version = header.body_bytes = header.durable_through = value;
      all.push_back(header_bytes(header));
      all.emplace_back(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
  all.emplace_back(512, '\0');
  return all;
}

}  // namespace culmen::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culmen;
  using namespace culmen::fuzz;
  if (size == 0) return 0;
  const std::uint8_t flags = data[0];
  const Base& index = base((flags & kClosed) != 0);
  const std::size_t number = (flags & kSecondLog) != 0 ? 1 : 0;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  Bytes log(bytes.begin(), bytes.end());
  if ((flags & kGoodChecksums) != 0) make_good(log, (flags & kGoodChain) != 0);
  try {
    if (checksum_of(bytes) % kOneStoreIn == 0) {
      check_store(log, index, number);
    } else {
      check_log(log, index, number);
    }
  } catch (const Error&) {
  }
  return 0;
}
