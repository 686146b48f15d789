#include "query/turns.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace culmen {
namespace {

constexpr int kRounds = 4;  // of all works, then of those that are not sure yet
constexpr int kMostRounds = 80;
constexpr std::size_t kFewestRuns = 32;
// The next tenth of the runs, or where few are free as many more, have to agree.
constexpr double kSpread = 1.15;
double agreeing(double quick) {
  return quick + std::min(0.1, quick);
}

}  // namespace

UndisturbedTime undisturbed(std::vector<double> runs_ns, double quick) {
  if (runs_ns.empty()) return {};
  std::sort(runs_ns.begin(), runs_ns.end());
  const auto at = [&](double share) {
    return runs_ns[static_cast<std::size_t>(share * static_cast<double>(runs_ns.size() - 1))];
  };
  return {at(quick), runs_ns.size() >= kFewestRuns && at(agreeing(quick)) <= kSpread * at(quick)};
}

double elapsed_ns(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  work();
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

std::size_t Turns::add(std::function<void()> work, Shape shape) {
  tasks_.push_back({std::move(work), shape, {}});
  return tasks_.size() - 1;
}

bool Turns::run() {
  for (int round = 0; round < kMostRounds; ++round) {
    bool all_are_sure = true;
    for (Task& task : tasks_)
      if (round < kRounds || !time(task).is_sure) {
        take_turn(task);
        all_are_sure = false;
      }
    if (all_are_sure) return true;
  }
  return false;
}

void Turns::take_turn(Task& task) const {
  for (int i = 0; i < task.shape.warm_ups; ++i) task.work();
  for (int i = 0; i < task.shape.runs; ++i) task.runs_ns.push_back(stopwatch_(task.work));
}

}  // namespace culmen
