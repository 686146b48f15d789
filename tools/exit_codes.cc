#include "tools/exit_codes.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "culmen/error.h"
#include "tools/interrupt.h"
#include "tools/output.h"

namespace culmen::tools {
namespace {

// A name out of a hostile file may hold line ends or terminal escapes; an error is one line.
ExitCode report(std::string text, ExitCode code) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  fmt::print(stderr, "culmen: {}\n", text);
  return code;
}

}  // namespace

ExitCode report_current_exception() {
  if (interrupted()) return report("interrupted", ExitCode::interrupted);
  try {
    throw;
  } catch (const BrokenPipe&) {
    return ExitCode::ok;  // who reads our output has seen enough
  } catch (const CLI::ParseError& error) {
    return report(std::string(error.what()) + "; --help shows how it is used", ExitCode::usage);
  } catch (const InvalidArgument& error) {
    return report(error.what(), ExitCode::usage);
  } catch (const NoIndex& error) {
    return report(std::string(error.what()) + "; culmen build INPUT -o DIR makes one", ExitCode::failure);
  } catch (const InputError& error) {
    return report(error.what(), ExitCode::bad_data);
  } catch (const FormatError& error) {
    return report(error.what(), ExitCode::bad_data);
  } catch (const OutOfDeviceMemory& error) {
    return report(error.what(), ExitCode::out_of_memory);
  } catch (const std::bad_alloc&) {
    return report("out of memory", ExitCode::out_of_memory);
  } catch (const std::exception& error) {
    return report(error.what(), ExitCode::failure);
  }
}

}  // namespace culmen::tools
