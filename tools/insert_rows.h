// The work of the commands insert and upsert: writes the rows of a table to an index, batch by batch.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "culmen/open.h"
#include "tools/dialect_options.h"
#include "tools/exit_codes.h"

namespace culmen::tools {

enum class Change : std::uint8_t { insert, upsert };

struct InsertArguments {
  std::string directory;
  std::string input;
  std::string attributes;
  std::optional<std::string> columns;
  std::string id_column;
  std::string label_column;
  bool no_labels = false;
  bool new_ids = false;
  bool is_partial = false;
  std::string nulls = "keep";
  std::string duplicates = "error";
  DialectArguments dialect;
  std::string rejects;
  std::string type;
  std::optional<std::string> expire;
  std::string durability = "sync";
  std::uint64_t batch_rows = 10'000;
  std::optional<std::chrono::milliseconds> max_delay;
  std::uint64_t skip_rows = 0;
  bool atomic = false;
  int num_threads = 0;
  std::uint64_t max_memory = kUnlimitedMemory;
};

ExitCode insert_rows(const InsertArguments& arguments, Change change, bool quiet);

}  // namespace culmen::tools
