// DeviceGroup: copies of an index on several GPUs, which answer together.
//
//   culmen::DeviceGroup on_gpus = index.to_devices({0, 1});
//   std::vector<culmen::SearchResult> best = on_gpus.search(queries);
//
// With DeviceLayout::replicate each GPU has a copy of the index. The queries of a batch are divided among the GPUs by the speed that each has shown;
// a single query is answered by the GPU that has the least to do. All answers of a call are of one version of the
// index, which the copies follow as a DeviceIndex does. Rows and score bits are those of Index::search.
//
// A GPU that fails, or has no room, is set aside: the call throws a CudaError or OutOfDeviceMemory whose device()
// names it, and later calls are answered by the others. refresh() brings it back. If all have failed, all are tried
// again.
//
// With DeviceLayout::shard each GPU has a part of the index, for an index that one GPU has no room for, or for single
// queries that should take less time than on one. All GPUs answer every query, and the answers are merged; so if one
// fails, the call throws, and so does the next unless that GPU works again.
//
// Thread safety: all methods may be called from any number of threads at once. Each GPU has one host thread, which
// works on one batch after the other. A DeviceGroup is a handle; copying it is cheap and shares the copies on the GPUs.
// Calls on a DeviceGroup that has been moved from throw InvalidArgument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "culmen/device.h"
#include "culmen/query.h"
#include "culmen/resources.h"
#include "culmen/search.h"

namespace culmen {

// What the GPUs of a group hold.
enum class DeviceLayout : std::uint8_t {
  replicate,  // each a copy of the index
  shard,      // each a part of it, of about the same size
};

// "replicate", "shard" and back. Throws InvalidArgument listing the layouts.
[[nodiscard]] DeviceLayout parse_device_layout(std::string_view name);
[[nodiscard]] std::string_view device_layout_name(DeviceLayout layout);

struct DeviceGroupOptions {
  DeviceMemory memory = DeviceMemory::automatic;  // of each copy, or of each part
  DeviceLayout layout = DeviceLayout::replicate;
  bool resident =
      false;  // as in DeviceOptions, of each GPU. A GPU that is named twice serves one part at a time.
};

// A GPU of a group.
struct DeviceMember {
  int device = 0;                              // its CUDA number
  DeviceMemory memory = DeviceMemory::device;  // never automatic
  std::size_t device_bytes = 0;
  double share = 0;       // of a large batch, as it would be divided now; of shards: of the index, about
  bool is_usable = true;  // false: set aside, since it has failed
};

struct GroupContextOptions {
  int device = kNoDevice;  // the home: where weights and answers are; kNoDevice: the first GPU of the group
  CUstream_st* stream = nullptr;  // on the home; as in ContextOptions
  std::size_t scratch_bytes = 0;  // of each GPU, and for answers of parts; as in ContextOptions
};

// One caller's stream, and what each GPU needs, for DeviceGroup::search_async. It serves one call at a time. The
// destructor waits for what was enqueued.
class GroupContext {
 public:
  GroupContext(GroupContext&& other) noexcept;
  GroupContext& operator=(GroupContext&& other) noexcept;
  ~GroupContext();

  // As DeviceContext::synchronize.
  void synchronize() const;
  [[nodiscard]] CUstream_st* stream() const;
  [[nodiscard]] int device() const;  // the home

 private:
  friend class DeviceGroup;
  class Impl;
  explicit GroupContext(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

class DeviceGroup {
 public:
  // As the methods of DeviceIndex with the same names. Batches of fewer than 256 queries are not divided.
  [[nodiscard]] SearchResult search(const Query& query, const SearchOptions& options = {}) const;
  [[nodiscard]] std::vector<SearchResult> search(std::span<const Query> queries,
                                                 const SearchOptions& options = {}) const;
  [[nodiscard]] BatchAnswers search_batch(const QueryBatch& batch, const SearchOptions& options = {}) const;
  std::uint64_t search_batch(const QueryBatch& batch, const AnswerArrays& answers,
                             const SearchOptions& options = {}) const;

  [[nodiscard]] std::uint64_t count_above(const Query& query, double score,
                                          const SearchOptions& options = {}) const;
  [[nodiscard]] std::optional<RowRank> rank_of(const Query& query, std::int64_t id,
                                               const SearchOptions& options = {}) const;
  [[nodiscard]] std::optional<RowRank> rank_of(const Query& query, std::string_view text,
                                               const SearchOptions& options = {}) const;

  // Throws OutOfDeviceMemory or CudaError.
  [[nodiscard]] GroupContext make_context(const GroupContextOptions& options = {}) const;

  // As DeviceIndex::search_async, with weights and answers in the memory of the context's home. Other GPUs get their
  // share of the weights, or all if they have parts of the index, by copies from there, and the home gets their answers:
  // directly if there is a path between the two, else through the host. It merges those of parts, for which it needs
  // room for as many answers as there are parts, 1 GiB at most: larger batches are answered in several runs. If the call
  // throws, what it had enqueued on some GPUs still ends before the stream goes on, and some of the answers may have
  // been written.
  void search_async(const DeviceBatch& batch, const DeviceAnswers& answers, GroupContext& context) const;

  // Brings all copies to the index's current version now, also those that were set aside. One result for each GPU, in
  // the order of to_devices(). Throws as DeviceIndex::refresh, after all GPUs have tried.
  std::vector<RefreshStats> refresh() const;

  // In the order of to_devices().
  [[nodiscard]] std::vector<DeviceMember> members() const;
  [[nodiscard]] std::vector<int> devices() const;

 private:
  friend DeviceGroup make_device_group(std::shared_ptr<const Published> index,
                                       std::span<const DeviceOptions> devices,
                                       std::span<const std::shared_ptr<const gpu::LoadedTree>> loaded,
                                       DeviceLayout layout);
  class Impl;
  explicit DeviceGroup(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  std::shared_ptr<Impl> impl_;
};

}  // namespace culmen
