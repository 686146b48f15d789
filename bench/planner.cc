// Is the planner's choice the best engine, and are its predictions right? Random questions over six kinds of
// tables of many sizes, each asked of every engine (bench/planner/draw.h says which).
//
//   --questions=Q  a table            (default 24; 96 tables with the default of --values)
//   --values=V     the largest table  (default 16,000,000 attribute values)
//   --repeats=R    runs of each engine for each question (default 9)
//   --percent=P    the quantile of these runs that counts (default 50, the median; 0: the best, for a machine
//                  with other load)
//   --threads=T    for scan and gta   (default: all cores)
//   --seed=S       of the questions   (default 1)
//   --csv=FILE     every question with what was predicted and measured
//
// Slowdown: the time of Engine::automatic, planning included, over that of the best of bounded, scan and gta.
// The program fails if two engines differ in an answer.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "bench/flags.h"
#include "bench/planner/trial.h"
#include "bench/timing.h"
#include "culmen/culmen.h"

namespace culmen::bench {
namespace {

struct Settings {
  std::uint64_t values = 16'000'000;
  int questions = 24;
  Timing timing;
  std::uint64_t seed = 1;
  std::string csv;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!take_flag(argument, "--questions=", settings.questions) &&
        !take_flag(argument, "--values=", settings.values) &&
        !take_flag(argument, "--repeats=", settings.timing.repeats) &&
        !take_flag(argument, "--threads=", settings.timing.threads) &&
        !take_flag(argument, "--percent=", settings.timing.percent) &&
        !take_flag(argument, "--seed=", settings.seed) && !take_flag(argument, "--csv=", settings.csv)) {
      std::cerr << "unknown argument " << argument << "; the flags stand on top of bench/planner.cc\n";
      std::exit(2);
    }
  }
  return settings;
}

std::vector<std::vector<double>> sample_rows(const Table& table, std::mt19937_64& random) {
  constexpr std::size_t kRows = 256;
  std::vector<std::vector<double>> sample(kRows);
  for (std::vector<double>& row : sample) {
    const std::size_t r = random() % table.num_rows;
    for (const Table::Values& column : table.storage) row.push_back(std::get<Array<float>>(column)[r]);
  }
  return sample;
}

std::vector<Trial> run_table(const Settings& settings, const TableCase& table, std::mt19937_64& random) {
  const Table data = generate_table({.kind = parse_table_kind(table.kind),
                                     .num_rows = table.rows,
                                     .num_attributes = table.dims,
                                     .num_threads = settings.timing.threads});
  const std::vector<std::vector<double>> sample = sample_rows(data, random);
  const Index index = Index::build(data.view(), {.num_threads = settings.timing.threads});
  std::vector<Trial> trials;
  for (int q = 0; q < settings.questions; ++q)
    trials.push_back(try_question(index, table, draw_question(random, table, sample), settings.timing));
  return trials;
}

void write_header(std::ofstream& out) {
  out << "kind,rows,dims,used,negative,ranges,k,hits,engine,explained,scan_fallback";
  for (const Engine engine : kTimedEngines)
    for (const char* what : {"us", "predicted_us", "leaves", "nodes", "tied", "candidates", "replacements"})
      out << ',' << engine_name(engine) << '_' << what;
  out << '\n';
}

void write_csv(const std::vector<Trial>& trials, const std::string& path) {
  std::ofstream out(path);
  write_header(out);
  for (const Trial& trial : trials) {
    out << trial.table.kind << ',' << trial.table.rows << ',' << trial.table.dims << ','
        << trial.question.num_used << ',' << trial.question.num_negative << ','
        << trial.question.query.where.num_conditions() << ',' << *trial.question.query.k << ','
        << trial.num_hits << ',' << engine_name(trial.chosen().engine) << ',' << engine_name(trial.explained)
        << ',' << trial.chosen().scan_fallback;
    for (std::size_t e = 0; e < kTimedEngines.size(); ++e) {
      const SearchStats& stats = trial.stats[e];
      out << ',' << trial.measured_us[e] << ',' << trial.predicted_us[e] << ',' << stats.leaves_visited << ','
          << stats.nodes_visited << ',' << stats.leaves_tied_out << ',' << stats.candidates << ','
          << stats.replacements;
    }
    out << '\n';
  }
}

using Slowdown = std::function<double(const Trial&)>;

void print_choice(const char* name, const std::vector<Trial>& trials, const Slowdown& slowdown) {
  std::vector<double> all;
  for (const Trial& trial : trials) all.push_back(slowdown(trial));
  const auto within = [&](double limit) {
    const auto good = std::count_if(all.begin(), all.end(), [&](double s) { return s <= limit; });
    return 100.0 * static_cast<double>(good) / static_cast<double>(all.size());
  };
  std::printf("%-30s %8.1f %% %8.1f %% %8.2f %8.2f %8.2f\n", name, within(1.25), within(2),
              quantile(all, 0.5), quantile(all, 0.99), quantile(all, 1));
}

