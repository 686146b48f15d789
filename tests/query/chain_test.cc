// The chain's code, which has to do without vectors and std::sort, against the same with them.
#include "query/chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "index/build/bulk_load.h"
#include "query/resolve.h"
#include "tests/cases.h"
#include "tests/generators.h"

namespace culmen::test {
namespace {

// Of the weights of one sign. weights: [num_attributes], 0 for those of the other.
void expect_chain_of_group(const std::vector<double>& weights, int g, Extreme extreme,
                           const BoundLayout& layout, std::vector<BoundTerm>& out) {
  const BoundLayout::Group group = layout.group(g);
  std::vector<int> order;
  for (int i = group.first_attribute; i < group.first_attribute + group.size; ++i)
    if (weights[static_cast<std::size_t>(i)] != 0) order.push_back(i);
  const auto weight_at = [&](std::size_t j) {
    return j < order.size() ? weights[static_cast<std::size_t>(order[j])] : 0.0;
  };
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::abs(weights[static_cast<std::size_t>(a)]) > std::abs(weights[static_cast<std::size_t>(b)]);
  });
  unsigned mask = 0;
  for (std::size_t j = 0; j < order.size(); ++j) {
    mask |= 1u << (order[j] - group.first_attribute);
    if (weight_at(j) != weight_at(j + 1))
      out.push_back({layout.subset_row(g, mask, extreme), weight_at(j) - weight_at(j + 1)});
  }
}

std::vector<BoundTerm> expected_terms(const ResolvedQuery& query, const Snapshot& s) {
  std::vector<BoundTerm> terms;
  std::vector<double> positive(s.units.size()), negative(s.units.size());
  const BoundBasis basis = {&s.layout, s.units.data(), s.stats.data(), s.exact_sums};
  for (const Term& term : query.terms) {
    const double weight = coverage(term, basis).unit_weight;
    (weight > 0 ? positive : negative)[static_cast<std::size_t>(term.attribute)] = weight;
  }
  const double smallest = *std::min_element(positive.begin(), positive.end());
  const double largest = *std::max_element(negative.begin(), negative.end());
  if (s.layout.has_total() && smallest > 0) {
    terms.push_back({s.layout.total_row(Extreme::maximum), smallest});
    for (double& weight : positive) weight -= smallest;
  }
  if (s.layout.has_total() && largest < 0) {
    terms.push_back({s.layout.total_row(Extreme::minimum), largest});
    for (double& weight : negative) weight -= largest;
  }
  for (int g = 0; g < s.layout.num_groups(); ++g) {
    expect_chain_of_group(positive, g, Extreme::maximum, s.layout, terms);
    expect_chain_of_group(negative, g, Extreme::minimum, s.layout, terms);
  }
  return terms;
}

TEST(Chain, HasTheTermsOfSortedWeights) {
  std::size_t with_total[2] = {};
  for (std::uint64_t seed = 1; seed <= num_cases(600); ++seed) {
    Random random(seed);
    const Table table = random_table(random, ValueClass::mixed, 60, random.between(1, kMaxGroupedAttributes));
    const std::shared_ptr<Snapshot> s = bulk_load(table.view(), {});
    const Oracle oracle(table.view(), false);
    for (int q = 0; q < 20; ++q) {
      Query query = random_query(random, oracle);
      for (std::size_t i = 0; q % 2 == 0 && i < query.weights.size(); ++i)  // one sign for all
        query.weights[i] = (table.attributes[i].preference == Preference::low ? -1 : 1) *
                           (q % 4 == 0 ? -1 : 1) * random.between(1, 5);
      if (oracle.refuses(query)) continue;
      const ResolvedQuery resolved = resolve(query, *s);
      const std::vector<BoundTerm> expected = expected_terms(resolved, *s);
      ASSERT_EQ(resolved.bound.terms.size(), expected.size()) << "seed " << seed << ", " << describe(query);
      for (std::size_t t = 0; t < expected.size(); ++t) {
        EXPECT_EQ(resolved.bound.terms[t].row, expected[t].row) << "seed " << seed << ", " << describe(query);
        EXPECT_EQ(resolved.bound.terms[t].coefficient, expected[t].coefficient);
        for (const Extreme extreme : {Extreme::maximum, Extreme::minimum})
          if (s->layout.has_total() && expected[t].row == s->layout.total_row(extreme))
            ++with_total[static_cast<int>(extreme)];
      }
    }
  }
  if (!ran_all_cases(600)) return;
  EXPECT_GT(with_total[0], 250u);
  EXPECT_GT(with_total[1], 250u);
}

TEST(Chain, OfAWideTableIsTheLengthWhereMoreThanAnEighthHasWeights) {
  Random random(1);
  const Table table = random_table(random, ValueClass::uniform_f32, 60, 100);
  const std::shared_ptr<Snapshot> s = bulk_load(table.view(), {});
  double unit = 0;
  for (const BoundUnit& of_attribute : s->units) unit = std::max(unit, of_attribute.unit);
  for (const std::size_t used : {1, 12, 13, 100}) {
    Query query{.weights = std::vector<double>(100), .k = 5};
    double squares = 0;
    for (std::size_t i = 0; i < used; ++i) {
      query.weights[i] = random.uniform(-2, 2);
      squares += query.weights[i] * query.weights[i];
    }
    const BoundTerms terms = resolve(query, *s).bound.terms;
    if (used < 13) {
      EXPECT_EQ(terms.size(), used);
      continue;
    }
    ASSERT_EQ(terms.size(), 1u);
    EXPECT_EQ(terms[0].row, s->layout.length_row(Extreme::maximum));
    EXPECT_GE(terms[0].coefficient, std::sqrt(squares) * unit);
    EXPECT_LE(terms[0].coefficient, std::sqrt(squares) * unit * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace culmen::test
