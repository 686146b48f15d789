#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/lower_case.h"
#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/byte_source.h"
#include "table/csv_batches.h"
#include "table/csv_reader.h"
#include "table/decompress.h"
#include "table/find_dialect.h"
#include "table/npy_reader.h"
#include "table/vecs_reader.h"

namespace culmen {
namespace {

bool take_suffix(std::string_view& name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  name.remove_suffix(suffix.size());
  return true;
}

[[noreturn]] void throw_unknown_format(const std::string& path) {
  std::error_code problem;
  if (!std::filesystem::exists(path, problem)) const io::FileSource source(path);  // throws IoError
  if (lower_case(path).ends_with(".json"))
    throw InvalidArgument(
        path + " is JSON, of which JSON Lines are read: an object on each line of a file named .jsonl " +
        "or .ndjson, or from standard input (jq -c '.[]' makes them of an array)");
  for (const char* const ending : {".parquet", ".arrow", ".feather"})
    if (lower_case(path).ends_with(ending))
      throw InvalidArgument(path + " is Parquet or Arrow, which the culmen of the Python package reads");
  throw InvalidArgument("cannot tell the format of " + path +
                        " by its name; known are .csv, .tsv, .txt, .jsonl and .ndjson (also with .gz, .bz2, "
                        ".xz or .zst after it), .npy, .fvecs, "
                        ".fbin, and - for CSV or JSON Lines from standard input");
}

[[noreturn]] void throw_cannot_keep_delay(const std::string& path, const std::string& what) {
  throw InvalidArgument(
      path + " is " + what +
      ", whose batches are only handed out full: without a longest delay it is read, and with one "
      "what is piped as plain CSV or JSON Lines");
}

// A text file, decompressed, and its delimiter.
struct DelimitedSource {
  std::unique_ptr<io::ByteSource> pipe;  // behind `source`, whose beginning was looked at
  std::unique_ptr<io::ByteSource> source;
  std::string name;
  char delimiter = ',';
  bool is_json_lines = false;
  bool is_compressed_pipe = false;
};

using Decompress = std::unique_ptr<io::ByteSource> (*)(std::unique_ptr<io::ByteSource>, std::string name);

// Removes the ending of a compressed file from its name; nullptr if it has none.
Decompress take_compression(std::string_view& name) {
  if (take_suffix(name, ".gz")) return io::decompress_gzip;
  if (take_suffix(name, ".bz2")) return io::decompress_bzip2;
  if (take_suffix(name, ".xz")) return io::decompress_xz;
  return take_suffix(name, ".zst") ? io::decompress_zstd : nullptr;
}

// Nothing but the text says how it is written.
DelimitedSource open_nameless(std::unique_ptr<io::FileSource> file, std::string name,
                              const ReadOptions& options) {
  const auto show_progress = [&] {
    if (options.on_progress) options.on_progress(0, file->num_bytes().value_or(0));
  };
  const auto tells = [](std::string_view text) { return io::begins_like_json_lines(text).has_value(); };
  auto source = std::make_unique<io::SampledSource>(*file, io::kSampleBytes, show_progress, tells);
  DelimitedSource text;
  text.name = std::move(name);
  text.is_json_lines = io::begins_like_json_lines(source->sample()).value_or(false);
  text.source = std::move(source);
  text.pipe = std::move(file);
  return text;
}

DelimitedSource open_delimited(const std::string& path, const ReadOptions& options) {
  if (path == "-" || path == "/dev/stdin")
    return open_nameless(io::FileSource::standard_input(), "standard input", options);
  if (path.starts_with("/dev/fd/"))
    return open_nameless(std::make_unique<io::FileSource>(path), path, options);
  const std::string lower = lower_case(path);
  std::string_view name = lower;
  const Decompress decompress = take_compression(name);
  const bool is_tsv = name.ends_with(".tsv");
  const bool is_json_lines = name.ends_with(".jsonl") || name.ends_with(".ndjson");
  if (!is_json_lines && !is_tsv && !name.ends_with(".csv") && !name.ends_with(".txt"))
    throw_unknown_format(path);
  std::unique_ptr<io::ByteSource> source = std::make_unique<io::FileSource>(path);
  const bool is_compressed_pipe = decompress != nullptr && !source->num_bytes();
  if (decompress != nullptr) source = decompress(std::move(source), path);
  return {nullptr, std::move(source), path, is_tsv ? '\t' : ',', is_json_lines, is_compressed_pipe};
}

using OpenMatrix = void (*)(io::ByteSource&, const std::string& name, const io::MatrixReading&);

// Returns the reader of headers for the file name's extension, or nullptr if the file is not a matrix.
OpenMatrix matrix_opener(const std::string& path) {
  const std::string name = lower_case(path);
  if (name.ends_with(".npy")) return io::open_npy;
  if (name.ends_with(".fvecs")) return io::open_fvecs;
  if (name.ends_with(".fbin")) return io::open_fbin;
  return nullptr;
}

}  // namespace

Table read_table(const std::string& path, const ReadOptions& options) {
  if (const OpenMatrix open = matrix_opener(path)) {
    io::FileSource source(path);
    return io::read_opened(open, source, path, options);
  }
  DelimitedSource text = open_delimited(path, options);
  if (text.is_json_lines) return io::read_json_lines(std::move(text.source), text.name, options);
  return io::read_csv(*text.source, text.name, options, text.delimiter);
}

BatchTotals read_table_in_batches(const std::string& path, const ReadOptions& options,
                                  const BatchOptions& batches,
                                  const std::function<void(const TableBatch&)>& take) {
  if (batches.batch_rows == 0) throw InvalidArgument("batch_rows is 0; a batch has at least one row");
  if (const OpenMatrix open = matrix_opener(path)) {
    io::FileSource source(path);
    if (batches.max_delay && !source.num_bytes()) throw_cannot_keep_delay(path, "a pipe of a matrix");
    BatchTotals totals;
    open(source, path, [&](io::ByteSource& values, const io::MatrixFormat& format) {
      totals = io::read_matrix_in_batches(values, format, path, options, batches, take);
    });
    return totals;
  }
  DelimitedSource text = open_delimited(path, options);
  if (batches.max_delay && text.is_compressed_pipe) throw_cannot_keep_delay(path, "a compressed pipe");
  if (text.is_json_lines)
    return io::read_json_lines_in_batches(std::move(text.source), text.name, options, batches, take);
  return io::read_csv_in_batches(*text.source, text.name, options, text.delimiter, batches, take);
}

}  // namespace culmen
