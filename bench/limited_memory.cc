// Searches of an index that may keep little of what it reads (OpenOptions::max_memory).
//
//   limited_memory DIRECTORY [--max-memory=MIB] [--codes=memory|device] [--k=K] [--questions=Q] [--batch=B] [--threads=1,16]
//
// Opens the index in DIRECTORY with a limit of MIB (by default none) and searches it for the K best rows (16) by Q
// random weights (200) of both signs, all different: on each number of threads, one search a thread. A line for each:
// quantiles of a search's milliseconds, searches a second, and the leaves and nodes that one visits; and one for B other
// questions (none) in one call. Then the memory that the process has in use, and random reads a second of 4 KiB of the file of
// leaves, by as many threads.
//
// The page cache is the system's: drop it first, and run in a memory cgroup, to see a table that does not fit.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/flags.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "culmen/culmen.h"

namespace culmen::bench {
namespace {

struct Settings {
  std::string directory;
  std::uint64_t max_memory = 0;  // MiB
  std::string codes = "files";
  std::size_t k = 16;
  std::size_t questions = 200;
  std::size_t batch = 0;
  std::vector<std::size_t> threads = {1};
};

std::vector<double> weights_of(std::uint64_t question, std::size_t dims) {
  std::mt19937_64 random(question);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> weights(dims);
  for (double& weight : weights) weight = uniform(random);
  return weights;
}

// Calls one(i) for each i below `count`, on so many threads. Returns seconds.
double on_threads(std::size_t threads, std::size_t count, const auto& one) {
  std::atomic<std::size_t> next = 0;
  const double start = now_us();
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < threads; ++t)
    running.emplace_back([&] {
      for (std::size_t i = next++; i < count; i = next++) one(i);
    });
  for (std::thread& thread : running) thread.join();
  return (now_us() - start) / 1e6;
}

void search(const Index& index, const Settings& settings, std::size_t threads, std::size_t first) {
  const std::size_t dims = index.info().attributes.size();
  std::vector<double> milliseconds(settings.questions);
  std::atomic<std::uint64_t> leaves = 0, nodes = 0;
  const double seconds = on_threads(threads, settings.questions, [&](std::size_t q) {
    const Query query = {.weights = weights_of(first + q, dims), .k = settings.k};
    const double start = now_us();
    const SearchResult result = index.search(query, {.num_threads = 1});
    milliseconds[q] = (now_us() - start) / 1e3;
    leaves += result.stats.leaves_visited;
    nodes += result.stats.nodes_visited;
  });
  std::printf(
      "%2zu threads: median %7.2f ms, 90 %% %7.2f ms, worst %8.2f ms; %7.0f searches/s; %llu leaves, %llu "
      "nodes\n",
      threads, median(milliseconds), quantile(milliseconds, 0.9), quantile(milliseconds, 1),
      static_cast<double>(settings.questions) / seconds,
      static_cast<unsigned long long>(leaves / settings.questions),
      static_cast<unsigned long long>(nodes / settings.questions));
}

// One call with all questions.
void search_together(const Index& index, const Settings& settings, std::size_t threads, std::size_t first) {
  const std::size_t dims = index.info().attributes.size();
  std::vector<Query> queries;
  for (std::size_t q = 0; q < settings.batch; ++q)
    queries.push_back({.weights = weights_of(first + q, dims), .k = settings.k});
  const double start = now_us();
  const std::vector<SearchResult> results = index.search(queries, {.num_threads = static_cast<int>(threads)});
  const double milliseconds = (now_us() - start) / 1e3;
  std::uint64_t leaves = 0, nodes = 0;
  for (const SearchResult& result : results) {
    leaves += result.stats.leaves_visited;
    nodes += result.stats.nodes_visited;
  }
  std::printf("%2zu threads: a batch of %zu in %.0f ms; %llu leaves, %llu nodes a question\n", threads,
              settings.batch, milliseconds, static_cast<unsigned long long>(leaves / settings.batch),
              static_cast<unsigned long long>(nodes / settings.batch));
}

std::string resident_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM")) return line.substr(line.find_first_not_of(" \t", 6));
  return "unknown";
}

// Past the page cache, if the system lets it.
void read_at_random(const Settings& settings, std::size_t threads) {
  constexpr std::size_t kBlock = 4096, kReads = 4000;
  for (const auto& entry : std::filesystem::directory_iterator(settings.directory)) {
    if (!entry.path().filename().string().ends_with("-leaves")) continue;
    const int file = ::open(entry.path().c_str(), O_RDONLY | O_DIRECT);
    if (file < 0) return;
    const std::uint64_t num_blocks = entry.file_size() / kBlock;
    const double seconds = on_threads(threads, kReads, [&](std::size_t i) {
      alignas(kBlock) char block[kBlock];
      const std::uint64_t at = std::mt19937_64(i)() % num_blocks;
      if (::pread(file, block, kBlock, static_cast<off_t>(at * kBlock)) < 0) std::perror("pread");
    });
    ::close(file);
    std::printf("%2zu threads: %.0f random reads/s of 4 KiB\n", threads,
                static_cast<double>(kReads) / seconds);
  }
}

Settings settings_of(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (take_flag(argument, "--max-memory=", settings.max_memory) ||
        take_flag(argument, "--codes=", settings.codes) || take_flag(argument, "--k=", settings.k) ||
        take_flag(argument, "--questions=", settings.questions) ||
        take_flag(argument, "--batch=", settings.batch) ||
        take_flag(argument, "--threads=", settings.threads))
      continue;
    if (argument.starts_with("--") || !settings.directory.empty()) {
      std::cerr << "unknown argument " << argument << "; see the top of bench/limited_memory.cc\n";
      std::exit(2);
    }
    settings.directory = argument;
  }
  return settings;
}

int run(const Settings& settings) {
  const Index index = Index::open(settings.directory, {.loading = Loading::on_touch,
                                                       .max_memory = settings.max_memory << 20,
                                                       .codes = parse_codes_in(settings.codes)});
  std::size_t first = 0;
  for (const std::size_t threads : settings.threads) {
    search(index, settings, threads, first);
    first += settings.questions;
    if (settings.batch > 0) search_together(index, settings, threads, first);
    first += settings.batch;
  }
  std::printf("most memory in use: %s\n", resident_memory().c_str());
  for (const std::size_t threads : settings.threads) read_at_random(settings, threads);
  return 0;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::settings_of(argc, argv)); });
}
