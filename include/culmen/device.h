// DeviceIndex: a copy of an index on a GPU, which answers the same queries with the same rows and score bits.
//
//   culmen::DeviceIndex on_gpu = index.to_device();
//   culmen::SearchResult best = on_gpu.search({.weights = {0.5, 1.2}, .k = 10});
//
// The copy follows the index: a search that starts after a change of the index has returned sees the change.
// The first such search copies what is new, which takes a millisecond or two for a thousand rows. A writer that calls
// refresh() after each change saves searches that work.
//
// If weights or answers are in device memory, whole batches can be enqueued on a stream:
//
//   culmen::DeviceContext context = on_gpu.make_context({.stream = stream});
//   on_gpu.search_async({.weights = d_weights, .num_queries = 4096, .k = 10}, {d_ids, d_scores, d_counts},
//                       context);
//
// Thread safety: all const methods may be called from any number of threads at once; each search in flight
// has a stream and scratch memory of its own, and search_async uses those of the context that it is given. A
// DeviceIndex is a handle; copying it is cheap and shares the copy on the device. Calls on a DeviceIndex that
// has been moved from, or with such a DeviceContext, throw InvalidArgument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "culmen/query.h"
#include "culmen/search.h"

struct CUstream_st;  // a cudaStream_t is a pointer to it

namespace culmen {

class Published;  // internal

namespace gpu {
class Context;      // internal
struct LoadedTree;  // internal
}  // namespace gpu

// Where the rows are kept. Bounds are always in device memory: a search reads them first, and few rows.
enum class DeviceMemory : std::uint8_t {
  automatic,  // device if it fits, else compressed if that does, else host
  device,
  managed,  // unified memory, on the card unless others need the room; refused if larger than what is free there
  host,     // pinned host memory, which the GPU reads over the bus
  // On the card in the few bits that the values and ids of a leaf need, as in files: about a third of the bytes of prices, ratings,
  // counts or dates, hardly fewer of random numbers. Kernels decode what they score
  compressed,
};

// "auto", "device", ... and back. Throws InvalidArgument listing the kinds.
[[nodiscard]] DeviceMemory parse_device_memory(std::string_view name);
[[nodiscard]] std::string_view device_memory_name(DeviceMemory memory);

struct DeviceOptions {
  int device = 0;  // its CUDA number
  DeviceMemory memory = DeviceMemory::automatic;
  // Single searches without a filter, of up to 1,024 rows, are answered by a kernel that stays on seven eighths of the
  // GPU's multiprocessors while they come, so that they do not wait for a launch. It leaves after at most 4 ms, and the
  // next such search brings it back. Until then other kernels that need the whole GPU, batches of this index among them,
  // wait, and so do calls that free device memory. One search at a time: other threads wait for their turn.
  bool resident = false;
};

// The number of usable GPUs; 0 without a GPU or a driver, or if this culmen was built without CUDA.
[[nodiscard]] int num_devices() noexcept;

struct ContextOptions {
  // Where work is enqueued: a cudaStream_t on the index's GPU. It must exist whenever the context is used, but not when
  // the context is destroyed. Null: a stream of the context's own (for CUDA's default stream, pass cudaStreamLegacy).
  CUstream_st* stream = nullptr;
  // The limit on the device memory that the context keeps. A batch that needs more is answered in parts, one after the
  // other. Up to 512 MiB of it are for slow queries, which take longer with less. 0: as much as the largest batch of up
  // to 1,048,576 queries has needed.
  std::size_t scratch_bytes = 0;
};

// One caller's stream and scratch memory for DeviceIndex::search_async. It serves one call at a time, for any index on
// its GPU. The destructor waits for what was enqueued.
class DeviceContext {
 public:
  DeviceContext(DeviceContext&& other) noexcept;
  DeviceContext& operator=(DeviceContext&& other) noexcept;
  ~DeviceContext();

  // Waits until everything on the stream is done. Throws CudaError if any of it has failed.
  void synchronize() const;
  [[nodiscard]] CUstream_st* stream() const;

 private:
  friend class DeviceIndex;
  explicit DeviceContext(std::unique_ptr<gpu::Context> context);

