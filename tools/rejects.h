// --rejects FILE: the rows of a text file that are refused, listed while the others are read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "culmen/table_io.h"
#include "table/output_file.h"

namespace CLI {
class App;
}

namespace culmen::tools {

void add_rejects_option(CLI::App& command, std::string& path);

// CSV of line, column, problem and row. Listed rows are kept if the destructor ends it: the rows before an error are read.
class RejectsFile {
 public:
  // Empty path: refused rows are an error. continues: of a run that ended earlier, whose list is in the file.
  explicit RejectsFile(std::string path, bool continues = false);
  ~RejectsFile();
  RejectsFile(const RejectsFile&) = delete;
  RejectsFile& operator=(const RejectsFile&) = delete;

  // Makes the reader list its refused rows here.
  void listen(ReadOptions& options);
  void finish(bool quiet);  // throws IoError; says how many rows are listed

 private:
  void write(const RejectedRow& row);

  const std::string path_;
  std::unique_ptr<io::OutputFile> file_;
  std::uint64_t num_rows_ = 0;
};

}  // namespace culmen::tools
