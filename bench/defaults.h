// Axes and default sizes shared by the benchmarks, and the flags that change them.
//
//   --rows=N       rows of the table             (default 16,000,000)
//   --dims=D       attributes                    (default 8)
//   --queries=Q    random weight vectors         (default 200), uniform in (0, 1]^D
//   --threads=T    threads for scan and loading  (default: all cores)
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "bench/flags.h"
#include "bench/weights.h"

namespace culmen::bench {

struct Settings {
  std::uint64_t rows = 16'000'000;
  int dims = 8;
  int queries = 200;
  int threads = 0;
};

// Removes our flags from the command line and passes the rest to Google Benchmark.
inline Settings initialize(int argc, char** argv) {
  Settings settings;
  std::vector<char*> rest;
  for (int i = 0; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!take_flag(argument, "--rows=", settings.rows) && !take_flag(argument, "--dims=", settings.dims) &&
        !take_flag(argument, "--queries=", settings.queries) &&
        !take_flag(argument, "--threads=", settings.threads))
      rest.push_back(argv[i]);
  }
  int rest_count = static_cast<int>(rest.size());
  benchmark::Initialize(&rest_count, rest.data());
  if (benchmark::ReportUnrecognizedArguments(rest_count, rest.data())) std::exit(2);
  benchmark::AddCustomContext("compiler", __VERSION__);
  benchmark::AddCustomContext("rows", std::to_string(settings.rows));
  benchmark::AddCustomContext("dims", std::to_string(settings.dims));
  return settings;
}

inline std::vector<std::vector<double>> random_weights(const Settings& settings) {
  std::mt19937_64 random(7);  // any fixed seed
  std::vector<std::vector<double>> all(static_cast<std::size_t>(settings.queries));
  for (std::vector<double>& weights : all) weights = random_weights(random, settings.dims);
  return all;
}

}  // namespace culmen::bench
