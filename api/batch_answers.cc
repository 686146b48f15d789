#include "api/batch_answers.h"

#include <sys/mman.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "culmen/error.h"
#include "index/snapshot.h"

namespace culmen {
namespace {

struct NamedBytes {
  std::string_view name;
  std::span<const std::byte> bytes;
};

// One array is read or written while another is, in any order.
void require_apart(std::span<const NamedBytes> arrays) {
  const std::less<const std::byte*> is_before;
  const auto end_of = [](const NamedBytes& array) { return array.bytes.data() + array.bytes.size(); };
  for (std::size_t i = 0; i < arrays.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (arrays[i].bytes.empty() || arrays[j].bytes.empty()) continue;
      if (is_before(arrays[i].bytes.data(), end_of(arrays[j])) &&
          is_before(arrays[j].bytes.data(), end_of(arrays[i])))
        throw InvalidArgument("the arrays of " + std::string(arrays[j].name) + " and " +
                              std::string(arrays[i].name) + " overlap");
    }
}

}  // namespace

std::size_t num_queries_of(const QueryBatch& batch, std::size_t num_attributes) {
  const std::size_t d = num_attributes;
  if (batch.k == 0) throw InvalidArgument("k is 0; ask for at least one row");
  if (batch.weights.size() % d != 0)
    throw InvalidArgument(std::to_string(batch.weights.size()) + " weights are no whole number of rows of " +
                          std::to_string(d) + ", one for each attribute");
  if (!batch.weights.empty() && batch.weights.data() == nullptr)
    throw InvalidArgument("the weights are a null pointer");
  return batch.weights.size() / d;
}

Query query_of(const QueryBatch& batch, std::size_t num_attributes, std::size_t query) {
  const std::span<const double> weights = batch.weights.subspan(query * num_attributes, num_attributes);
  return {.weights = {weights.begin(), weights.end()},
          .k = batch.k,
          .where = batch.where,
          .min_score = batch.min_score,
          .scale = batch.scale,
          .missing = batch.missing,
          .terms = batch.terms};
}

std::vector<Query> queries_of(const QueryBatch& batch, std::size_t num_attributes) {
  const std::size_t num_queries = num_queries_of(batch, num_attributes);
  std::vector<Query> queries;
  queries.reserve(num_queries);
  for (std::size_t q = 0; q < num_queries; ++q) queries.push_back(query_of(batch, num_attributes, q));
  return queries;
}

namespace {

// Writing to fresh memory of several MiB takes longer by small pages than the copy of the answers.
template <typename T>
void assign_in_huge_pages(std::size_t size, T value, std::vector<T>& values) {
  constexpr std::uintptr_t kHugePage = 2 << 20;
  values.reserve(size);
  const auto address = reinterpret_cast<std::uintptr_t>(values.data());
  const std::uintptr_t begin = (address + kHugePage - 1) / kHugePage * kHugePage;
  const std::uintptr_t end = (address + size * sizeof(T)) / kHugePage * kHugePage;
  // A hint: failure only costs speed.
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  values.assign(size, value);
}

}  // namespace

BatchAnswers make_answers(const QueryBatch& batch, std::size_t num_queries, std::uint64_t num_rows,
                          std::uint64_t version) {
  BatchAnswers answers;
  answers.num_queries = num_queries;
  answers.k = std::min<std::size_t>(batch.k, num_rows);
  assign_in_huge_pages<std::int64_t>(num_queries * answers.k, -1, answers.ids);
  assign_in_huge_pages(num_queries * answers.k, -std::numeric_limits<double>::infinity(), answers.scores);
  answers.counts.assign(num_queries, 0);
  answers.version = version;
  return answers;
}

BatchAnswers make_answers(const QueryBatch& batch, const Snapshot& snapshot) {
  return make_answers(batch, num_queries_of(batch, snapshot.attributes.size()), snapshot.num_rows,
                      snapshot.version);
}

AnswerArrays arrays_of(BatchAnswers& answers) {
  return {answers.ids, answers.scores, answers.counts};
}

void check_arrays(const QueryBatch& batch, std::size_t num_attributes, const AnswerArrays& answers) {
  const std::size_t num_queries = num_queries_of(batch, num_attributes);
  const auto check = [&](std::string_view name, auto array, std::size_t width) {
    const bool fits = array.size() % width == 0 && array.size() / width == num_queries;
    if (!fits)
      throw InvalidArgument("the array of " + std::string(name) + " has " + std::to_string(array.size()) +
                            " elements; " + std::to_string(num_queries) + " queries need " +
                            std::to_string(width) + " each");
    if (num_queries > 0 && array.data() == nullptr)
      throw InvalidArgument("the array of " + std::string(name) + " is a null pointer");
  };
  check("ids", answers.ids, batch.k);
  check("scores", answers.scores, batch.k);
  check("counts", answers.counts, 1);
  const NamedBytes arrays[] = {{"weights", std::as_bytes(batch.weights)},
                               {"ids", std::as_bytes(answers.ids)},
                               {"scores", std::as_bytes(answers.scores)},
                               {"counts", std::as_bytes(answers.counts)}};
  require_apart(arrays);
}

void set_answer(std::span<const Hit> hits, std::size_t query, const AnswerArrays& answers) {
  const std::size_t width = answers.width();
  const std::span ids = answers.ids.subspan(query * width, width);
  const std::span scores = answers.scores.subspan(query * width, width);
  for (std::size_t rank = 0; rank < hits.size(); ++rank) {
    ids[rank] = hits[rank].id;
    scores[rank] = hits[rank].score;
  }
  std::ranges::fill(ids.subspan(hits.size()), -1);
  std::ranges::fill(scores.subspan(hits.size()), -std::numeric_limits<double>::infinity());
  answers.counts[query] = static_cast<std::uint32_t>(hits.size());
}

}  // namespace culmen
