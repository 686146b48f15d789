// k-selection on the GPU (query/select/select.h): every method over k, beside one read of the input and
// cub::DeviceTopK. torch.topk beside it: bench/torch_topk.py --keys N.
//
//   gpu_select [--rows=268435456] [--inputs=uniform,ascending,descending,equal,digits]
//              [--ks=1,16,64,256,1024,4096,16384,65536,1048576] [--methods=sample,radix11,...] [--repeats=7]
//
// float32 keys whose ids are their places. Microseconds on the card (CUDA events), the median and the spread
// from the fastest to the slowest run, and the median as a multiple of one read of the keys. Every answer is
// compared with that of `sort`, by hash; the last line says how many differ.
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/flags.h"
#include "bench/gpu/card.h"
#include "bench/gpu/cub_top_k.h"
#include "bench/gpu/select_inputs.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "culmen/error.h"
#include "query/select/select.h"

namespace culmen::bench {
namespace {

using select::Method;

struct Options {
  std::uint32_t rows = 1u << 28;
  std::vector<std::string> inputs{std::begin(kInputNames), std::end(kInputNames)};
  std::vector<std::uint32_t> ks{1, 16, 64, 256, 1024, 4096, 16384, 65536, 1u << 20};
  std::vector<std::string> methods{"sample", "radix8", "radix11", "bucket", "bitonic", "heaps", "sort"};
  int repeats = 7;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int a = 1; a < argc; ++a) {
    const std::string_view argument = argv[a];
    if (take_flag(argument, "--rows=", options.rows) || take_flag(argument, "--inputs=", options.inputs) ||
        take_flag(argument, "--ks=", options.ks) || take_flag(argument, "--methods=", options.methods) ||
        take_flag(argument, "--repeats=", options.repeats))
      continue;
    throw InvalidArgument("unknown argument " + std::string(argument) +
                          "; see the top of bench/gpu_select.cc");
  }
  return options;
}

// Microseconds on the card of each of `repeats` calls, after some that do not count: for a few milliseconds a
// card that has just done something else has other clocks.
template <typename Call>
std::vector<double> card_times_us(int repeats, cudaStream_t stream, const Call& call) {
  cudaEvent_t start = nullptr, end = nullptr;
  cuda::check(cudaEventCreate(&start));
  cuda::check(cudaEventCreate(&end));
  std::vector<double> times;
  double warm_us = 30'000;
  while (times.size() < static_cast<std::size_t>(repeats)) {
    cuda::check(cudaEventRecord(start, stream));
    call();
    cuda::check(cudaEventRecord(end, stream));
    cuda::check(cudaEventSynchronize(end));
    float milliseconds = 0;
    cuda::check(cudaEventElapsedTime(&milliseconds, start, end));
    if (warm_us < 0) times.push_back(1000.0 * milliseconds);
    warm_us -= 1000.0 * milliseconds;
  }
  cuda::check(cudaEventDestroy(start));
  cuda::check(cudaEventDestroy(end));
  return times;
}

void print_line(const std::string& what, std::uint32_t k, const std::vector<double>& times, double read_us) {
  std::printf("%-10s k %8u  %10.1f us  (%.1f - %.1f)  %7.3f x reading\n", what.c_str(), k, median(times),
              quantile(times, 0), quantile(times, 1), median(times) / read_us);
  std::fflush(stdout);
}

std::uint64_t hash_of(const select::SelectedRow* rows, std::uint32_t k, const cuda::Stream& stream) {
  stream.synchronize();
  std::vector<select::SelectedRow> host(k);
  cuda::check(cudaMemcpy(host.data(), rows, k * sizeof host[0], cudaMemcpyDefault));
  std::uint64_t hash = 0;
  for (const select::SelectedRow& row : host)
    hash = (hash ^ row.key) * 0x9e3779b97f4a7c15 ^ static_cast<std::uint64_t>(row.id) ^ (hash >> 29);
  return hash;
}

Method method_of(const std::string& name) {
  for (const Method method : select::kAllMethods)
    if (select::method_name(method) == name) return method;
  throw InvalidArgument("no method " + name);
}

// A heap of more than some hundred, and more than a tile of sorted runs, take seconds.
bool is_too_slow(Method method, std::uint32_t k) {
  return (method == Method::heaps && k > 256) || (method == Method::bitonic && k > 2048);
}

// Returns how many answers differ.
int measure(const std::string& input, const Options& options) {
  const cuda::Buffer<float> keys = make_input(input, options.rows);
  cuda::Stream stream;
  ReadOnce read_once(options.rows);
  const auto read =
      card_times_us(options.repeats, stream.get(), [&] { read_once(keys.data(), stream.get()); });
  std::printf("input %s: %u keys, read once in %.1f us (%.1f - %.1f), %.0f GB/s\n", input.c_str(),
              options.rows, median(read), quantile(read, 0), quantile(read, 1),
              options.rows * 4e-3 / median(read));
  const select::KeyColumns columns = {.keys = keys.data(), .num_rows = options.rows};
  int num_wrong = 0;
  std::map<std::uint32_t, std::uint64_t> wanted;
  {
    select::Workspace workspace;
    for (const std::uint32_t k : options.ks)
      wanted[k] = hash_of(select_best(Method::sort, columns, k, workspace, stream.get()), k, stream);
  }
  for (const std::string& name : options.methods) {
    select::Workspace workspace;  // of each method its own, so that memory is not kept for the next
    for (const std::uint32_t k : options.ks) {
      const Method method = method_of(name);
      if (is_too_slow(method, k)) continue;
      const select::SelectedRow* rows = nullptr;
      const auto times = card_times_us(options.repeats, stream.get(), [&] {
        rows = select_best(method, columns, k, workspace, stream.get());
      });
      print_line(name, k, times, median(read));
      if (hash_of(rows, k, stream) == wanted[k]) continue;
      ++num_wrong;
      std::printf("%s, k = %u: another answer than sort's\n", name.c_str(), k);
    }
  }
  CubTopK cub_top_k;
  for (const std::uint32_t k : options.ks) {
    bool is_there = true;
    const auto times = card_times_us(options.repeats, stream.get(), [&] {
      is_there = cub_top_k(keys.data(), options.rows, k, stream.get());
    });
    if (is_there) print_line("cub topk", k, times, median(read));
  }
  return num_wrong;
}

int run(const Options& options) {
  print_card();
  int num_wrong = 0;
  for (const std::string& input : options.inputs) num_wrong += measure(input, options);
  std::printf("%d wrong answers\n", num_wrong);
  return num_wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::parse(argc, argv)); });
}
