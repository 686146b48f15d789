#include "tools/rejects.h"

#include <fmt/core.h>

#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "culmen/error.h"
#include "tools/csv_cell.h"
#include "tools/numbers.h"
#include "tools/streams.h"

namespace culmen::tools {

namespace {

constexpr std::string_view kHeader = "line,column,problem,row\n";

// Empty if there is none, or no such list.
std::string earlier_list(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string list(std::istreambuf_iterator<char>(file), {});
  return list.starts_with(kHeader) ? list : "";
}

}  // namespace

RejectsFile::RejectsFile(std::string path, bool continues) : path_(std::move(path)) {
  if (path_.empty()) return;
  const std::string earlier = continues && !io::is_pipe_or_device(path_) ? earlier_list(path_) : "";
  file_ = std::make_unique<io::OutputFile>(path_);
  file_->write(earlier.empty() ? kHeader : earlier);
}

RejectsFile::~RejectsFile() {
  if (num_rows_ == 0 || file_ == nullptr) return;
  try {
    file_->commit();
  } catch (const Error&) {  // beside the error that ends the command
  }
}

void RejectsFile::listen(ReadOptions& options) {
  if (file_ != nullptr) options.on_rejected_row = [this](const RejectedRow& row) { write(row); };
}

void RejectsFile::write(const RejectedRow& row) {
  ++num_rows_;
  file_->write(fmt::format("{},{},{},{}\n", row.line, row.column == 0 ? "" : std::to_string(row.column),
                           quoted_if_needed(row.problem), quoted_if_needed(row.text)));
}

void RejectsFile::finish(bool quiet) {
  if (file_ == nullptr) return;
  file_->commit();
  file_.reset();
  if (!quiet && num_rows_ > 0)
    say("  {} refused and left out: {} says why\n", counted(num_rows_, "row"), path_);
}

}  // namespace culmen::tools
