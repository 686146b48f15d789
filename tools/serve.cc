// The command line of serve.
#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "coding/any_index.h"
#include "coding/json_text.h"
#include "culmen/error.h"
#include "serve/guard.h"
#include "serve/server.h"
#include "serve/service.h"
#include "tools/codes.h"
#include "tools/commands.h"
#include "tools/device_number.h"
#include "tools/max_memory.h"
#include "tools/streams.h"
#include "tools/whole_number.h"

namespace culmen::tools {
namespace {

struct ServeArguments {
  std::string directory;
  serve::ServeOptions options;
  std::string token_file;
  std::string durability = "sync";
  std::string device = "cpu";
  std::string memory = "auto";
  std::string layout = "replicate";
  std::uint64_t max_memory = kUnlimitedMemory;
  std::string codes = "files";
};

std::string url_of(const std::string& address, std::uint16_t port) {
  const bool is_v6 = address.find(':') != std::string::npos;
  return fmt::format("http://{}:{}/", is_v6 ? '[' + address + ']' : address, port);
}

ExitCode run(const ServeArguments& arguments, bool quiet) {
  serve::ServeOptions options = arguments.options;
  options.reads_need_token = !serve::is_loopback(options.address);
  if (arguments.device != "cpu") options.devices = parse_devices(arguments.device);
  options.on_devices = {.memory = parse_device_memory(arguments.memory),
                        .layout = parse_device_layout(arguments.layout)};
  if (!arguments.token_file.empty()) options.token = serve::read_token(arguments.token_file);
  if (options.writable && options.token.empty())
    throw InvalidArgument("--writable needs a token: --token-file FILE");
  if (options.reads_need_token && options.token.empty())
    throw InvalidArgument(
        fmt::format("--bind {} can be reached from other machines, so it needs a token: --token-file FILE",
                    options.address));
  const auto log = [](const std::string& line) { write_message(line + '\n'); };
  const bool is_limited = arguments.max_memory != kUnlimitedMemory;
  OpenOptions opening = {.writable = options.writable,
                         .durability = parse_durability(arguments.durability),
                         .num_threads = options.num_threads,
                         .loading = is_limited ? Loading::on_touch : Loading::whole,
                         .max_memory = arguments.max_memory};
  set_codes(arguments.codes, opening);
  AnyIndex index = AnyIndex::open(arguments.directory, opening);
  serve::Service service(std::move(index), options, [&log](const std::string& problem) {
    log(json_text({{"event", "problem"}, {"error", problem}}));
  });
  serve::run_server(
      options, service,
      [&](const std::string& address, std::uint16_t port) {
        if (!quiet)
          log(json_text({{"event", "listens"},
                         {"url", url_of(address, port)},
                         {"directory", arguments.directory},
                         {"writable", options.writable}}));
      },
      log);
  service.close();
  if (!quiet) log(json_text({{"event", "stopped"}}));
  return ExitCode::ok;
}

void add_network_options(CLI::App& command, ServeArguments& arguments) {
  command.add_option("--port", arguments.options.port, "0: any that is free (default 8080)")
      ->transform(whole_number<std::uint16_t>(0))
      ->type_name("N")
      ->group("Network");
  command
      .add_option(
          "--bind", arguments.options.address,
          "Address to listen on. Any but that of this machine alone needs --token-file, for all requests\n"
          "(default 127.0.0.1)")
      ->type_name("ADDRESS")
      ->group("Network");
  command
      .add_option("--host", arguments.options.hosts,
                  "A name that clients call this server by, besides localhost and ADDRESS; may be repeated.\n"
                  "Requests with another one in their Host field are refused")
      ->type_name("NAME")
      ->group("Network");
  command
      .add_option("--token-file", arguments.token_file,
                  "File whose first line, of 16 characters or more, is asked for as\n"
                  "Authorization: Bearer TOKEN")
      ->type_name("FILE")
      ->group("Network");
}

void add_index_options(CLI::App& command, ServeArguments& arguments) {
  command.add_option("DIR", arguments.directory, "The index")->required();
  command
      .add_flag(
          "--writable", arguments.options.writable,
          "Own the index: take changes, for which the token is needed on this machine too. Without it,\n"
          "what another process writes is followed")
      ->group("Index");
  add_durability(command, arguments.durability);
  command.get_option("--durability")->group("Index");
  command
      .add_option("--threads", arguments.options.num_threads,
                  "Threads that share a scan or a batch of questions (default: all cores)")
      ->transform(whole_number<int>(0))
      ->type_name("T")
      ->group("Index");
  command
      .add_option("--device", arguments.device,
                  "cpu, cuda:N for a GPU, or cuda:N,M for several: searches are answered there (default cpu)")
      ->type_name("DEVICE")
      ->group("Index");
  command
      .add_option("--memory", arguments.memory,
                  "Where the rows are for a GPU: auto, device, managed, host or compressed, there in few "
                  "bits (default\n"
                  "auto: device if they fit, else compressed, else host)")
      ->type_name("MEMORY")
      ->group("Index");
  command
      .add_option("--layout", arguments.layout,
                  "What each of several GPUs has: replicate, a copy, or shard, a part of the index (default "
                  "replicate)")
      ->type_name("LAYOUT")
      ->group("Index");
  add_max_memory_of_reader(command, arguments.max_memory, "Index");
  add_codes(command, arguments.codes, "Index");
  command.add_flag("--page,!--no-page", arguments.options.page, "The page at / (default yes)")
      ->group("Index");
}

void add_limits(CLI::App& command, serve::Limits& limits) {
  const auto add = [&](const char* name, std::size_t& value, const char* text) {
    command.add_option(name, value, text)
        ->transform(whole_number<std::size_t>(1))
        ->type_name("N")
        ->group("Limits");
  };
  add("--max-rows", limits.rows, "Rows that one request may ask for, or write (default 10000)");
  add("--max-body", limits.body_bytes, "Bytes of a request's body (default 4194304)");
  add("--max-connections", limits.connections, "Connections at once (default 4096)");
  add("--max-waiting", limits.waiting,
      "Questions that wait for their answer; further ones are told to come again (default 1024)");
}

}  // namespace

void add_serve(Program& program) {
  CLI::App& command = *program.app.add_subcommand("serve", "Answer questions over HTTP, and show a page");
  const auto arguments = std::make_shared<ServeArguments>();
  add_index_options(command, *arguments);
  add_network_options(command, *arguments);
  add_limits(command, arguments->options.limits);
  command
      .add_option_function<std::size_t>(
          "--time-limit",
          [arguments](std::size_t milliseconds) {
            arguments->options.limits.question_time = std::chrono::milliseconds(milliseconds);
          },
          "Milliseconds for a question; a search that takes longer is ended (default 10000)")
      ->transform(whole_number<std::size_t>(1, 3'600'000))
      ->type_name("MS")
      ->group("Limits");
  command.add_flag("--log-requests", arguments->options.logs_requests,
                   "Write a line of JSON to standard error for each request");
  add_quiet(command, program);
  command.footer(
      "Paths: /search /explain /why /get /info /health /metrics /openapi.json, with --writable /insert\n"
      "/upsert /erase, and the page at /. SIGTERM and Ctrl-C stop it once the requests under way are "
      "answered.\n\n"
      "Examples:\n"
      "  culmen serve hotels.index\n"
      "  curl -H 'Content-Type: application/json' -d '{\"weights\":{\"price\":-1,\"rating\":20},\"k\":5}' "
      "\\\n"
      "    http://127.0.0.1:8080/search");
  command.callback([&program, arguments] {
    program.run = [&program, arguments] { return run(*arguments, program.quiet); };
  });
}

}  // namespace culmen::tools
