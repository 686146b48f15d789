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

#include "base/excerpt.h"
#include "base/quoted.h"
#include "coding/text_list.h"
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
      throw InputError(fmt::format("{}:{}: expected {}, found {}", name, line_number, expected_of(type),
                                   quote_excerpt(text)));
    ids.push_back(*id);
  }
  if (in.bad()) throw IoError(fmt::format("cannot read {}", name));
  if (!in.eof())
    throw InputError(
        fmt::format("{}:{}: expected {}, found a long line", name, line_number + 1, expected_of(type)));
  return ids;
}

std::int64_t number_of(std::string_view word, std::string_view option, IdType type) {
  const std::optional<std::int64_t> id = parse_id(word, type);
  if (!id)
    throw InvalidArgument(
        fmt::format("{}: expected {}, found {}", option, expected_of(type), quote_excerpt(word)));
  return *id;
}

// A line of a file of texts that begins with a quote: a cell of CSV, which may go on in the next lines.
std::string read_quoted(std::istream& in, std::string line, const std::string& place) {
  constexpr std::size_t kMaxBytes = 2 * kMaxTextIdBytes + 2;  // each one a quote
  for (std::string next;; line.append("\n").append(next)) {
    std::string_view rest = std::string_view(line).substr(1);
    if (const std::optional<std::string> text = take_quoted(rest)) {
      if (trimmed(rest).empty()) return *text;
      throw InputError(fmt::format("{}: expected the end of the line after a text in quotes", place));
    }
    if (line.size() > kMaxBytes || !std::getline(in, next))
      throw InputError(fmt::format("{}: {}", place, kNotClosed));
  }
}

// A text a line. One that begins with a quote is as CSV has it, so that what this program prints is read back.
std::vector<std::string> read_texts(std::istream& in, const std::string& name) {
  std::vector<std::string> texts;
  for (std::string line; std::getline(in, line);) {
    if (texts.empty() && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // a byte order mark
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    const std::string place = fmt::format("{}: text {}", name, texts.size() + 1);
    texts.push_back(line.starts_with('"') ? read_quoted(in, line, place) : line);
  }
  if (in.bad()) throw IoError(fmt::format("cannot read {}", name));
  return texts;
}

NamedIds read_named(std::istream& in, const std::string& name, IdType type) {
  if (type == IdType::text) return {.type = type, .texts = read_texts(in, name)};
  return {.type = type, .numbers = read_ids(in, name, type)};
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
  if (type == IdType::text)
    throw InvalidArgument(
        fmt::format("{}: the ids of the index are texts, and a bitmap holds numbers", path));
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

NamedIds read_ids_from_stdin(IdType type) {
  NamedIds ids = read_named(std::cin, "standard input", type);
  if (std::ferror(stdin) != 0)
    throw IoError("cannot read standard input");  // std::cin treats errors as the end
  return ids;
}

}  // namespace

NamedIds parse_ids(std::string_view text, std::string_view option, IdType type) {
  if (type == IdType::text) return {.type = type, .texts = split_texts(text, option)};
  NamedIds ids = {.type = type};
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view item = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    ids.numbers.push_back(number_of(item, option, type));
  }
  return ids;
}

NamedIds ids_of_words(const std::vector<std::string>& words, IdType type) {
  if (type == IdType::text) return {.type = type, .texts = words};
  NamedIds ids = {.type = type};
  for (const std::string& word : words) ids.numbers.push_back(number_of(word, "ID", type));
  return ids;
}

NamedIds read_ids(const std::string& path, IdType type) {
  if (path == "-") return read_ids_from_stdin(type);
  if (is_bitmap(path)) return {.type = type, .numbers = read_bitmap(path, type).ids()};
  std::ifstream file = open_file(path);
  return read_named(file, path, type);
}

Filter read_id_filter(const std::string& path, IdType type) {
  return is_bitmap(path) ? Filter::ids_in(read_bitmap(path, type)) : filter_of(read_ids(path, type));
}

void add_id_options(CLI::App& command, IdArguments& arguments) {
  command.add_option("ID", arguments.words, "Rows with these ids; those that begin with - follow --");
  command
      .add_option("--ids", arguments.ids,
                  "Rows with these ids, as in 1,2,-5 or A-1,A-2; texts with commas are in quotes, as in\n"
                  "CSV: 'A-1,\"b, c\"'")
      ->type_name("1,2,...");
  command
      .add_option("--ids-file", arguments.ids_file,
                  "Rows with the ids in a file, one per line, or in a Roaring bitmap called *.roaring;\n"
                  "- for standard input")
      ->type_name("FILE");
}

}  // namespace culmen::tools
