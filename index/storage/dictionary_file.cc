#include "index/storage/dictionary_file.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "base/pages.h"
#include "index/field_key.h"
#include "index/storage/snapshot_files.h"

namespace culmen::storage {
namespace {

std::vector<std::uint64_t> ends_of(const Dictionary& dictionary) {
  std::vector<std::uint64_t> ends;
  ends.reserve(dictionary.size());
  std::uint64_t end = 0;
  for (std::uint32_t code = 0; code < dictionary.size(); ++code)
    ends.push_back(end += dictionary[code].size());
  return ends;
}

// The part of a dictionary's bytes from `start` on that fills `out`.
void copy_part(const Dictionary& dictionary, const std::vector<std::uint64_t>& ends, std::uint64_t start,
               std::span<std::byte> out) {
  const auto ends_bytes = std::as_bytes(std::span(ends));
  if (start < ends_bytes.size()) {
    const std::size_t count = std::min<std::size_t>(out.size(), ends_bytes.size() - start);
    std::ranges::copy(ends_bytes.subspan(start, count), out.begin());
    out = out.subspan(count);
    start += count;
  }
  std::uint64_t text_start = start - ends_bytes.size();
  auto code = static_cast<std::uint32_t>(std::ranges::upper_bound(ends, text_start) - ends.begin());
  for (; !out.empty(); ++code) {
    const std::string_view text = dictionary[code];
    const std::string_view part = text.substr(text_start - (ends[code] - text.size()), out.size());
    std::memcpy(out.data(), part.data(), part.size());
    out = out.subspan(part.size());
    text_start += part.size();
  }
}

}  // namespace

DictionaryFrames::DictionaryFrames(const Manifest& manifest) : runs_{{0, kFirstFrameOffset, 0}} {
  for (const DictionarySize& size : manifest.dictionary_sizes) {
    Run& run = runs_.back();
    run.bytes = size.bytes();
    const std::uint64_t whole = run.bytes / kDictionaryFrameBytes, rest = run.bytes % kDictionaryFrameBytes;
    Run next = run;
    next.first_frame += whole + (rest > 0 ? 1 : 0);
    next.offset += whole * aligned(sizeof(FrameHeader) + kDictionaryFrameBytes);
    if (rest > 0) next.offset += aligned(sizeof(FrameHeader) + rest);
    next.bytes = 0;
    runs_.push_back(next);
  }
}

std::size_t DictionaryFrames::field_of(std::uint64_t frame) const {
  const auto after = std::ranges::upper_bound(runs_, frame, {}, &Run::first_frame);
  return static_cast<std::size_t>(after - runs_.begin()) - 1;
}

ExtentOf DictionaryFrames::extents() const {
  return [this](std::uint64_t frame) {
    const Run& run = runs_[field_of(frame)];
    const std::uint64_t number = frame - run.first_frame;
    const std::uint64_t offset = run.offset + number * aligned(sizeof(FrameHeader) + kDictionaryFrameBytes);
    return FrameExtent{offset, std::min(kDictionaryFrameBytes, run.bytes - number * kDictionaryFrameBytes),
                       0};
  };
}

Dictionary read_dictionary(std::span<const std::byte> bytes, const DictionarySize& size,
                           const std::string& path, std::uint64_t offset) {
  const auto* ends = reinterpret_cast<const std::uint64_t*>(bytes.data());
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + size.num_texts * sizeof(std::uint64_t);
  std::vector<std::string_view> texts;
  texts.reserve(size.num_texts);
  std::uint64_t start = 0;
  for (std::uint64_t i = 0; i < size.num_texts; start = ends[i++]) {
    if (ends[i] < start || ends[i] > size.text_bytes)
      throw_damaged(path, offset, "texts of a dictionary overlap or exceed it");
    texts.emplace_back(text + start, ends[i] - start);
  }
  if (start != size.text_bytes) throw_damaged(path, offset, "a dictionary with bytes after its last text");
  Dictionary dictionary(texts);
  if (!dictionary.are_distinct()) throw_damaged(path, offset, "a dictionary that has a text twice");
  return dictionary;
}

void write_dictionaries(const Snapshot& s, const DictionaryFrames& frames, FrameFileWriter& file) {
  std::vector<std::vector<std::uint64_t>> ends(s.dictionaries.size());
  for (std::size_t f = 0; f < ends.size(); ++f)
    if (s.dictionaries[f] != nullptr) ends[f] = ends_of(*s.dictionaries[f]);
  const ExtentOf extents = frames.extents();
  file.write(extents, [&](std::uint64_t frame, std::byte* payload) {
    const std::size_t field = frames.field_of(frame);
    copy_part(*s.dictionaries[field], ends[field], frames.start_of(frame),
              {payload, extents(frame).payload_bytes});
  });
}

void read_dictionaries(const Manifest& manifest, FrameFileReader& file, Snapshot& s) {
  const DictionaryFrames frames(manifest);
  const ExtentOf extents = frames.extents();
  file.require_end(frames.end());
  file.read_file_header(frames.size());
  for (std::size_t f = 0; f < s.fields.size(); ++f) {
    if (!has_dictionary(s.fields[f])) continue;
    // Pages cost nothing until they are written, and a file that lies about its length fails before that.
    PageBuffer<std::byte> bytes(manifest.dictionary_sizes[f].bytes());
    file.read(frames.first(f), frames.last(f), extents, [&](std::uint64_t frame, const std::byte* payload) {
      std::copy_n(payload, extents(frame).payload_bytes, bytes.data() + frames.start_of(frame));
    });
    s.dictionaries[f] = std::make_shared<const Dictionary>(
        read_dictionary(bytes.span(), manifest.dictionary_sizes[f], file.path(), frames.offset(f)));
  }
  file.check_digest();
}

}  // namespace culmen::storage
