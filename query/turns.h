// Times short pieces of work on a machine that may have other things to do.
//
// A run of some hundred microseconds is far shorter than the time for which a scheduler gives a processor
// away: most runs are not interrupted whatever else is running, so the quick ones are those of an idle
// machine. Works take turns, so that a busy second falls on all of them alike.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace culmen {

// What runs take that nothing disturbs.
struct UndisturbedTime {
  double ns = 0;
  bool is_sure = false;  // enough runs agree on it
};
// `quick`: the quantile that is taken for them, kAlone for the work of one thread. That is not the quickest
// run: processors are a third slower for seconds on end while others share their cores, and the usual speed
// is asked for. Beside a busy loop on each processor, nine short runs of ten are not interrupted. But all
// threads of a work are free at the same time in few: kTogether.
inline constexpr double kAlone = 0.25, kTogether = 0.1;
UndisturbedTime undisturbed(std::vector<double> runs_ns, double quick = kAlone);

double elapsed_ns(const std::function<void()>& work);

class Turns {
 public:
  // `stopwatch` says what one run of a work took.
  using Stopwatch = std::function<double(const std::function<void()>& work)>;
  explicit Turns(Stopwatch stopwatch = elapsed_ns) : stopwatch_(std::move(stopwatch)) {}

  struct Shape {
    int warm_ups = 1;  // runs of a turn that do not count, for what other works have thrown out of caches
    int runs = 8;      // that do
    double quick = kAlone;
  };

  // Its number. What `work` refers to must stay until run() returns.
  std::size_t add(std::function<void()> work, Shape shape);
  std::size_t add(std::function<void()> work) { return add(std::move(work), Shape{}); }

  // A few rounds of turns, and more, up to a limit, for works whose time is not sure. Whether all are.
  bool run();
  double ns(std::size_t work) const { return time(tasks_[work]).ns; }

 private:
  struct Task {
    std::function<void()> work;
    Shape shape;
    std::vector<double> runs_ns;
  };
  void take_turn(Task& task) const;
  static UndisturbedTime time(const Task& task) { return undisturbed(task.runs_ns, task.shape.quick); }

  Stopwatch stopwatch_;
  std::vector<Task> tasks_;
};

}  // namespace culmen
