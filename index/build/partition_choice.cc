#include "index/build/partition_choice.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "base/floating_point_scope.h"
#include "index/build/leaf_cut.h"
#include "index/build/partition_cuts.h"

namespace culmen {
namespace {

// Fewer leaves have too few partitions for shells; more make the choice no better.
constexpr std::uint64_t kLeastLeaves = 144, kMostLeaves = 256;
// A comparison reads each sampled row a few hundred times: small tables would take much longer to build.
constexpr std::uint64_t kRowsPerSampled = 8, kMostRows = 1 << 15;
constexpr int kManyAttributes = 16;  // beyond, as few rows as possible

// The part of a question's bound that a group of attributes has, for weights of one sign: sums over the first attributes,
// then one more and so on, each times a step (docs/how-it-works.md).
struct Chain {
  double sign;
  std::vector<int> attributes;
  std::vector<double> steps;
};

struct Question {
  std::vector<double> weights;  // of scaled attributes
  double of_total;              // of the sum of all attributes
  std::vector<Chain> chains;
  double floor = 0;  // the k-th score in the sample
};

std::vector<Chain> chains_of(const std::vector<double>& weights, double of_total, const BoundLayout& layout) {
  std::vector<Chain> chains;
  for (int g = 0; g < layout.num_groups(); ++g)
    for (const double sign : {1.0, -1.0}) {
      const BoundLayout::Group group = layout.group(g);
      std::vector<std::pair<double, int>> sized;
      for (int a = group.first_attribute; a < group.first_attribute + group.size; ++a) {
        const double size = (weights[static_cast<std::size_t>(a)] - of_total) * sign;
        if (size > 0) sized.emplace_back(-size, a);
      }
      std::sort(sized.begin(), sized.end());
      Chain chain{sign, {}, {}};
      for (std::size_t j = 0; j < sized.size(); ++j) {
        chain.attributes.push_back(sized[j].second);
        chain.steps.push_back(-sized[j].first - (j + 1 < sized.size() ? -sized[j + 1].first : 0.0));
      }
      if (!sized.empty()) chains.push_back(std::move(chain));
    }
  return chains;
}

// Questions as people ask them: all attributes with weights of both signs, all positive, and a few attributes.
class Weights {
 public:
  explicit Weights(std::size_t num_attributes) : num_attributes_(num_attributes) {}

  std::vector<double> both_signs() {
    return filled([&] { return 2 * uniform() - 1; });
  }
  std::vector<double> positive() {
    return filled([&] { return uniform(); });
  }
  std::vector<double> few() {
    constexpr std::size_t kFew = 3;
    std::vector<double> weights(num_attributes_, 0.0);
    for (std::size_t n = 0; n < kFew; ++n) weights[random_() % num_attributes_] = 2 * uniform() - 1;
    return weights;
  }

 private:
  std::vector<double> filled(const auto& weight) {
    std::vector<double> weights(num_attributes_);
    std::generate(weights.begin(), weights.end(), weight);
    return weights;
  }
  // Never 0. The distributions of the standard library differ from one to the next.
  double uniform() { return static_cast<double>((random_() >> 11) + 1) * 0x1p-53; }

  std::size_t num_attributes_;
  std::mt19937_64 random_{1};
};

std::vector<Question> make_questions(const BoundLayout& layout, const RowChunk& scaled) {
  constexpr std::size_t kOfEach = 8, kRank = 4;  // the sample's 4th row is among the best of the table
  Weights weights(scaled.num_attributes());
  std::vector<Question> questions;
  for (std::size_t n = 0; n < kOfEach; ++n) {
    questions.push_back({weights.both_signs(), 0, {}});
    questions.push_back({weights.positive(), 0, {}});
    questions.push_back({weights.few(), 0, {}});
  }
  tbb::parallel_for(std::size_t{0}, questions.size(), [&](std::size_t q) {
    const FloatingPointScope floating_point;
    Question& question = questions[q];
    std::vector<double> scores(scaled.num_rows(), 0.0);
    for (std::size_t i = 0; i < scaled.num_attributes(); ++i) {
      const std::span<const double> values = scaled.attribute(i);
      for (std::size_t r = 0; r < scores.size(); ++r) scores[r] += question.weights[i] * values[r];
    }
    const auto kth = scores.begin() + kRank - 1;
    std::nth_element(scores.begin(), kth, scores.end(), std::greater<>());
    question.floor = *kth;
    const double least = *std::min_element(question.weights.begin(), question.weights.end());
    question.of_total = layout.has_total() && least > 0 ? least : 0;
    question.chains = chains_of(question.weights, question.of_total, layout);
  });
  return questions;
}

// The sample's rows in the order of an index, and where its leaves begin.
struct SampleLeaves {
  RowChunk rows;  // scaled
  std::vector<std::size_t> firsts;
};

class Comparison {
 public:
  Comparison(const BoundLayout& layout, std::span<const AttributeStats> ranges, std::uint64_t leaf_rows,
             std::uint64_t leaves_per_partition, const RowChunk& sample)
      : ranges_(ranges),
        leaf_rows_(leaf_rows),
        num_partitions_(static_cast<std::uint32_t>(sample.num_rows() / leaf_rows / leaves_per_partition)),
        sample_(sample),
        scaled_(scaled_rows(sample, Partitioner::random(ranges, 1))),
        questions_(make_questions(layout, scaled_)) {}

