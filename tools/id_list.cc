#include "tools/id_list.h"

#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <optional>
#include <span>
#include <sstream>
#include <system_error>
#include <utility>

#include "culmen/error.h"

namespace culmen::tools {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string_view expected_of(IdType type) {
  return type == IdType::uint64 ? "an integer from 0 to 2^64 - 1" : "a 64-bit integer";
}

std::vector<std::int64_t> read_ids(std::istream& in, const std::string& name, IdType type) {
  constexpr std::size_t kMaxLineBytes = 256;  // an id takes 20
  std::array<char, kMaxLineBytes> line{};
  std::vector<std::int64_t> ids;
  std::uint64_t line_number = 0;
  while (in.getline(line.data(), line.size())) {
    ++line_number;
    std::string_view text = trimmed({line.data(), std::strlen(line.data())});
    if (line_number == 1 && text.starts_with("\xEF\xBB\xBF"))
      text = trimmed(text.substr(3));  // a byte order mark
    if (text.empty()) continue;
    const std::optional<std::int64_t> id = parse_id(text, type);
    if (!id)
      throw InputError(
          fmt::format("{}:{}: expected {}, found '{}'", name, line_number, expected_of(type), text));
    ids.push_back(*id);
  }
  if (in.bad()) throw IoError(fmt::format("cannot read {}", name));
  if (!in.eof())
    throw InputError(
        fmt::format("{}:{}: expected {}, found a long line", name, line_number + 1, expected_of(type)));
  return ids;
}

std::ifstream open_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  return file;
}

bool is_bitmap(const std::string& path) {
  return path.ends_with(".roaring");
}

IdSet read_bitmap(const std::string& path, IdType type) {
  std::ifstream file = open_file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad() || text.bad()) throw IoError(fmt::format("cannot read {}", path));
  const std::string bytes = std::move(text).str();
  try {
    return IdSet::from_bytes(std::as_bytes(std::span(bytes)), type);
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("{}: {}", path, error.what()));
  }
}

std::vector<std::int64_t> read_ids_from_stdin(IdType type) {
  std::vector<std::int64_t> ids = read_ids(std::cin, "standard input", type);
  if (std::ferror(stdin) != 0)
    throw IoError("cannot read standard input");  // std::cin treats errors as the end
  return ids;
}

}  // namespace

std::vector<std::int64_t> parse_ids(std::string_view text, std::string_view option, IdType type) {
  std::vector<std::int64_t> ids;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = trimmed(text.substr(begin, end - begin));
    const std::optional<std::int64_t> id = parse_id(item, type);
    if (!id)
      throw InvalidArgument(fmt::format("{}: expected {}, found '{}'", option, expected_of(type), item));
    ids.push_back(*id);
    begin = end + 1;
  }
  return ids;
}

std::vector<std::int64_t> read_ids(const std::string& path, IdType type) {
  if (path == "-") return read_ids_from_stdin(type);
  if (is_bitmap(path)) return read_bitmap(path, type).ids();
  std::ifstream file = open_file(path);
  return read_ids(file, path, type);
}

IdSet read_id_set(const std::string& path, IdType type) {
  return is_bitmap(path) ? read_bitmap(path, type) : IdSet(read_ids(path, type), type);
}

void add_id_options(CLI::App& command, IdArguments& arguments) {
  command.add_option("--ids", arguments.ids, "Rows with these ids, as in 1,2,-5")->type_name("1,2,...");
  command
      .add_option("--ids-file", arguments.ids_file,
                  "Rows with the ids in a file, one per line, or in a Roaring bitmap called *.roaring;\n"
                  "- for standard input")
      ->type_name("FILE");
}

}  // namespace culmen::tools
