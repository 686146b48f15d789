// k-selection on the GPU (select/select.h): every method over k, beside one read of the input and
// cub::DeviceTopK. torch.topk beside it: bench/torch_topk.py --keys N.
//
//   gpu_select [--rows=268435456] [--inputs=uniform,ascending,descending,equal,digits]
//              [--ks=1,16,64,256,1024,4096,16384,65536,1048576] [--methods=sample,radix11,...] [--repeats=7]
//              [--csv=FILE]
//
// float32 keys whose ids are their places. Microseconds on the card (CUDA events), the median and the spread
// from the fastest to the slowest run, and the median as a multiple of one read of the keys. Every answer is
// compared with that of `sort`, by hash; the last line says how many differ. For each input, where both ran,
// the first k from which on radix11 is faster than bitonic. --csv writes the medians as a table for
// bench/plot_select.py.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/flags.h"
#include "bench/gpu/card.h"
#include "bench/gpu/card_times.h"
#include "bench/gpu/cub_top_k.h"
#include "bench/gpu/select_inputs.h"
#include "bench/run_main.h"
#include "bench/select/select.h"
#include "bench/timing.h"
#include "culmen/error.h"

namespace culmen::bench {
namespace {

using select::Method;

struct Options {
  std::uint32_t rows = 1u << 28;
  std::vector<std::string> inputs{std::begin(kInputNames), std::end(kInputNames)};
  std::vector<std::uint32_t> ks{1, 16, 64, 256, 1024, 4096, 16384, 65536, 1u << 20};
  std::vector<std::string> methods{"sample", "radix8", "radix11", "bucket", "bitonic", "heaps", "sort"};
  int repeats = 7;
  std::string csv;
};

// Medians, of a method by k.
using Medians = std::map<std::string, std::map<std::uint32_t, double>>;

Options parse(int argc, char** argv) {
  Options options;
  for (int a = 1; a < argc; ++a) {
    const std::string_view argument = argv[a];
    if (take_flag(argument, "--rows=", options.rows) || take_flag(argument, "--inputs=", options.inputs) ||
        take_flag(argument, "--ks=", options.ks) || take_flag(argument, "--methods=", options.methods) ||
        take_flag(argument, "--repeats=", options.repeats) || take_flag(argument, "--csv=", options.csv))
      continue;
    throw InvalidArgument("unknown argument " + std::string(argument) +
                          "; see the top of bench/gpu_select.cc");
  }
  return options;
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

// A heap of more than some hundred, and runs of more than a thread block has, take seconds.
bool is_too_slow(Method method, std::uint32_t k) {
  return (method == Method::heaps && k > 256) || (method == Method::bitonic && k > 4096);
}

// One input on the card, and what was measured of it.
class Measurement {
 public:
  Measurement(const std::string& input, const Options& options)
      : input_(input), options_(options), keys_(make_input(input, options.rows)) {
    ReadOnce read_once(options.rows);
    const auto read = times([&] { read_once(keys_.data(), stream_.get()); });
    read_us_ = median(read);
    std::printf("input %s: %u keys, read once in %.1f us (%.1f - %.1f), %.0f GB/s\n", input.c_str(),
                options.rows, read_us_, quantile(read, 0), quantile(read, 1), options.rows * 4e-3 / read_us_);
    select::Workspace workspace;
    for (const std::uint32_t k : options.ks)
      wanted_[k] = hash_of(select(Method::sort, k, workspace), k, stream_);
  }

  // Returns how many answers differ.
  int measure(const std::string& name) {
    const Method method = method_of(name);
    select::Workspace workspace;  // its own, so that memory is not kept for the next
    int num_wrong = 0;
    for (const std::uint32_t k : options_.ks) {
      if (is_too_slow(method, k)) continue;
      const select::SelectedRow* rows = nullptr;
      report(name, k, times([&] { rows = select(method, k, workspace); }));
      if (hash_of(rows, k, stream_) == wanted_[k]) continue;
      ++num_wrong;
      std::printf("%s, k = %u: another answer than sort's\n", name.c_str(), k);
    }
    return num_wrong;
  }

  void measure_cub_top_k() {
    CubTopK cub_top_k;
    for (const std::uint32_t k : options_.ks) {
      bool is_there = true;
      const auto us = times([&] { is_there = cub_top_k(keys_.data(), options_.rows, k, stream_.get()); });
      if (is_there) report("cub topk", k, us);
    }
  }

  void print_crossover() const {
    const auto radix = medians_.find("radix11"), bitonic = medians_.find("bitonic");
    if (radix == medians_.end() || bitonic == medians_.end()) return;
    for (const auto& [k, us] : bitonic->second) {
      if (radix->second.at(k) >= us) continue;
      std::printf("%s: the first k at which radix11 is faster than bitonic is %u\n", input_.c_str(), k);
      return;
    }
    std::printf("%s: radix11 is nowhere faster than bitonic\n", input_.c_str());
  }

  void write(std::ostream& csv) const {
    for (const auto& [method, by_k] : medians_)
      for (const auto& [k, us] : by_k)
        csv << input_ << ',' << options_.rows << ',' << method << ',' << k << ',' << us << ',' << read_us_
            << '\n';
  }

 private:
  template <typename Call>
  std::vector<double> times(const Call& call) const {
    return card_times_us(options_.repeats, stream_.get(), call);
  }
  const select::SelectedRow* select(Method method, std::uint32_t k, select::Workspace& workspace) const {
    const select::KeyColumns columns = {.keys = keys_.data(), .num_rows = options_.rows};
    return select_best(method, columns, k, workspace, stream_.get());
  }
  void report(const std::string& name, std::uint32_t k, const std::vector<double>& us) {
    print_line(name, k, us, read_us_);
    medians_[name][k] = median(us);
  }

  std::string input_;
  const Options& options_;
  cuda::Buffer<float> keys_;
  cuda::Stream stream_;
  double read_us_ = 0;
  std::map<std::uint32_t, std::uint64_t> wanted_;  // hashes, by k
  Medians medians_;
};

int run(const Options& options) {
  print_card();
  std::ofstream csv;
  if (!options.csv.empty()) {
    csv.open(options.csv);
    if (!csv) throw InvalidArgument("cannot write " + options.csv);
    csv << "input,rows,method,k,us,read_us\n";
  }
  int num_wrong = 0;
  for (const std::string& input : options.inputs) {
    Measurement measurement(input, options);
    for (const std::string& name : options.methods) num_wrong += measurement.measure(name);
    measurement.measure_cub_top_k();
    measurement.print_crossover();
    if (csv.is_open()) measurement.write(csv);
  }
  std::printf("%d wrong answers\n", num_wrong);
  return num_wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::parse(argc, argv)); });
}
