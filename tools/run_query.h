// The work of the command query: searches an index, on the CPU or on a GPU, and writes answers or plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "coding/any_index.h"
#include "tools/exit_codes.h"

namespace culmen::tools {

struct QueryArguments {
  std::string directory;
  std::string weights;
  std::string weights_file;
  std::optional<std::size_t> k;
  std::string where;
  std::string ids_file;
  std::string not_ids_file;
  std::optional<std::string> min_score;
  std::optional<std::string> after;
  std::optional<std::string> per;
  std::optional<std::string> rank_of;
  std::optional<std::string> count_above;
  std::optional<std::string> why;
  std::string scale = "none";
  std::string missing = "skip";
  std::string terms;
  std::string engine = "auto";
  int num_threads = 0;
  std::string device = "auto";
  std::string memory = "auto";
  std::string layout = "replicate";
  std::uint64_t max_memory = kUnlimitedMemory;
  std::string codes = "files";
  std::optional<std::string> show;
  std::string format;
  std::string output;
  bool explain = false;
  bool profile = false;
};

ExitCode run_query(QueryArguments arguments, bool quiet);

// Answers a question of an index that is open. `can_stop`: Ctrl-C ends the search, and the call throws Interrupted.
void answer_query(const AnyIndex& index, QueryArguments arguments, bool quiet, bool can_stop);

}  // namespace culmen::tools
