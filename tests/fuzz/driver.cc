// Runs a fuzz target on mutated seeds without libFuzzer.
//
//   csv_fuzz --runs 1000000 --seed 7        input i depends on the seed and i alone
//   csv_fuzz --runs 1000000 --seconds 480   stops after that time, and says how many it got to
//   csv_fuzz --write-corpus FOLDER          the seeds as files, a first corpus for libFuzzer
//   csv_fuzz FILE...                        runs these inputs, such as a crash that libFuzzer kept
//
// No input may take more than kMaxBytes of memory or kMaxSeconds of time.
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

// The sanitizers' own declaration is strong: a build without them has no such function.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

// Nearly all allocations here are small and short-lived: a quarantine that fits the cache, and no recorded stacks, make
// targets twice as fast. ASAN_OPTIONS=malloc_context_size=30 gives the stacks of an input run
// again. The limits of memory are what kMaxBytes says.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=8:malloc_context_size=1:hard_rss_limit_mb=1024:max_allocation_size_mb=1024";
}

namespace culmen::fuzz {
namespace {

constexpr std::size_t kMaxInputBytes = 4096;
constexpr rlim_t kMaxBytes = rlim_t{1} << 30;
constexpr int kMaxSeconds = 20;

// For the report when a sanitizer ends the program, which may be after the end of main: never destroyed.
std::string& current_name = *new std::string;
std::atomic<std::uint64_t> current_run = 0;
std::string& current_input = *new std::string;

void print_current_input() {
  std::fprintf(stderr, "\n%s, run %llu, %zu bytes:", current_name.c_str(),
               static_cast<unsigned long long>(current_run.load()), current_input.size());
  for (const char c : current_input) std::fprintf(stderr, " %02x", static_cast<unsigned char>(c));
  std::fprintf(stderr, "\n");
}

// Called every second. Two inputs in a row have different numbers, files and mutations alike.
void end_if_it_hangs(int) {
  static std::uint64_t last_run = 0;
  static int num_seconds = 0;
  num_seconds = current_run == last_run ? num_seconds + 1 : 0;
  last_run = current_run;
  if (num_seconds < kMaxSeconds) return;
  std::fprintf(stderr, "\nno end after %d seconds", kMaxSeconds);
  print_current_input();
  ::_exit(EXIT_FAILURE);
}

void set_limits() {
  struct sigaction action {};
  action.sa_handler = end_if_it_hangs;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGALRM, &action, nullptr);
  const itimerval every_second{{1, 0}, {1, 0}};
  ::setitimer(ITIMER_REAL, &every_second, nullptr);
  // AddressSanitizer has its own limits, and needs much memory for itself.
  const rlimit memory{kMaxBytes, kMaxBytes};
  if (__sanitizer_set_death_callback == nullptr) ::setrlimit(RLIMIT_DATA, &memory);
}

}  // namespace
}  // namespace culmen::fuzz

// UndefinedBehaviorSanitizer has no such callback, and calls this.
extern "C" void __ubsan_on_report();
extern "C" void __ubsan_on_report() {
  culmen::fuzz::print_current_input();
}

namespace culmen::fuzz {
namespace {

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : seeds_(seed_inputs()), tokens_(tokens()), seed_(seed) {}

  std::string input(std::uint64_t run) {
    state_ = seed_;
    state_ = random() ^ run;
    std::string bytes = below(32) == 0 ? random_bytes() : pick(seeds_);
    for (std::size_t left = below(6); left > 0; --left) mutate(bytes);
    if (bytes.size() > kMaxInputBytes) bytes.resize(kMaxInputBytes);
    return bytes;
  }

 private:
  // SplitMix64: good enough here, and free to seed for each input.
  std::uint64_t random() {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random() % limit; }
  const std::string& pick(const std::vector<std::string>& from) { return from[below(from.size())]; }

  std::string random_bytes() {
    std::string bytes(below(64), '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    return bytes;
  }

  void mutate(std::string& bytes) {
    const std::size_t pos = below(bytes.size() + 1);
    const std::size_t count = below(std::min<std::size_t>(bytes.size() - pos, 32) + 1);
    switch (below(8)) {
      case 0:
        bytes.insert(pos, pick(tokens_));
        break;
      case 1:
        bytes.replace(pos, count, pick(tokens_));
        break;
      case 2:
        bytes.erase(pos, count);
        break;
      case 3:
        bytes.insert(below(bytes.size() + 1), bytes.substr(pos, count));
        break;
      case 4:
        bytes.resize(pos);
        break;
      case 5:
        bytes = bytes.substr(0, pos) + pick(seeds_);
        break;
      case 6:
        bytes.insert(pos, random_bytes());
        break;
      default:
        if (pos < bytes.size())
          bytes[pos] = static_cast<char>(below(2) == 0 ? bytes[pos] ^ (1 << below(8)) : random());
    }
  }

  std::vector<std::string> seeds_;
  std::vector<std::string> tokens_;
  std::uint64_t seed_;
  std::uint64_t state_ = 0;
};

void run_one(const std::string& input) {
  // An exact copy on the heap, so that a sanitizer sees each read past the end.
  const auto exact = std::make_unique_for_overwrite<std::uint8_t[]>(input.size());
  if (!input.empty()) std::memcpy(exact.get(), input.data(), input.size());
  LLVMFuzzerTestOneInput(exact.get(), input.size());
}

void run_many(std::uint64_t num_runs, std::uint64_t seed, double max_seconds) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Mutator mutator(seed);
  current_name = "seed " + std::to_string(seed);
  std::uint64_t run = 0;
  for (; run < num_runs && seconds() < max_seconds; ++run) {
    current_run = run;
    current_input = mutator.input(run);
    run_one(current_input);
  }
  std::printf("%llu inputs, seed %llu, %.1f s, no fault\n", static_cast<unsigned long long>(run),
              static_cast<unsigned long long>(seed), seconds());
}

void write_corpus(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string& seed : seed_inputs()) {
    std::ofstream(folder / ("seed-" + std::to_string(number++)), std::ios::binary) << seed;
  }
}

void run_files(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    current_name = path;
    ++current_run;
    current_input.assign(std::istreambuf_iterator<char>(file), {});
    run_one(current_input);
  }
}

int run_program(const std::vector<std::string>& arguments) {
  std::uint64_t num_runs = 0;
  std::uint64_t seed = 1;
  double max_seconds = std::numeric_limits<double>::infinity();
  std::vector<std::string> files;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool has_value = i + 1 < arguments.size();
    if (has_value && arguments[i] == "--runs") {
      num_runs = std::stoull(arguments[++i]);
    } else if (has_value && arguments[i] == "--seed") {
      seed = std::stoull(arguments[++i]);
    } else if (has_value && arguments[i] == "--seconds") {
      max_seconds = std::stod(arguments[++i]);
    } else if (has_value && arguments[i] == "--write-corpus") {
      write_corpus(arguments[++i]);
    } else {
      files.push_back(arguments[i]);
    }
  }
  set_limits();
  run_files(files);
  if (num_runs > 0) run_many(num_runs, seed, max_seconds);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace culmen::fuzz

int main(int argc, char** argv) {
  if (__sanitizer_set_death_callback != nullptr)
    __sanitizer_set_death_callback(culmen::fuzz::print_current_input);
  try {
    return culmen::fuzz::run_program(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    culmen::fuzz::print_current_input();
    return EXIT_FAILURE;
  }
}
