#include "tools/shell.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "coding/any_index.h"
#include "coding/printable.h"
#include "culmen/error.h"
#include "tools/codes.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/line_editor.h"
#include "tools/max_memory.h"
#include "tools/numbers.h"
#include "tools/question_options.h"
#include "tools/result.h"
#include "tools/shell_words.h"
#include "tools/streams.h"
#include "tools/value_text.h"

namespace culmen::tools {
namespace {

constexpr std::string_view kHelp =
    "A question is what culmen query takes after the directory, and -w may be left out before the weights:\n"
    "  price=-1,rating=20 -k 5 --where \"city = 'Roma'\"\n"
    "columns lists what can be asked about, options explains all options, quit ends. Ctrl-C stops a "
    "question.\n";

// The options of one question. CLI11 sets what a line gives; each line begins with a new one.
struct Question {
  CLI::App app{"A question", ""};
  QueryArguments arguments;

  Question() {
    app.set_help_flag();
    add_question_options(app, arguments);
  }
};

std::vector<std::string> words_to_complete(const IndexInfo& info) {
  std::vector<std::string> words = {"columns", "help", "options", "quit",  "near(",
                                    "decay(",  "log(", "log1p(",  "sqrt(", "saturate("};
  for (const AttributeInfo& attribute : info.attributes) words.push_back(attribute.name);
  for (const FieldInfo& field : info.fields) words.push_back(field.field.name);
  Question question;
  for (const CLI::Option* option : question.app.get_options())
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  std::sort(words.begin(), words.end());
  return words;
}

std::string columns_text(const IndexInfo& info) {
  std::string text =
      fmt::format("{}, {}\n", counted(info.num_rows, "row"), counted(info.attributes.size(), "attribute"));
  for (const AttributeInfo& attribute : info.attributes)
    text += fmt::format("  {:<20} ranked\n", printable(attribute.name));
  for (const FieldInfo& field : info.fields)
    text += fmt::format("  {:<20} {} {}\n", printable(field.field.name),
                        field.field.role == FieldRole::filter ? "for filters" : "only shown",
                        format_text(field.field.format));
  return text;
}

class Shell {
 public:
  Shell(const std::string& directory, const OpenOptions& options, bool quiet)
      : index_(AnyIndex::open_on_touch(directory, options)),
        quiet_(quiet),
        is_terminal_(stdin_is_terminal()) {}

  ExitCode run(const std::string& directory) {
    const std::string name = std::filesystem::path(directory).filename().string();
    LineEditor editor((name.empty() ? std::string("culmen") : printable(name)) + "> ",
                      words_to_complete(index_.info()));
    if (is_terminal_ && !quiet_) say("{}", kHelp);
    while (const std::optional<std::string> line = editor.next()) {
      const ExitCode code = answer(*line);
      if (has_ended_ || (!is_terminal_ && code != ExitCode::ok)) return code;
    }
    if (is_terminal_) static_cast<void>(print_result("\n"));
    return ExitCode::ok;
  }

 private:
  // Errors are told; those on a terminal are no reason to end.
  ExitCode answer(const std::string& line) {
    const InterruptGuard guard;
    try {
      return answer_words(shell_words(line));
    } catch (...) {
      const ExitCode code = report_current_exception();
      forget_interrupt();
      return code;
    }
  }

  ExitCode answer_words(std::vector<std::string> words) {
    if (words.empty()) return ExitCode::ok;
    if (words.size() == 1 && (words[0] == "quit" || words[0] == "exit")) {
      has_ended_ = true;
      return ExitCode::ok;
    }
    if (words[0] == "help") return print_result(std::string(kHelp));
    if (words[0] == "options") return print_result(Question().app.help("", CLI::AppFormatMode::Normal));
    index_.refresh();
    if (words[0] == "columns") return print_result(columns_text(index_.info()));
    if (!words[0].starts_with('-')) words.insert(words.begin(), "-w");
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    Question question;
    question.app.parse(std::move(words));
    answer_query(index_, std::move(question.arguments), quiet_, true);
    return ExitCode::ok;
  }

  AnyIndex index_;
  const bool quiet_;
  const bool is_terminal_;
  bool has_ended_ = false;
};

}  // namespace

ExitCode run_shell(const std::string& directory, std::uint64_t max_memory, const std::string& codes,
                   bool quiet) {
  OpenOptions options = {.max_memory = max_memory};
  set_codes(codes, options);
  return Shell(directory, options, quiet).run(directory);
}

void add_shell(Program& program) {
  CLI::App& command = *program.app.add_subcommand("shell", "Ask an index many questions, opened once");
  struct Arguments {
    std::string directory;
    std::uint64_t max_memory = kUnlimitedMemory;
    std::string codes = "files";
  };
  const auto arguments = std::make_shared<Arguments>();
  command.add_option("DIR", arguments->directory, "The index")->required();
  add_max_memory_of_reader(command, arguments->max_memory, "Running");
  add_codes(command, arguments->codes, "Running");
  add_quiet(command, program, "Write only errors to standard error");
  command.footer(
      std::string(kHelp) +
      "\nOn a terminal there are history and completion of columns and options, if the program was "
      "built with\n"
      "libedit. Otherwise the first error ends the command. Each question sees the newest "
      "version.\n\n"
      "Examples:\n"
      "  culmen shell hotels.index\n"
      "  printf 'price=-1 -k 3\\nrating=1 -k 3\\n' | culmen shell hotels.index");
  command.callback([&program, arguments] {
    program.run = [&program, arguments] {
      return run_shell(arguments->directory, arguments->max_memory, arguments->codes, program.quiet);
    };
  });
}

}  // namespace culmen::tools