  // The leaves that each question would read.
  std::vector<std::size_t> visits(const PartitionStyle& style) const {
    const SampleLeaves leaves = leaves_of(style);
    std::vector<std::size_t> visits(questions_.size());
    tbb::parallel_for(std::size_t{0}, questions_.size(), [&](std::size_t q) {
      const FloatingPointScope floating_point;
      std::vector<double> sums;
      for (std::size_t leaf = 0; leaf + 1 < leaves.firsts.size(); ++leaf)
        visits[q] += bound(questions_[q], leaves, leaf, sums) >= questions_[q].floor ? 1 : 0;
    });
    return visits;
  }

 private:
  // Not cut off at 0 and 1, because bounds are not; but so that no sum overflows.
  static RowChunk scaled_rows(const RowChunk& sample, const Partitioner& scale) {
    constexpr double kFarthest = 0x1p40;
    RowChunk scaled(sample.num_rows(), sample.num_attributes());
    for (std::size_t i = 0; i < sample.num_attributes(); ++i)
      std::transform(sample.attribute(i).begin(), sample.attribute(i).end(), scaled.attribute(i).begin(),
                     [&](double value) {
                       return std::clamp(scaled_value(value, scale.minimum()[i], scale.inverse()[i]),
                                         -kFarthest, kFarthest);
                     });
    return scaled;
  }

  SampleLeaves leaves_of(const PartitionStyle& style) const;
  double bound(const Question& question, const SampleLeaves& leaves, std::size_t leaf,
               std::vector<double>& sums) const;

