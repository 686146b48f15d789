// The ladder of bitonic top-k: the method step by step, on the same keys in one run.
//
//   bitonic_ladder [--rows=268435456] [--input=uniform|ascending|...] [--ks=1,16,32,64,128,256,1024]
//                  [--repeats=7]
//
// float32 keys (bench/gpu/select_inputs.h) whose ids are their places. For each rung and k the microseconds
// on the card (CUDA events), medians, then the same as multiples of one read of the keys. What each rung adds
// stands in its file. Every answer is compared with that of `sort`, row by row.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/flags.h"
#include "bench/gpu/card.h"
#include "bench/gpu/card_times.h"
#include "bench/gpu/select_inputs.h"
#include "bench/ladder/select/rungs.h"
#include "bench/run_main.h"
#include "bench/timing.h"
#include "culmen/error.h"

namespace culmen::bench {
namespace {

using select::SelectedRow;

struct Settings {
  std::uint32_t rows = 1u << 28;
  std::string input = "uniform";
  std::vector<std::uint32_t> ks{1, 16, 32, 64, 128, 256, 1024};
  int repeats = 7;
};

struct Rung {
  const char* name;
  select::ladder::Rung best;
};

constexpr Rung kRungs[] = {
    {"0 in memory", select::ladder::in_memory},
    {"1 in shared memory", select::ladder::in_shared_memory},
    {"2 merged operators", select::ladder::merged_operators},
    {"3 several steps in registers", select::ladder::several_steps},
    {"4 work before writing", select::ladder::work_before_writing},
    {"5 padding", select::ladder::padding},
    {"6 chunk permutation", select::ladder::chunk_permutation},
    {"7 reassigned partitions", select::ladder::reassigned_partitions},
    {"8 shuffles", select::ladder::shuffles},
    {"9 running best: the library's", select::ladder::running_best},
    {"10 rejection (not the paper's)", select::ladder::rejection},
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!take_flag(argument, "--rows=", settings.rows) && !take_flag(argument, "--input=", settings.input) &&
        !take_flag(argument, "--ks=", settings.ks) && !take_flag(argument, "--repeats=", settings.repeats))
      throw InvalidArgument("unknown argument " + std::string(argument) +
                            "; see the top of bench/ladder/select/bitonic_ladder.cc");
  }
  const auto [least, most] = std::minmax_element(settings.ks.begin(), settings.ks.end());
  if (settings.rows < *most || *least < 1 || *most > select::ladder::kMaxK || settings.repeats < 1)
    throw InvalidArgument("--ks are 1 to 2048, --rows no less, --repeats at least 1");
  return settings;
}

template <typename T>
std::vector<T> download(const T* values, std::size_t count, const cuda::Stream& stream) {
  std::vector<T> host(count);
  stream.synchronize();
  cuda::check(cudaMemcpy(host.data(), values, count * sizeof(T), cudaMemcpyDefault));
  return host;
}

class Ladder {
 public:
  explicit Ladder(const Settings& settings)
      : settings_(settings),
        keys_(make_input(settings.input, settings.rows)),
        columns_{.keys = keys_.data(), .num_rows = settings.rows},
        source_(std::get<select::Keys32>(select::source_of(columns_))) {
    ReadOnce read_once(settings.rows);
    read_us_ = median(
        card_times_us(settings.repeats, stream_.get(), [&] { read_once(keys_.data(), stream_.get()); }));
    select::Workspace workspace;
    for (const std::uint32_t k : settings.ks)
      wanted_.push_back(
          download(select_best(select::Method::sort, columns_, k, workspace, stream_.get()), k, stream_));
  }

  double read_us() const { return read_us_; }

  // Prints its line and returns how many answers are wrong.
  int climb(const Rung& rung) {
    select::Workspace workspace;  // its own, so that memory is not kept for the next
    int num_wrong = 0;
    std::vector<double> us;
    for (std::size_t i = 0; i < settings_.ks.size(); ++i) {
      const select::Rank64* ranks = nullptr;
      const auto ask = [&] { ranks = rung.best({source_, settings_.ks[i], workspace, stream_.get()}); };
      us.push_back(median(card_times_us(settings_.repeats, stream_.get(), ask)));
      if (!is_right(ranks, wanted_[i])) ++num_wrong;
    }
    std::printf("%-32s", rung.name);
    for (const double each : us) std::printf(" %9.1f", each);
    std::printf("\n%-32s", "");
    for (const double each : us) std::printf(" %8.2fx", each / read_us_);
    std::printf("  %d wrong\n", num_wrong);
    std::fflush(stdout);
    return num_wrong;
  }

 private:
  bool is_right(const select::Rank64* d_ranks, const std::vector<SelectedRow>& wanted) const {
    const auto ranks = download(d_ranks, wanted.size(), stream_);
    return std::equal(ranks.begin(), ranks.end(), wanted.begin(), [&](select::Rank64 rank, const auto& row) {
      SelectedRow found;
      source_.write(rank, found);
      return found.key == row.key && found.id == row.id;
    });
  }

  const Settings& settings_;
  cuda::Buffer<float> keys_;
  select::KeyColumns columns_;
  select::Keys32 source_;
  cuda::Stream stream_;
  double read_us_ = 0;
  std::vector<std::vector<SelectedRow>> wanted_;  // of each k
};

int run(const Settings& settings) {
  print_card();
  Ladder ladder(settings);
  std::printf("input %s: %u keys, read once in %.1f us; median us of %d, and that in reads\n%-32s",
              settings.input.c_str(), settings.rows, ladder.read_us(), settings.repeats, "");
  for (const std::uint32_t k : settings.ks) std::printf(" %4s%5u", "k =", k);
  std::printf("\n");
  int num_wrong = 0;
  for (const Rung& rung : kRungs) num_wrong += ladder.climb(rung);
  return num_wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::parse(argc, argv)); });
}
