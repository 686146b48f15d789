#include "query/rehearsal.h"

#include <algorithm>
#include <cmath>

#include "cpu/leaf_visit.h"
#include "query/forecast.h"

namespace culmen {
namespace {

constexpr std::size_t kLeaves = 512;       // that a rehearsal should read, about
constexpr std::size_t kMostLeaves = 4096;  // where one partition is longer than all others

std::size_t step_of(const Snapshot& snapshot, std::size_t wanted) {
  return std::max<std::size_t>(1, snapshot.num_leaves / wanted);
}

// The part of the play of one of `threads`, with a heap of its own.
class Part {
 public:
  Part(const Snapshot& snapshot, const ResolvedQuery& query, std::size_t k)
      : snapshot_(snapshot), query_(query), best_(k, query.min_score) {}

  template <typename T>
  void visit(std::uint32_t leaf) {
    visit_leaf<T>(snapshot_, query_, leaf, best_, stats_);
  }

  template <typename T>
  bool is_above_the_rest(std::uint32_t leaf) const {
    const double threshold =
        corner_score<T>(snapshot_, query_, leaf, Corner::later_maximum, Corner::later_minimum);
    return best_.excludes(threshold, snapshot_.leaf(leaf).later_min_id);
  }

  double leaves() const { return static_cast<double>(stats_.blocks_visited); }
  double hits() const { return static_cast<double>(best_.size()); }
  double replacements() const { return static_cast<double>(best_.num_replacements()); }
  // Rows that reached the k-th best, neither among the first k nor better.
  double in_vain() const { return static_cast<double>(stats_.candidates - best_.size()) - replacements(); }

 private:
  const Snapshot& snapshot_;
  const ResolvedQuery& query_;
  TopK best_;
  SearchStats stats_;
};

class Rehearsal {
 public:
  Rehearsal(const Snapshot& snapshot, const ResolvedQuery& query, int threads, std::size_t step)
      : query_(query),
        threads_(static_cast<std::size_t>(threads)),
        step_(step),
        k_(std::max<std::size_t>(1, (query.k + step / 2) / step)),
        parts_(threads_, Part(snapshot, query, k_)) {}

  // Calls visit(part, place) for every step-th of `count` places; threads have the places in turn, each the
  // same number in a row, until `visit` returns false.
  template <typename Visit>
  void run(std::size_t count, const Visit& visit) {
    for (std::size_t place = 0; place < count; place += step_)
      if (!visit(parts_[place * threads_ / count], place)) return;
  }

  // Puts what has happened at the heaps of all threads to `work`, as it would happen to the whole table.
  void add_entries(Work& work) const {
    const double larger = static_cast<double>(query_.k) / static_cast<double>(k_);
    double first = 0, in_vain = 0;
    work.replacements = 0;
    for (const Part& part : parts_) {
      first += part.hits() * larger;
      work.replacements += part.replacements() * larger;
      in_vain += part.in_vain() * static_cast<double>(step_);
    }
    work.hits = std::min(work.hits, first);
    work.candidates = first + work.replacements + in_vain;
  }

  double leaves() const {
    double sum = 0;
    for (const Part& part : parts_) sum += part.leaves();
    return sum;
  }

 private:
  const ResolvedQuery& query_;
  std::size_t threads_;
  std::size_t step_;
  std::size_t k_;  // of a part of the table
  std::vector<Part> parts_;
};

}  // namespace

Work rehearse_scan(const Snapshot& snapshot, const ResolvedQuery& query, double selectivity, int threads) {
  const std::vector<std::uint32_t>& leaves = snapshot.order().leaves;
  Rehearsal rehearsal(snapshot, query, threads, step_of(snapshot, kLeaves));
  visit_value_type(snapshot, [&]<typename T>(T) {
    rehearsal.run(leaves.size(), [&](Part& part, std::size_t place) {
      part.visit<T>(leaves[place]);
      return true;
    });
  });
  Work work = forecast_scan(snapshot, query, selectivity, threads);
  rehearsal.add_entries(work);
  return work;
}

Work rehearse_gta(const Snapshot& snapshot, const ResolvedQuery& query, double selectivity, int threads) {
  const TreeOrder& order = snapshot.order();
  // It leaves most partitions early.
  Rehearsal rehearsal(snapshot, query, threads, step_of(snapshot, 4 * kLeaves));
  double of_leaves = 0;
  visit_value_type(snapshot, [&]<typename T>(T) {
    rehearsal.run(order.partitions.size(), [&](Part& part, std::size_t place) {
      const PartitionRange& partition = order.partitions[place];
      of_leaves += partition.num_leaves;
      for (std::uint32_t i = 0; i < partition.num_leaves && part.leaves() < kMostLeaves; ++i) {
        const std::uint32_t leaf = order.leaves[partition.first_leaf + i];
        part.visit<T>(leaf);
        if (part.is_above_the_rest<T>(leaf)) break;
      }
      return part.leaves() < kMostLeaves;
    });
  });
  Work work = forecast_scan(snapshot, query, selectivity, threads);
  const double share = rehearsal.leaves() / std::max(of_leaves, 1.0);
  for (double Work::*part : {&Work::leaves, &Work::values, &Work::bytes, &Work::span}) work.*part *= share;
  rehearsal.add_entries(work);
  return work;
}

}  // namespace culmen
