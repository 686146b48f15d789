#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/byte_source.h"
#include "table/csv_reader.h"
#include "table/decompress.h"
#include "table/npy_reader.h"
#include "table/vecs_reader.h"

namespace culmen {
namespace {

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

bool take_suffix(std::string_view& name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  name.remove_suffix(suffix.size());
  return true;
}

[[noreturn]] void throw_unknown_format(const std::string& path) {
  throw InvalidArgument("cannot tell the format of " + path +
                        " by its name; known are .csv and .tsv (also with .gz or .zst behind), .npy, .fvecs, "
                        ".fbin, and - for CSV from standard input");
}

Table read_delimited(const std::string& path, const ReadOptions& options) {
  const std::string lower = lower_case(path);
  std::string_view name = lower;
  const bool is_gzip = take_suffix(name, ".gz");
  const bool is_zstd = !is_gzip && take_suffix(name, ".zst");
  const bool is_tsv = name.ends_with(".tsv");
  if (!is_tsv && !name.ends_with(".csv")) throw_unknown_format(path);
  std::unique_ptr<io::ByteSource> source = std::make_unique<io::FileSource>(path);
  if (is_gzip) source = io::decompress_gzip(std::move(source), path);
  if (is_zstd) source = io::decompress_zstd(std::move(source), path);
  return io::read_csv(*source, path, options, is_tsv ? '\t' : ',');
}

}  // namespace

Table read_table(const std::string& path, const ReadOptions& options) {
  if (path == "-") return io::read_csv(*io::FileSource::standard_input(), "standard input", options, ',');
  const std::string name = lower_case(path);
  const auto read_matrix_with = [&](auto reader) {
    io::FileSource source(path);
    return reader(source, path, options);
  };
  if (name.ends_with(".npy")) return read_matrix_with(io::read_npy);
  if (name.ends_with(".fvecs")) return read_matrix_with(io::read_fvecs);
  if (name.ends_with(".fbin")) return read_matrix_with(io::read_fbin);
  return read_delimited(path, options);
}

}  // namespace culmen
