// --codes of the commands that read an index within a limit of memory.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "culmen/open.h"
#include "tools/device_number.h"

namespace culmen::tools {

inline void add_codes(CLI::App& command, std::string& codes, const std::string& group) {
  command
      .add_option(
          "--codes", codes,
          "With --max-memory: memory, or cuda or cuda:N for a GPU, to keep 4 bits a value of all rows "
          "there,\n"
          "beside the limit: searches that bounds hardly help read far fewer rows then. The whole table is\n"
          "read once at first (default: files, those of rows that are in memory)")
      ->type_name("PLACE")
      ->group(group);
}

// Throws InvalidArgument.
inline void set_codes(const std::string& codes, OpenOptions& options) {
  if (codes == "files") return;
  options.codes = CodesIn::memory;
  if (codes == "memory" || codes == "cpu") return;
  options.codes = CodesIn::device;
  options.codes_device = parse_device(codes, "files, memory, ", "--codes");
}

}  // namespace culmen::tools
