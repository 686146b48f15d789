// DeviceIndex: checks arguments, and passes queries to its copy of the index.
#include "api/device_index.h"

#include "api/batch_answers.h"
#include "api/handle.h"
#include "api/index_copy.h"
#include "api/row_rank.h"

namespace culmen {
namespace {

constexpr const char* kKind = "DeviceIndex";

}  // namespace

class DeviceIndex::Impl : public IndexCopy {
 public:
  using IndexCopy::IndexCopy;

  using IndexCopy::rank_of;
  std::optional<RowRank> rank_of(const Query& query, const auto& id, const SearchOptions& options) const {
    const gpu::MirrorView view = latest();
    Watch watch(options, 1);
    return rank_of(view, query, is_id(id, *view.snapshot), watch.if_any());
  }
};

int num_devices() noexcept {
  return cuda::num_devices();
}

DeviceIndex make_device_index(std::shared_ptr<const Published> index, const DeviceOptions& options,
                              const std::shared_ptr<const gpu::LoadedTree>& loaded) {
  cuda::require_device(options.device);
  return DeviceIndex(std::make_shared<const DeviceIndex::Impl>(std::move(index), options, loaded.get()));
}

SearchResult DeviceIndex::search(const Query& query, const SearchOptions& options) const {
  check_device_search(options);
  const auto start = IndexCopy::Clock::now();
  const Impl& copy = held_by(impl_, kKind);
  Watch watch(options, 1);
  return copy.search(copy.latest(), query, {options.engine, watch.if_any()}, start);
}

std::vector<SearchResult> DeviceIndex::search(std::span<const Query> queries,
                                              const SearchOptions& options) const {
  check_device_search(options);
  const Impl& copy = held_by(impl_, kKind);
  std::vector<SearchResult> results(queries.size());
  Watch watch(options, queries.size());
  copy.search(copy.latest(), queries, {options.engine, watch.if_any()}, results);
  return results;
}

BatchAnswers DeviceIndex::search_batch(const QueryBatch& batch, const SearchOptions& options) const {
  check_device_search(options);
  const Impl& copy = held_by(impl_, kKind);
  const gpu::MirrorView view = copy.latest();
  const std::size_t num_queries = num_queries_of(batch, view.snapshot->attributes.size());
  if (num_queries == 0) return make_answers(batch, *view.snapshot);
  BatchAnswers answers;
  Watch watch(options, num_queries);
  copy.search_batch(view, batch, {options.engine, watch.if_any()}, 0, [&] {
    answers = make_answers(batch, *view.snapshot);
    return arrays_of(answers);
  });
  return answers;
}

std::uint64_t DeviceIndex::search_batch(const QueryBatch& batch, const AnswerArrays& answers,
                                        const SearchOptions& options) const {
  check_device_search(options);
  const Impl& copy = held_by(impl_, kKind);
  const gpu::MirrorView view = copy.latest();
  check_arrays(batch, view.snapshot->attributes.size(), answers);
  Watch watch(options, answers.counts.size());
  if (!answers.counts.empty())
    copy.search_batch(view, batch, {options.engine, watch.if_any()}, 0, [&] { return answers; });
  return view.snapshot->version;
}

std::uint64_t DeviceIndex::count_above(const Query& query, double score, const SearchOptions& options) const {
  check_device_search(options);
  const Impl& copy = held_by(impl_, kKind);
  Watch watch(options, 1);
  return copy.count_before(copy.latest(), query, place_above(score), watch.if_any());
}

std::optional<RowRank> DeviceIndex::rank_of(const Query& query, std::int64_t id,
                                            const SearchOptions& options) const {
  check_device_search(options);
  return held_by(impl_, kKind).rank_of(query, id, options);
}

std::optional<RowRank> DeviceIndex::rank_of(const Query& query, std::string_view text,
                                            const SearchOptions& options) const {
  check_device_search(options);
  return held_by(impl_, kKind).rank_of(query, text, options);
}

DeviceContext DeviceIndex::make_context(const ContextOptions& options) const {
  return DeviceContext(held_by(impl_, kKind).make_context(options));
}

void DeviceIndex::search_async(const DeviceBatch& batch, const DeviceAnswers& answers,
                               DeviceContext& context) const {
  held_by(impl_, kKind).search_async(batch, answers, held_by(context.context_, "DeviceContext"));
}

RefreshStats DeviceIndex::refresh() const {
  return held_by(impl_, kKind).refresh();
}

int DeviceIndex::device() const {
  return held_by(impl_, kKind).device();
}

DeviceMemory DeviceIndex::memory() const {
  return held_by(impl_, kKind).memory();
}

std::size_t DeviceIndex::device_bytes() const {
  return held_by(impl_, kKind).device_bytes();
}

unsigned DeviceIndex::num_resident_multiprocessors() const {
  return held_by(impl_, kKind).num_resident_multiprocessors();
}

DeviceContext::DeviceContext(std::unique_ptr<gpu::Context> context) : context_(std::move(context)) {}
DeviceContext::DeviceContext(DeviceContext&& other) noexcept = default;
DeviceContext& DeviceContext::operator=(DeviceContext&& other) noexcept = default;
DeviceContext::~DeviceContext() = default;

void DeviceContext::synchronize() const {
  held_by(context_, "DeviceContext").synchronize();
}

CUstream_st* DeviceContext::stream() const {
  return held_by(context_, "DeviceContext").stream();
}

}  // namespace culmen