  std::unique_ptr<gpu::Context> context_;
};

inline constexpr std::size_t kMaxDeviceK = 1024;            // of search_async
inline constexpr std::uint32_t kInvalidQuery = 0xffffffff;  // in DeviceAnswers::counts

// Weighted sums of the attributes as they are (Scale::none), without terms, many at once. Pointers are to device memory.
struct DeviceBatch {
  const double* weights = nullptr;  // [num_queries][num_attributes], as in Query::weights
  std::size_t num_queries = 0;
  std::size_t k = 10;  // 1 .. kMaxDeviceK; the same for all queries, like the next two
  Filter where = {};
  std::optional<double> min_score = {};  // only rows with score >= min_score
  Missing missing = Missing::skip;       // as in Query
};

// Where the answers go: the caller's device memory. Every element is written.
struct DeviceAnswers {
  std::int64_t* ids = nullptr;  // [num_queries][k] best first, -1 after the last hit
  double* scores = nullptr;     // [num_queries][k] in the same order, -infinity after the last hit
  // [num_queries] hits. kInvalidQuery, and no hits, if Index::search would refuse the weights: not finite, all zero, or
  // so large that a score could overflow.
  std::uint32_t* counts = nullptr;
};

// The cost of bringing the copy to another version of the index. If another call did it, or there was nothing to do,
// all but version and elapsed_us are 0.
struct RefreshStats {
  std::uint64_t version = 0;  // the one that the copy has now
  std::uint64_t leaves = 0;   // copied
  std::uint64_t nodes = 0;    // copied, inner ones
  std::uint64_t bytes = 0;    // of both, with their fields
  bool is_whole = false;      // nothing of the previous version could be reused
  double find_us = 0;         // finding what is new
  double copy_us = 0;         // copying it, until it was on the device
  double gather_us = 0;       // the part of copy_us until all was gathered and enqueued
  double elapsed_us = 0;      // in all, including waiting for another call that did it
};

class DeviceIndex {
 public:
  // Exact top-k on the GPU, over the index's current version. Engines: automatic, bounded, scan, gta (which
  // takes k up to 1,024, no terms, no Scale::rank, no `after` and no `per`). Throws as Index::search does, InvalidArgument for other engines, OutOfDeviceMemory
  // and CudaError. Cost: one kernel, and 24 MB of scratch memory (more for a large k) per concurrent search, which is
  // kept for the next one. Answers with more than 1,024 rows take a few more launches.
  [[nodiscard]] SearchResult search(const Query& query, const SearchOptions& options = {}) const;

  // One result per query, in order, all of one version. A warp works on each query, so thousands are answered
  // in the time of a few. A batch takes about 31 KiB of scratch memory per query for k = 16 and 76 KiB for k = 128, up
  // to 512 MiB, and some for queries and counts. The memory is kept for the next batch.
  [[nodiscard]] std::vector<SearchResult> search(std::span<const Query> queries,
                                                 const SearchOptions& options = {}) const;

  // As Index::search_batch. The GPU plans the queries, and the host only copies weights and answers, unless they are
  // scaled (Query::scale) or have terms, or k is above kMaxDeviceK. What is in pinned memory crosses the bus without a copy by the host.
  [[nodiscard]] BatchAnswers search_batch(const QueryBatch& batch, const SearchOptions& options = {}) const;
  std::uint64_t search_batch(const QueryBatch& batch, const AnswerArrays& answers,
                             const SearchOptions& options = {}) const;

  // As Index::count_above and Index::rank_of, over one version. Leaves that bounds put on one side of the place are not
  // read. rank_of finds the row on the host if the version was read from files, else by a search. Throws as search.
  [[nodiscard]] std::uint64_t count_above(const Query& query, double score,
                                          const SearchOptions& options = {}) const;
  [[nodiscard]] std::optional<RowRank> rank_of(const Query& query, std::int64_t id,
                                               const SearchOptions& options = {}) const;
  [[nodiscard]] std::optional<RowRank> rank_of(const Query& query, std::string_view text,
                                               const SearchOptions& options = {}) const;

  // Throws CudaError.
  [[nodiscard]] DeviceContext make_context(const ContextOptions& options = {}) const;

  // Enqueues a batch on the context's stream and returns; the stream reads the weights and writes the answers. The same
  // rows and score bits as search, over the version of the index that is current during the call. The DeviceIndex, the
  // context and the caller's memory must live until the stream has executed the batch. The context holds the version
  // until its next search or synchronize(). Waits only when the index has changed, as any search does, and when the
  // scratch memory has to grow: about 32 bytes per query and attribute for packed weights, 24 bytes per hit, and as
  // much for slow queries as search takes for a batch, if scratch_bytes leaves room. Throws InvalidArgument (k or
  // filter out of range, a null pointer, a context of another GPU or with too little scratch memory for one query),
  // OutOfDeviceMemory or CudaError; nothing is enqueued then, unless a CudaError occurs half-way.
  void search_async(const DeviceBatch& batch, const DeviceAnswers& answers, DeviceContext& context) const;

  // Brings the copy to the index's current version now, instead of in the next search. Searches of the previous version
  // go on meanwhile. Time and bytes grow with the number of changed leaves; everything is copied again after
  // Index::compact, and if rows in managed or host memory have outgrown their allocation. Throws OutOfDeviceMemory or
  // CudaError; the copy is then unchanged, and searches throw too until a refresh succeeds. (If there is no room for
  // two copies, the old one is freed first, and a failure leaves none.)
  RefreshStats refresh() const;

  [[nodiscard]] int device() const;
  [[nodiscard]] DeviceMemory memory() const;  // never automatic
  [[nodiscard]] std::size_t device_bytes() const;
  // That searches occupy with DeviceOptions::resident; 0 without it.
  [[nodiscard]] unsigned num_resident_multiprocessors() const;

 private:
  friend DeviceIndex make_device_index(std::shared_ptr<const Published> index, const DeviceOptions& options,
                                       const std::shared_ptr<const gpu::LoadedTree>& loaded);
  class Impl;
  explicit DeviceIndex(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  std::shared_ptr<const Impl> impl_;
};

}  // namespace culmen
