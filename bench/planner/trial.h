// One question, asked of every engine: what was predicted, and how long it took.
#pragma once

#include <array>

#include "bench/planner/draw.h"
#include "culmen/index.h"

namespace culmen::bench {

// scan and gta use all threads, bounded one; automatic follows the planner.
inline constexpr std::array kTimedEngines = {Engine::bounded, Engine::scan, Engine::gta, Engine::automatic};

struct Trial {
  TableCase table;
  Question question;
  std::array<double, kTimedEngines.size()> measured_us{};
  std::array<double, kTimedEngines.size()> predicted_us{};  // of automatic: of the engine that explain names
  Engine explained = Engine::automatic;                     // the engine that explain names
  std::array<SearchStats, kTimedEngines.size()> stats;
  std::size_t num_hits = 0;
  bool is_right = true;  // all engines gave the same answer

  const SearchStats& chosen() const { return stats.back(); }

  // Time of automatic over that of the best engine.
  double slowdown() const;
  // The same of the engine that explain names.
  double explained_slowdown() const;
};

struct Timing {
  int repeats = 9;   // runs of each engine, at least
  int percent = 50;  // which quantile of them counts
  int threads = 0;   // for scan and gta
};

// Engines take turns, a few runs each after one that does not count, so that other load on the machine affects all
// alike. Every other round is in reverse order, because a scan of a large table leaves the next engine cold caches.
Trial try_question(const Index& index, const TableCase& table, Question question, const Timing& timing);

}  // namespace culmen::bench
