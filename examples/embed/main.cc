// Builds an index over columns in memory and asks it two questions: the same hotels, other weights.
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "culmen/culmen.h"

namespace {

using NamedWeights = std::initializer_list<std::pair<std::string, double>>;

void ask(const culmen::Index& index, const char* who, NamedWeights weights, const char* where) {
  const culmen::SearchResult best =
      index.search({.weights = index.weights(weights), .k = 2, .where = index.filter(where)});
  std::printf("%s\n", who);
  for (std::size_t rank = 0; rank < best.hits.size(); ++rank)
    std::printf("  hotel %lld: score %g, price %g, rating %g\n", static_cast<long long>(best.hits[rank].id),
                best.hits[rank].score, best.attribute(rank, 0), best.attribute(rank, 1));
}

}  // namespace

int main() {
  const std::vector<std::int64_t> ids = {101, 102, 103, 104, 105};
  const std::vector<float> price = {60, 85, 120, 240, 45};
  const std::vector<float> rating = {7.5, 8.25, 9, 9.5, 4};

  culmen::TableView hotels;
  hotels.num_rows = ids.size();
  hotels.attributes = {{"price", culmen::Preference::low}, {"rating", culmen::Preference::high}};
  hotels.columns = {price, rating};
  hotels.ids = ids;

  try {
    const culmen::Index index = culmen::Index::build(hotels);
    ask(index, "on a budget", {{"price", -0.5}, {"rating", 4}}, "rating>=5");
    ask(index, "for a treat", {{"price", -0.0625}, {"rating", 16}}, "");
  } catch (const culmen::Error& error) {
    std::fprintf(stderr, "embed: %s\n", error.what());
    return 1;
  }
}
