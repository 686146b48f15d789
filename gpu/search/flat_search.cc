#include "gpu/search/flat_search.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "gpu/search/context.h"

namespace culmen::gpu {
namespace {

// Queries and hits of a part of a batch, at most. While the host copies the answers of a part, the device works on the
// next.
constexpr std::size_t kMaxQueries = 1 << 14;
constexpr std::size_t kMaxHits = 1 << 21;

void copy_in_parallel(std::span<const std::byte> from, std::byte* to) {
  constexpr std::size_t kGrain = 256 << 10;
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, from.size(), kGrain),
                    [&](const tbb::blocked_range<std::size_t>& range) {
                      std::memcpy(to + range.begin(), from.data() + range.begin(), range.size());
                    });
}

// `width` values for each query, of which the last repeat `none`, from arrays with k for each.
template <typename T>
void copy_hits(std::span<const T> from, std::size_t k, T none, std::size_t width, std::span<T> to) {
  if (k == width) return copy_in_parallel(std::as_bytes(from), std::as_writable_bytes(to).data());
  for (std::size_t query = 0; query < to.size() / width; ++query) {
    const auto end = std::ranges::copy(from.subspan(query * k, k), to.subspan(query * width).begin()).out;
    std::fill_n(end, width - k, none);
  }
}

// The answers of a part in one piece of memory: ids, scores, counts.
struct PartArrays {
  std::int64_t* ids;
  double* scores;
  std::uint32_t* counts;

  PartArrays(std::byte* memory, std::size_t num_queries, std::size_t k)
      : ids(reinterpret_cast<std::int64_t*>(memory)),
        scores(reinterpret_cast<double*>(ids + num_queries * k)),
        counts(reinterpret_cast<std::uint32_t*>(scores + num_queries * k)) {}

  static constexpr std::size_t num_bytes(std::size_t num_queries, std::size_t k) {
    return num_queries * (k * (sizeof(std::int64_t) + sizeof(double)) + sizeof(std::uint32_t));
  }
};

}  // namespace

// A stream, its scratch memory, and room for two parts of a batch: one that the device works on, and one that the host
// copies.
class FlatSearch::Space {
 public:
  explicit Space(int device) : context_(device, {}) {}
  ~Space() { cudaStreamSynchronize(context_.stream()); }
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;

  // Enqueues a part of the batch, its weights, which live until it is collected. The part before the one before it has
  // been collected.
  void enqueue(const AsyncSearch& async, const MirrorView& view, const QueryBatch& batch,
               std::span<const double> weights, std::size_t k, double* shared_bounds);
  // Enqueues the copy of the latest part's answers, which are those of query `first` and on.
  void fetch(std::size_t first, const AnswerArrays& answers);
  // Waits for the oldest part, whose first query is `first`, and for its answers. Returns the first of its queries that was
  // refused.
  std::optional<std::size_t> collect(std::size_t first, const AnswerArrays& answers);
  std::size_t num_in_work() const { return num_enqueued_ - num_collected_; }
  // Waits for all, and releases the view.
  void finish() {
    context_.synchronize();
    num_enqueued_ = num_collected_ = 0;
  }

 private:
  struct Part {
    cuda::Buffer<double> sent, weights;         // on the host, and on the device
    cuda::Buffer<std::byte> received, answers;  // likewise
    cuda::Event end;
    std::size_t num_queries = 0, k = 0;
    bool is_direct = false;  // its hits go to the caller's arrays, which are pinned

    std::size_t num_hits() const { return num_queries * k; }
    std::size_t answer_bytes() const { return PartArrays::num_bytes(num_queries, k); }
  };

  std::array<Part, 2> parts_;
  Context context_;
  std::size_t num_enqueued_ = 0, num_collected_ = 0;  // parts
};

void FlatSearch::Space::enqueue(const AsyncSearch& async, const MirrorView& view, const QueryBatch& batch,
                                std::span<const double> weights, std::size_t k, double* shared_bounds) {
  Part& part = parts_[num_enqueued_++ % parts_.size()];
  part.num_queries = weights.size() / static_cast<std::size_t>(view.snapshot->num_attributes());
  part.k = k;
  cuda::grow(part.received, part.answer_bytes(), cuda::Memory::pinned);
  cuda::grow(part.weights, weights.size(), cuda::Memory::device);
  cuda::grow(part.answers, part.answer_bytes(), cuda::Memory::device);
  const double* from = weights.data();
  if (!cuda::is_pinned(from, weights.size_bytes())) {
    cuda::grow(part.sent, weights.size(), cuda::Memory::pinned);
    copy_in_parallel(std::as_bytes(weights), reinterpret_cast<std::byte*>(part.sent.data()));
    from = part.sent.data();
  }
  cuda::check(cudaMemcpyAsync(part.weights.data(), from, weights.size_bytes(), cudaMemcpyHostToDevice,
                              context_.stream()));
  const PartArrays found(part.answers.data(), part.num_queries, k);
  async.enqueue(view,
                {.weights = part.weights.data(),
                 .num_queries = part.num_queries,
                 .k = k,
                 .where = batch.where,
                 .min_score = batch.min_score,
                 .missing = batch.missing},
                {found.ids, found.scores, found.counts}, context_, shared_bounds);
}

