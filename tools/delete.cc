#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coding/any_index.h"
#include "coding/empty_filter.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "tools/commands.h"
#include "tools/id_list.h"
#include "tools/max_memory.h"
#include "tools/numbers.h"
#include "tools/result.h"

namespace culmen::tools {
namespace {

struct DeleteArguments {
  std::string directory;
  IdArguments named;
  std::optional<std::string> where;
  bool dry_run = false;
  std::string durability = "sync";
  std::uint64_t max_memory = kUnlimitedMemory;
};

void check_usage(const DeleteArguments& arguments) {
  if (arguments.named.num_given() + static_cast<int>(arguments.where.has_value()) != 1)
    throw InvalidArgument(
        "say which rows: give their ids, or one of --ids 1,2,..., --ids-file FILE and --where "
        "\"price>200\"");
  if (arguments.where) refuse_empty_filter("--where", *arguments.where);
}

// Ascending and unique.
NamedIds named_ids(const DeleteArguments& arguments) {
  const IdType type = AnyIndex::open_on_touch(arguments.directory).schema().id_type;
  NamedIds ids = arguments.named.read(type);
  ids.keep_one_of_each();
  return ids;
}

std::uint64_t count_present(const AnyIndex& index, const NamedIds& ids) {
  const std::vector<std::optional<Row>> rows = index.get(ids);
  return static_cast<std::uint64_t>(
      std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.has_value(); }));
}

// The number of rows that there are to delete.
std::uint64_t count(const DeleteArguments& arguments, const AnyIndex& index, const NamedIds& ids) {
  if (arguments.where) return index.count(index.columns().filter(*arguments.where));
  return count_present(index, ids);
}

std::uint64_t delete_rows(const DeleteArguments& arguments, AnyIndex& index, const NamedIds& ids) {
  WriteBatch batch;
  std::vector<std::string_view> texts;
  if (arguments.where) {
    batch.erase_where(index.columns().filter(*arguments.where));
  } else {
    erase(ids, texts, batch);
  }
  return index.write(batch).erased;
}

ExitCode run(const DeleteArguments& arguments) {
  check_usage(arguments);
  NamedIds ids;
  if (!arguments.where) ids = named_ids(arguments);  // before the index is locked
  AnyIndex index =
      AnyIndex::open_on_touch(arguments.directory, {.writable = !arguments.dry_run,
                                                    .durability = parse_durability(arguments.durability),
                                                    .max_memory = arguments.max_memory});
  const std::uint64_t num_deleted =
      arguments.dry_run ? count(arguments, index, ids) : delete_rows(arguments, index, ids);
  if (!arguments.dry_run) {
    try {
      index.close();
    } catch (const Error& error) {
      if (arguments.durability == durability_name(Durability::batch))
        throw IoError(fmt::format("it is not certain that the rows are deleted: {}", error.what()));
      throw IoError(
          fmt::format("{} deleted, and stay so; after that: {}", counted(num_deleted, "row"), error.what()));
    }
  }
  std::string text = fmt::format("{}: {} {}", arguments.directory, counted(num_deleted, "row"),
                                 arguments.dry_run ? "would be deleted" : "deleted");
  if (num_deleted < ids.size())
    text += fmt::format("; {} of the {} not there", grouped(ids.size() - num_deleted),
                        ids.size() == 1 ? "1 id was" : fmt::format("{} ids were", grouped(ids.size())));
  return print_result(text + '\n', ExitCode::ok, arguments.dry_run ? "" : text);
}

}  // namespace

void add_delete(Program& program) {
  CLI::App& command = *program.app.add_subcommand("delete", "Delete rows from an index");
  const auto arguments = std::make_shared<DeleteArguments>();
  command.add_option("DIR", arguments->directory, "The index")->required();
  add_id_options(command, arguments->named);
  command
      .add_option(
          "--where", arguments->where,
          "Rows that pass, as in \"price>200 or stars in (1, 2)\"; the language is that of query --where")
      ->type_name("FILTER");
  command.add_flag("--dry-run", arguments->dry_run, "Only count the rows");
  add_durability(command, arguments->durability);
  add_max_memory_of_writer(command, arguments->max_memory, "Options");
  add_quiet(command, program);
  command.footer(
      "Deletes all of the rows at once, or after an error none, and prints how many. Ids that are not in "
      "the\n"
      "index are no error.\n\n"
      "Examples:\n"
      "  culmen delete hotels.index --where \"price>200 and rating<5\" --dry-run\n"
      "  culmen delete hotels.index --where \"price>200 and rating<5\"\n"
      "  culmen delete hotels.index 1000001 1000002");
  command.callback([&program, arguments] { program.run = [arguments] { return run(*arguments); }; });
}

}  // namespace culmen::tools
