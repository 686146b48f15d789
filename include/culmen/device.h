// DeviceIndex: a copy of an index on a GPU, which answers the same queries with the same rows and score bits.
//
//   culmen::DeviceIndex on_gpu = index.to_device();
//   culmen::SearchResult best = on_gpu.search({.weights = {0.5, 1.2}, .k = 10});
//
// The copy follows the index: a search that starts after a change of the index has returned sees the change.
// The first such search copies what is new, which takes a millisecond or two for a thousand rows; a writer
// who calls refresh() after each change spares the searches that work.
//
// If the weights are in device memory already, or the answers are wanted there, whole batches can be enqueued
// on a stream:
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
  automatic,  // device if it fits, else host
  device,
  managed,  // unified memory, on the card unless others need the room; refused if larger than what is free there
  host,     // pinned host memory, which the GPU reads over the bus
};

// "auto", "device", ... and back. Throws InvalidArgument listing the kinds.
[[nodiscard]] DeviceMemory parse_device_memory(std::string_view name);
[[nodiscard]] std::string_view device_memory_name(DeviceMemory memory);

struct DeviceOptions {
  int device = 0;  // as CUDA numbers them
  DeviceMemory memory = DeviceMemory::automatic;
};

// GPUs that can be used; 0 if there is none, no driver, or this culmen was built without CUDA.
[[nodiscard]] int num_devices() noexcept;

struct ContextOptions {
  // Where work is enqueued: a cudaStream_t on the index's GPU, which must be there whenever the context is used, but not
  // when it is destroyed. Null: a stream of the context's own (to use the default stream of CUDA, give
  // cudaStreamLegacy).
  CUstream_st* stream = nullptr;
  // The most device memory that the context may keep. A batch that needs more is answered in parts, one after
  // the other. Up to 256 MiB of it are for slow queries, which take longer if there is less. 0: what the largest batch of
  // up to 1,048,576 queries has needed.
  std::size_t scratch_bytes = 0;
};

// One caller's stream and scratch memory for DeviceIndex::search_async. Takes one call at a time, for any
// index on its GPU. The destructor waits for what was enqueued.
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

// Weighted sums of the attributes as they are (Scale::none), many at once. Pointers are to device memory.
struct DeviceBatch {
  const double* weights = nullptr;  // [num_queries][num_attributes], as in Query::weights
  std::size_t num_queries = 0;
  std::size_t k = 10;  // 1 .. kMaxDeviceK; the same for all queries, as the next two
  Filter where = {};
  std::optional<double> min_score = {};  // only rows with score >= min_score
};

// Where the answers go: device memory of the caller, all of which is written.
struct DeviceAnswers {
  std::int64_t* ids = nullptr;  // [num_queries][k] best first, -1 after the last hit
  double* scores = nullptr;     // [num_queries][k] in the same order, -infinity after the last hit
  // [num_queries] hits; kInvalidQuery, and no hit, where Index::search would refuse the weights: not finite,
  // all zero, or so large that a score could overflow.
  std::uint32_t* counts = nullptr;
};

// What it took to bring the copy to another version of the index. If another call did it, or there was
// nothing to do, all but version and elapsed_us are 0.
struct RefreshStats {
  std::uint64_t version = 0;  // the one that the copy has now
  std::uint64_t leaves = 0;   // copied
  std::uint64_t nodes = 0;    // copied, inner ones
  std::uint64_t bytes = 0;    // of both
  bool is_whole = false;      // nothing of the previous version could be kept
  double find_us = 0;         // finding what is new
  double copy_us = 0;         // copying it, until the device had it
  double gather_us = 0;       // the part of that until all was gathered and on its way
  double elapsed_us = 0;      // in all, with waiting for other calls that did it
};

class DeviceIndex {
 public:
  // Exact top-k on the GPU, over the index's present version. Engines: automatic, bounded, scan, gta (which
  // takes k up to 1,024). Throws as Index::search does, InvalidArgument for other engines, OutOfDeviceMemory
  // and CudaError. Cost: one kernel; 24 MB of scratch memory, more for a large k, for each search that runs
  // at the same time, which is kept for the next one. Answers with more than 1,024 rows take a few more
  // launches.
  [[nodiscard]] SearchResult search(const Query& query, const SearchOptions& options = {}) const;

  // One result per query, in order, all of one version. A warp works on each query, so thousands are answered
  // in the time of a few. A batch takes about 31 KiB of scratch memory per query for k = 16 and 52 KiB for k = 128, up to
  // 256 MiB, and some for queries and counts; it is kept for the next one.
  [[nodiscard]] std::vector<SearchResult> search(std::span<const Query> queries,
                                                 const SearchOptions& options = {}) const;

  // As Index::search_batch.
  [[nodiscard]] BatchAnswers search_batch(const QueryBatch& batch, const SearchOptions& options = {}) const;

  // Throws CudaError.
  [[nodiscard]] DeviceContext make_context(const ContextOptions& options = {}) const;

  // Enqueues a batch on the context's stream and returns: weights are read, and answers written, when the
  // stream gets there. The same rows and score bits as search, over the version of the index that is present
  // when this is called. Until the stream has passed the call, the DeviceIndex, the context and the caller's
  // memory must stay. The context holds the version until its next search or synchronize().
  // Waits only when the index has changed, as any search does, and when the scratch memory has to grow: about
  // 32 bytes per query and attribute for packed weights, 24 bytes per hit, and as much for slow queries as
  // search takes for a batch, if scratch_bytes leaves room. Throws InvalidArgument (k or
  // filter out of range, a null pointer, a context of another GPU or with too little scratch memory for one
  // query), OutOfDeviceMemory or CudaError; nothing is enqueued then, unless a CudaError comes half-way
  // through.
  void search_async(const DeviceBatch& batch, const DeviceAnswers& answers, DeviceContext& context) const;

  // Brings the copy to the index's present version now, so that the next search finds it there. Searches of
  // the previous version go on meanwhile. Work and bytes grow with the number of changed leaves; everything
  // is copied again after Index::compact, and if rows in managed or host memory have outgrown their room.
  // Throws OutOfDeviceMemory or CudaError; then every search throws too, while the copy stays as it was,
  // until one succeeds. (Only if there is no room for two copies does the new one replace the old one at
  // once, and neither is left if it fails.)
  RefreshStats refresh() const;

  [[nodiscard]] int device() const;
  [[nodiscard]] DeviceMemory memory() const;  // never automatic
  [[nodiscard]] std::size_t device_bytes() const;

 private:
  friend DeviceIndex make_device_index(std::shared_ptr<const Published> index, const DeviceOptions& options,
                                       const std::shared_ptr<const gpu::LoadedTree>& loaded);
  class Impl;
  explicit DeviceIndex(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  std::shared_ptr<const Impl> impl_;
};

}  // namespace culmen
