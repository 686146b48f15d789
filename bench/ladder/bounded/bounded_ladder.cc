// The ladder of the engine bounded: its versions side by side on the same questions in one run, with the gain of each.
//
//   bounded_ladder [--rows=N] [--dims=D] [--kind=independent|anticorrelated|...] [--repeats=R]
//
//   rung 0   not yet the engine: one kernel per step, the host in between, sorts by CUB
//   rung 1   one cooperative launch; the k-th score bound of its sample by bins of binary64 scores
//   rung 2   the k-th score bound by 32-bit keys
//   rung 3   the best of a warp by one instruction, answers ranked by counting, one fence, whole words
//   rung 4   the k-th score bound is a score and an id; blocks keep what they find to themselves
//   engine   neighbouring nodes in different blocks, nodes opened at the barrier, small parameters, and everything
//            newer in gpu/search/bounded.cu
//
// Rungs 1 to 4 are today's kernel with the steps of an earlier commit (one_launch.cuh; each rung's file names the
// commit), not all of that commit: what they include from gpu/search is as fast as today, so a gain is that of the
// steps alone.
//
// Questions: equal weights and 50 random ones. A question's time is the median of R calls, after the one whose answer
// is compared with the CPU's; a rung's line has the median and the worst over the questions. The clock runs from the
// weights to the hits in host memory, the L2 cache may be warm, and all rungs take turns at each question. `no room`:
// more candidates than the list holds, and no answer, as on tables in which very many rows tie. A rung that hangs ends
// the program after 2 seconds.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/flags.h"
#include "bench/gpu/card.h"
#include "bench/gpu/questions.h"
#include "bench/gpu/tables.h"
#include "bench/ladder/bounded/asker.h"
#include "bench/run_main.h"
#include "bench/timing.h"

namespace culmen::bench {
namespace {

constexpr std::size_t kKs[] = {16, 256};

struct Settings {
  std::uint64_t rows = 16'000'000;
  int dims = 8;
  std::string kind = "anticorrelated";
  int repeats = 11;
};

struct Rung {
  const char* name;
  gpu::ladder::Launch launch;
  std::vector<double> us[std::size(kKs)] = {};  // of each question, for each k
  int wrong = 0, no_room = 0;                   // answers
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!take_flag(argument, "--rows=", settings.rows) && !take_flag(argument, "--dims=", settings.dims) &&
        !take_flag(argument, "--kind=", settings.kind) &&
        !take_flag(argument, "--repeats=", settings.repeats))
      throw InvalidArgument("unknown argument " + std::string(argument) +
                            "; see the top of bench/ladder/bounded/bounded_ladder.cc");
  }
  if (settings.rows < 1 || settings.dims < 2 || settings.repeats < 1)
    throw InvalidArgument("--rows is at least 1, --dims 2, --repeats 1");
  return settings;
}

std::vector<Rung> make_rungs() {
  namespace ladder = gpu::ladder;
  return {{"0 rounds by the host, CUB", ladder::make_rung_0()},
          {"1 one launch", ladder::launch_rung_1},
          {"2 k-th score bound by 32-bit keys", ladder::launch_rung_2},
          {"3 argmax, ranks, one fence", ladder::launch_rung_3},
          {"4 k-th score bound with an id, own lists", ladder::launch_rung_4},
          {"engine", [](const gpu::MirrorRef& mirror, const gpu::SearchStateRef& state,
                        const gpu::QueryArgument& query, const gpu::GridPlan& plan, cudaStream_t stream) {
             gpu::launch_bounded<float>(mirror, state, query, plan, gpu::QueryKind::plain, stream);
           }}};
}

std::vector<Weights> make_questions(int dims) {
  const std::vector<Family> families = make_families(dims);
  std::vector<Weights> questions = find_family(families, "random").questions;
  questions.push_back(find_family(families, "Q0-Q4").questions.front());
  return questions;
}

void ask_all(const Index& index, Asker& asker, const Weights& weights, int repeats,
             std::vector<Rung>& rungs) {
  for (std::size_t i = 0; i < std::size(kKs); ++i) {
    const Query query = {.weights = weights, .k = kKs[i]};
    const std::vector<Hit> right = index.search(query).hits;
    for (Rung& rung : rungs) {
      const auto ask = [&] { return asker.ask(query, rung.launch); };
      const std::optional<std::vector<Hit>> answer = ask();
      if (!answer.has_value()) ++rung.no_room;
      if (answer.value_or(right) != right) ++rung.wrong;
      rung.us[i].push_back(median(times_us(repeats, ask)));
      asker.forget();
    }
  }
}

void print(const std::vector<Rung>& rungs) {
  std::printf("%-32s", "us, median and worst");
  for (const std::size_t k : kKs) std::printf(" %7s%-4zu %8s %7s", "k = ", k, "worst", "gain");
  std::printf(" %6s %8s\n", "wrong", "no room");
  const Rung* before = nullptr;
  for (const Rung& rung : rungs) {
    std::printf("%-32s", rung.name);
    for (std::size_t i = 0; i < std::size(kKs); ++i) {
      const double us = median(rung.us[i]);
      std::printf(" %11.1f %8.1f", us, quantile(rung.us[i], 1));
      if (before == nullptr) {
        std::printf(" %7s", "");
      } else {
        std::printf(" %6.2fx", median(before->us[i]) / us);
      }
    }
    std::printf(" %6d %8d\n", rung.wrong, rung.no_room);
    before = &rung;
  }
}

int run(const Settings& settings) {
  if (num_devices() == 0) throw CudaError("no GPU");
  print_card();
  const Index index = Index::build(make_table(settings.kind, settings.rows, settings.dims).view());
  const std::vector<Weights> questions = make_questions(settings.dims);
  Asker asker(index.search({.weights = questions.front(), .k = 1}).snapshot);
  std::vector<Rung> rungs = make_rungs();
  for (const Weights& weights : questions) ask_all(index, asker, weights, settings.repeats, rungs);
  std::printf("%s, %llu x %d, %zu questions, each asked %d times\n", settings.kind.c_str(),
              static_cast<unsigned long long>(settings.rows), settings.dims, questions.size(),
              settings.repeats);
  print(rungs);
  int wrong = 0;
  for (const Rung& rung : rungs) wrong += rung.wrong;
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run_main([&] { return culmen::bench::run(culmen::bench::parse(argc, argv)); });
}