  std::span<const AttributeStats> ranges_;
  std::uint64_t leaf_rows_;
  std::uint32_t num_partitions_;
  const RowChunk& sample_;
  const RowChunk scaled_;
  const std::vector<Question> questions_;
};

SampleLeaves Comparison::leaves_of(const PartitionStyle& style) const {
  const std::size_t num_rows = sample_.num_rows(), num_attributes = sample_.num_attributes();
  const std::vector<std::int32_t> splits =
      choose_splits(style.kind, static_cast<int>(num_attributes), num_partitions_, style.has_shells);
  const Partitioner partitioner =
      cut_partitions(style.kind, ranges_, splits, sample_).with_order(style.row_order);
  std::vector<OrderKey> keys(num_rows);
  partitioner.keys(sample_, 0, num_rows, keys);
  std::vector<std::size_t> order(num_rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
  SampleLeaves leaves{RowChunk(num_rows, num_attributes), {0}};
  for (std::size_t i = 0; i < num_attributes; ++i) {
    const std::span<const double> from = scaled_.attribute(i);
    std::transform(order.begin(), order.end(), leaves.rows.attribute(i).begin(),
                   [&](std::size_t row) { return from[row]; });
  }
  for (std::size_t first = 0, end = 0; first < num_rows; first = end) {
    const std::uint32_t partition = partition_of(keys[order[first]]);
    while (end < num_rows && partition_of(keys[order[end]]) == partition) ++end;
    const std::uint64_t num_leaves = num_leaves_for(end - first, leaf_rows_);
    for (std::uint64_t leaf = 1; leaf <= num_leaves; ++leaf)
      leaves.firsts.push_back(first + first_row_of_leaf(end - first, leaf, num_leaves));
  }
  return leaves;
}

// Adds the values with a sign, and returns the largest sum. In lanes, so that compilers vectorize it.
double add_to(std::vector<double>& sums, double sign, const double* values) {
  constexpr std::size_t kLanes = 8;
  double largest[kLanes];
  std::fill_n(largest, kLanes, -std::numeric_limits<double>::infinity());
  std::size_t r = 0;
  for (; r + kLanes <= sums.size(); r += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double sum = sums[r + lane] + sign * values[r + lane];
      sums[r + lane] = sum;
      largest[lane] = largest[lane] < sum ? sum : largest[lane];
    }
  for (; r < sums.size(); ++r) largest[0] = std::max(largest[0], sums[r] += sign * values[r]);
  return *std::max_element(largest, largest + kLanes);
}

// As an index would have it, but for rounding. sums: scratch.
double Comparison::bound(const Question& question, const SampleLeaves& leaves, std::size_t leaf,
                         std::vector<double>& sums) const {
  const std::size_t first = leaves.firsts[leaf], num_rows = leaves.firsts[leaf + 1] - first;
  const auto add = [&](int attribute, double sign) {
    return add_to(sums, sign, leaves.rows.attribute(static_cast<std::size_t>(attribute)).data() + first);
  };
  double result = 0;
  if (question.of_total > 0) {
    sums.assign(num_rows, 0.0);
    double largest = 0;
    for (std::size_t i = 0; i < leaves.rows.num_attributes(); ++i) largest = add(static_cast<int>(i), 1.0);
    result = question.of_total * largest;
  }
  for (const Chain& chain : question.chains) {
    sums.assign(num_rows, 0.0);
    for (std::size_t j = 0; j < chain.attributes.size(); ++j)
      result += chain.steps[j] * add(chain.attributes[j], chain.sign);
  }
  return result;
}

// The first is the usual one.
std::vector<PartitionStyle> candidates(const PartitionStyle& usual, int num_attributes) {
  std::vector<Partitioning> kinds = {usual.kind};
  if (num_attributes > kMaxGroupSize)
    kinds.push_back(usual.kind == Partitioning::kd ? Partitioning::angle : Partitioning::kd);
  std::vector<PartitionStyle> styles = {usual};
  for (const Partitioning kind : kinds)
    for (const bool has_shells : {true, false})
      for (const RowOrder order : {RowOrder::largest, RowOrder::sum})
        if (const PartitionStyle style = {kind, has_shells, order}; style != usual) styles.push_back(style);
  return styles;
}

// The mean, over questions, of the work beside the usual one.
double relative_work(const std::vector<std::size_t>& visits, const std::vector<std::size_t>& usual) {
  constexpr double kFixed = 4;  // leaves that take as long as what does not depend on partitions
  double sum = 0;
  for (std::size_t q = 0; q < visits.size(); ++q)
    sum += (static_cast<double>(visits[q]) + kFixed) / (static_cast<double>(usual[q]) + kFixed);
  return sum / static_cast<double>(visits.size());
}

}  // namespace

std::uint64_t rows_to_compare(std::uint64_t num_rows, int num_attributes, int leaf_rows) {
  if (num_attributes < 2 || num_attributes > kMaxGroupedAttributes) return 0;
  const auto of_leaf = static_cast<std::uint64_t>(leaf_rows);
  const std::uint64_t most = (num_attributes > kManyAttributes ? kLeastLeaves : kMostLeaves) * of_leaf;
  const std::uint64_t rows = std::min({num_rows / kRowsPerSampled, most, kMostRows});
  return rows < kLeastLeaves * of_leaf ? 0 : rows;
}

PartitionStyle choose_style(const BoundLayout& layout, std::span<const AttributeStats> ranges,
                            std::uint64_t leaf_rows, std::uint64_t leaves_per_partition,
                            const PartitionStyle& usual, const RowChunk& sample) {
  constexpr double kClearlyBetter = 0.9;
  const Comparison comparison(layout, ranges, leaf_rows, leaves_per_partition, sample);
  const std::vector<PartitionStyle> styles = candidates(usual, layout.num_attributes());
  std::vector<std::vector<std::size_t>> visits(styles.size());
  tbb::parallel_for(std::size_t{0}, styles.size(), [&](std::size_t s) {
    const FloatingPointScope floating_point;
    visits[s] = comparison.visits(styles[s]);
  });
  PartitionStyle best = usual;
  double least = kClearlyBetter;
  for (std::size_t s = 1; s < styles.size(); ++s) {
    const double work = relative_work(visits[s], visits[0]);
    if (work < least) {
      least = work;
      best = styles[s];
    }
  }
  return best;
}

}  // namespace culmen
