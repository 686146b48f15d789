#include "tools/exit_codes.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "coding/printable.h"
#include "culmen/error.h"
#include "tools/interrupt.h"
#include "tools/output.h"
#include "tools/streams.h"

namespace culmen::tools {

// A name from a hostile file may contain line ends or terminal escapes; an error must be one line.
ExitCode report_error(std::string text, ExitCode code) {
  say("culmen: {}\n", printable(std::move(text)));
  return code;
}

namespace {

// A table may have many problems, each in its line.
ExitCode report_lines(std::string_view text, ExitCode code) {
  std::string lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    lines.append(lines.empty() ? "culmen: " : "  ").append(printable(std::string(line))) += '\n';
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  write_message(lines);
  return code;
}

}  // namespace

ExitCode report_current_exception() {
  if (interrupted()) return report_error("interrupted", ExitCode::interrupted);
  try {
    throw;
  } catch (const BrokenPipe&) {
    return ExitCode::ok;  // the reader of our output has seen enough
  } catch (const CLI::ParseError& error) {
    return report_error(std::string(error.what()) + "; --help shows how it is used", ExitCode::usage);
  } catch (const InvalidArgument& error) {
    return report_error(error.what(), ExitCode::usage);
  } catch (const NoIndex& error) {
    return report_error(std::string(error.what()) + "; culmen build INPUT -o DIR makes one",
                        ExitCode::failure);
  } catch (const InputError& error) {
    return report_lines(error.what(), ExitCode::bad_data);
  } catch (const FormatError& error) {
    return report_error(error.what(), ExitCode::bad_data);
  } catch (const OutOfDeviceMemory& error) {
    return report_error(error.what(), ExitCode::out_of_memory);
  } catch (const std::bad_alloc&) {
    return report_error("out of memory", ExitCode::out_of_memory);
  } catch (const std::exception& error) {
    return report_error(error.what(), ExitCode::failure);
  }
}

}  // namespace culmen::tools