void print_choices(const std::vector<Trial>& trials) {
  std::printf("\n%-30s %10s %10s %8s %8s %8s\n", "time over the best engine's", "<= 1.25", "<= 2", "median",
              "99 %", "worst");
  print_choice("automatic", trials, [](const Trial& trial) { return trial.slowdown(); });
  print_choice("the engine that explain names", trials,
               [](const Trial& trial) { return trial.explained_slowdown(); });
  for (std::size_t e = 0; e + 1 < kTimedEngines.size(); ++e)
    print_choice(("always " + std::string(engine_name(kTimedEngines[e]))).c_str(), trials,
                 [e](const Trial& trial) {
                   return trial.measured_us[e] /
                          *std::min_element(trial.measured_us.begin(), trial.measured_us.end() - 1);
                 });
}

void print_predictions(const std::vector<Trial>& trials) {
  std::printf("\n%-30s %10s %10s %8s %8s %8s\n", "predicted over measured", "+-30 %", "<= 2 x", "10 %",
              "median", "90 %");
  for (std::size_t e = 0; e < kTimedEngines.size(); ++e) {
    std::vector<double> ratios;
    for (const Trial& trial : trials)
      if (trial.predicted_us[e] > 0) ratios.push_back(trial.predicted_us[e] / trial.measured_us[e]);
    if (ratios.empty()) continue;  // gta is not predicted
    const auto within = [&](double least, double most) {
      const auto good =
          std::count_if(ratios.begin(), ratios.end(), [&](double r) { return r >= least && r <= most; });
      return 100.0 * static_cast<double>(good) / static_cast<double>(ratios.size());
    };
    std::printf("%-30s %8.1f %% %8.1f %% %8.2f %8.2f %8.2f\n",
                std::string(engine_name(kTimedEngines[e])).c_str(), within(0.7, 1.3), within(0.5, 2),
                quantile(ratios, 0.1), quantile(ratios, 0.5), quantile(ratios, 0.9));
  }
}

// The overhead of Engine::automatic where it does the same as bounded.
void print_overhead(const std::vector<Trial>& trials) {
  constexpr double kEasyUs = 100;
  std::vector<double> ratios;
  for (const Trial& trial : trials)
    if (trial.measured_us.front() < kEasyUs && trial.chosen().engine == Engine::bounded)
      ratios.push_back(trial.measured_us.back() / trial.measured_us.front());
  if (ratios.empty()) return;
  std::printf(
      "\nautomatic over bounded where bounded takes less than %.0f us: median %.3f, 90 %% %.3f (%zu "
      "questions)\n",
      kEasyUs, quantile(ratios, 0.5), quantile(ratios, 0.9), ratios.size());
}

void print_worst(std::vector<Trial> trials) {
  constexpr std::size_t kShown = 12;
  std::sort(trials.begin(), trials.end(),
            [](const Trial& a, const Trial& b) { return a.slowdown() > b.slowdown(); });
  trials.resize(std::min(kShown, trials.size()));
  std::printf("\nworst choices (us measured, predicted in brackets)\n");
  for (const Trial& trial : trials) {
    std::printf("%5.2f x  %s %llu x %d, %d used, %d negative, %zu ranges, k %zu, %s%s:", trial.slowdown(),
                trial.table.kind.c_str(), static_cast<unsigned long long>(trial.table.rows), trial.table.dims,
                trial.question.num_used, trial.question.num_negative,
                trial.question.query.where.num_conditions(), *trial.question.query.k,
                std::string(engine_name(trial.chosen().engine)).c_str(),
                trial.chosen().scan_fallback ? " after bounded" : "");
    for (std::size_t e = 0; e < kTimedEngines.size(); ++e)
      std::printf(" %s %.0f (%.0f)", std::string(engine_name(kTimedEngines[e])).c_str(), trial.measured_us[e],
                  trial.predicted_us[e]);
    std::printf("\n");
  }
}

int run(const Settings& settings) {
  std::mt19937_64 random(settings.seed);
  std::vector<Trial> trials;
  const std::vector<TableCase> tables = table_cases(settings.values);
  for (std::size_t t = 0; t < tables.size(); ++t) {
    std::fprintf(stderr, "\r%zu of %zu tables", t + 1, tables.size());
    for (Trial& trial : run_table(settings, tables[t], random)) trials.push_back(std::move(trial));
  }
  std::fprintf(stderr, "\n");
  if (!settings.csv.empty()) write_csv(trials, settings.csv);
  std::printf("\n%zu questions\n", trials.size());
  print_choices(trials);
  print_predictions(trials);
  print_overhead(trials);
  print_worst(trials);
  const auto wrong = std::count_if(trials.begin(), trials.end(), [](const Trial& t) { return !t.is_right; });
  if (wrong > 0) std::printf("\n%td QUESTIONS WITH DIFFERENT ANSWERS\n", wrong);
  return wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace culmen::bench

int main(int argc, char** argv) {
  return culmen::bench::run(culmen::bench::parse(argc, argv));
}
