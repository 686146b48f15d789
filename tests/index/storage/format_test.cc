// docs/format.md shows every byte of a tiny index. The files must have exactly these bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "index/build/bulk_load.h"
#include "index/storage/store.h"
#include "tests/index/storage/memory_file_system.h"

namespace culmen::storage {
namespace {

// The text of the first fenced block under the heading "### `name`".
std::vector<std::string> fenced_lines(const std::string& name) {
  std::ifstream file(CULMEN_DOCS_FOLDER "/format.md");
  std::vector<std::string> lines;
  bool under_heading = false, in_fence = false;
  for (std::string line; std::getline(file, line);) {
    const bool is_fence = line.starts_with("```");
    if (in_fence && is_fence) return lines;
    if (in_fence) lines.push_back(line);
    if (line.starts_with("### ")) under_heading = line == "### `" + name + "`";
    in_fence |= under_heading && is_fence;
  }
  return lines;
}

std::string text_in_docs(const std::string& name) {
  std::string text;
  for (const std::string& line : fenced_lines(name)) text += line + "\n";
  return text;
}

// Lines of "offset  16 bytes  remark". Bytes that no line shows are zero.
Bytes bytes_in_docs(const std::string& name, std::size_t size) {
  Bytes bytes(size);
  for (const std::string& line : fenced_lines(name)) {
    std::istringstream words(line.substr(0, 57));
    std::size_t at = 0;
    words >> std::hex >> at;
    for (unsigned byte = 0; words >> byte; ++at) bytes.at(at) = static_cast<std::byte>(byte);
  }
  return bytes;
}

std::shared_ptr<Snapshot> tiny_index() {
  const std::vector<float> price = {12.5f, 8.0f};
  const std::vector<std::int64_t> ids = {7, 9};
  const std::vector<char> text = {'A', 'd', 'a', 'B', 'o'};
  const std::vector<std::uint64_t> offsets = {0, 3, 5};
  BuildOptions options;
  options.leaf_rows = 16;
  return bulk_load({2, {{"price", Preference::low}}, {ColumnView(price)}, ids, {text, offsets}}, options);
}

std::string dump(const Bytes& bytes) {
  std::string text;
  char line[80];
  for (std::size_t at = 0; at < bytes.size(); at += 16) {
    if (std::all_of(&bytes[at], &bytes[at] + 16, [](std::byte b) { return b == std::byte{0}; })) continue;
    std::snprintf(line, sizeof line, "%08zx ", at);
    text += line;
    for (std::size_t i = 0; i < 16; ++i) {
      std::snprintf(line, sizeof line, " %02x", std::to_integer<unsigned>(bytes[at + i]));
      text += line;
    }
    text += "\n";
  }
  return text;
}

TEST(Format, IsAsTheDocumentationShowsIt) {
  MemoryFileSystem system;
  save(*tiny_index(), system, "index", false);
  for (const auto& [name, bytes] : system.files("index")) {
    if (name == "LOCK") continue;
    if (name.starts_with("SNAP") || name.starts_with("WAL")) {
      EXPECT_EQ(bytes_in_docs(name, bytes.size()), bytes) << name << " is:\n" << dump(bytes);
    } else {
      const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      EXPECT_EQ(text_in_docs(name), text) << name;
    }
  }
}

TEST(Format, OfTheDocumentationCanBeRead) {
  std::map<std::string, Bytes> files;
  for (const char* name : {"CURRENT", "MANIFEST-1"}) {
    const std::string text = text_in_docs(name);
    const auto bytes = std::as_bytes(std::span(text));
    files[name].assign(bytes.begin(), bytes.end());
  }
  const std::pair<const char*, std::size_t> sizes[] = {{"SNAP-1-leaves", 384}, {"SNAP-1-nodes", 896},
                                                       {"SNAP-1-labels", 256}, {"SNAP-1-partitions", 256},
                                                       {"SNAP-1-ids", 384},    {"WAL-1", 512}};
  for (const auto& [name, size] : sizes) files[name] = bytes_in_docs(name, size);
  MemoryFileSystem system;
  system.put("index", files);
  const auto snapshot = load(system, "index");
  EXPECT_EQ(snapshot->num_rows, 2u);
  EXPECT_EQ(snapshot->label(0), "Bo");
  EXPECT_EQ(snapshot->value(0, 0), -8.0);
}

}  // namespace
}  // namespace culmen::storage