void FlatSearch::Space::fetch(std::size_t first, const AnswerArrays& answers) {
  Part& part = parts_[(num_enqueued_ - 1) % parts_.size()];
  const cudaStream_t stream = context_.stream();
  const auto copy = [&](auto* to, const auto* from, std::size_t count) {
    cuda::check(cudaMemcpyAsync(to, from, count * sizeof(*to), cudaMemcpyDeviceToHost, stream));
  };
  const PartArrays found(part.answers.data(), part.num_queries, part.k);
  const PartArrays received(part.received.data(), part.num_queries, part.k);
  std::int64_t* ids = answers.ids.data() + first * part.k;
  double* scores = answers.scores.data() + first * part.k;
  part.is_direct = part.k == answers.width() && cuda::is_pinned(ids, part.num_hits() * sizeof(*ids)) &&
                   cuda::is_pinned(scores, part.num_hits() * sizeof(*scores));
  if (part.is_direct) {
    copy(ids, found.ids, part.num_hits());
    copy(scores, found.scores, part.num_hits());
    copy(received.counts, found.counts, part.num_queries);
  } else {
    copy(part.received.data(), part.answers.data(), part.answer_bytes());
  }
  part.end.record(stream);
}

std::optional<std::size_t> FlatSearch::Space::collect(std::size_t first, const AnswerArrays& answers) {
  const Part& part = parts_[num_collected_++ % parts_.size()];
  part.end.synchronize_politely();
  const std::size_t width = answers.width();
  const auto room = [&](auto array) { return array.subspan(first * width, part.num_queries * width); };
  const PartArrays found(part.received.data(), part.num_queries, part.k);
  if (!part.is_direct) {
    copy_hits<std::int64_t>({found.ids, part.num_hits()}, part.k, -1, width, room(answers.ids));
    copy_hits<double>({found.scores, part.num_hits()}, part.k, -std::numeric_limits<double>::infinity(),
                      width, room(answers.scores));
  }
  const std::span counts(found.counts, part.num_queries);
  std::ranges::copy(counts, answers.counts.begin() + static_cast<std::ptrdiff_t>(first));
  const auto refused = std::ranges::find(counts, kInvalidQuery);
  if (refused == counts.end()) return std::nullopt;
  return static_cast<std::size_t>(refused - counts.begin());
}

FlatSearch::FlatSearch(int device, const AsyncSearch& async) : device_(device), async_(async) {}
FlatSearch::~FlatSearch() = default;

std::optional<std::size_t> FlatSearch::search(const MirrorView& view, const QueryBatch& batch, std::size_t k,
                                              std::size_t first, const Answers& answers,
                                              double* shared_bounds, Watch* watch) const {
  const auto width = static_cast<std::size_t>(view.snapshot->num_attributes());
  const std::size_t num_queries = batch.weights.size() / width;
  const std::size_t at_once = std::clamp<std::size_t>(kMaxHits / k, 1, kMaxQueries);
  std::unique_ptr<Space> space = spaces_.take();
  if (space == nullptr) space = std::make_unique<Space>(device_);
  std::optional<std::size_t> refused;
  std::size_t num_collected = 0;  // queries
  std::optional<AnswerArrays> arrays;
  const auto collect = [&] {
    refused = space->collect(first + num_collected, *arrays);
    if (refused) *refused += num_collected;
    count_answered(watch, std::min(at_once, num_queries - num_collected));
    num_collected += at_once;
  };
  for (std::size_t begin = 0; begin < num_queries && !refused; begin += at_once) {
    const std::size_t count = std::min(at_once, num_queries - begin);
    look_after_a_while(watch);
    space->enqueue(async_, view, batch, batch.weights.subspan(begin * width, count * width), k,
                   shared_bounds == nullptr ? nullptr : shared_bounds + begin);
    if (!arrays) arrays = answers();
    space->fetch(first + begin, *arrays);
    if (space->num_in_work() == 2) collect();
  }
  if (space->num_in_work() > 0 && !refused) collect();
  space->finish();
  spaces_.give_back(std::move(space));
  return refused;
}

}  // namespace culmen::gpu
