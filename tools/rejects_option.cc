#include <CLI/CLI.hpp>

#include "tools/rejects.h"

namespace culmen::tools {

void add_rejects_option(CLI::App& command, std::string& path) {
  command
      .add_option("--rejects", path,
                  "Leave out rows of a text file that cannot be read, and list them here as CSV: line,\n"
                  "column, problem and the row itself (default: such rows are an error)")
      ->type_name("FILE")
      ->group("Text files");
}

}  // namespace culmen::tools
