// The GPU parts of the API in a build without CUDA: there are 0 devices, and making a DeviceIndex, building on a GPU
// and measuring one throw CudaError.
#include "api/device_group.h"
#include "api/device_index.h"

#include <string>

#include "culmen/error.h"
#include "gpu/build/device_load.h"
#include "gpu/search/device_code_table.h"
#include "gpu/search/device_speed.h"

namespace culmen {

class gpu::Context {};

class DeviceIndex::Impl {};
class DeviceGroup::Impl {};
class GroupContext::Impl {};

int num_devices() noexcept {
  return 0;
}

namespace {

[[noreturn]] void throw_no_device(int device) {
  throw CudaError("there is no GPU " + std::to_string(device) +
                  ": this culmen was built without CUDA; build it where a CUDA toolkit is found");
}

}  // namespace

DeviceIndex make_device_index(std::shared_ptr<const Published> /*index*/, const DeviceOptions& options,
                              const std::shared_ptr<const gpu::LoadedTree>& /*loaded*/) {
  throw_no_device(options.device);
}

DeviceGroup make_device_group(std::shared_ptr<const Published> /*index*/,
                              std::span<const DeviceOptions> devices,
                              std::span<const std::shared_ptr<const gpu::LoadedTree>> /*loaded*/,
                              DeviceLayout /*layout*/) {
  throw_no_device(devices.front().device);
}

DeviceLoad load_on_device(const TableView& /*table*/, const BuildOptions& options,
                          const LoadLimits& /*limits*/) {
  throw_no_device(devices_that_build(options).front());
}

gpu::DeviceSpeed gpu::measure_device_speed(int device) {
  throw_no_device(device);
}

std::unique_ptr<cpu::CodeTable> gpu::make_code_table(const Snapshot& /*tree*/, int device) {
  throw_no_device(device);
}

int gpu::roomiest_device() {
  throw_no_device(0);
}

// Never called, but needed by the linker: without CUDA there is no DeviceIndex, DeviceContext or DeviceGroup.
SearchResult DeviceIndex::search(const Query& /*query*/, const SearchOptions& /*options*/) const {
  return {};
}
std::vector<SearchResult> DeviceIndex::search(std::span<const Query> /*queries*/,
                                              const SearchOptions& /*options*/) const {
  return {};
}
BatchAnswers DeviceIndex::search_batch(const QueryBatch& /*batch*/, const SearchOptions& /*options*/) const {
  return {};
}
std::uint64_t DeviceIndex::search_batch(const QueryBatch& /*batch*/, const AnswerArrays& /*answers*/,
                                        const SearchOptions& /*options*/) const {
  return 0;
}
std::uint64_t DeviceIndex::count_above(const Query& /*query*/, double /*score*/,
                                       const SearchOptions& /*options*/) const {
  return 0;
}
std::optional<RowRank> DeviceIndex::rank_of(const Query& /*query*/, std::int64_t /*id*/,
                                            const SearchOptions& /*options*/) const {
  return std::nullopt;
}
std::optional<RowRank> DeviceIndex::rank_of(const Query& /*query*/, std::string_view /*text*/,
                                            const SearchOptions& /*options*/) const {
  return std::nullopt;
}
DeviceContext DeviceIndex::make_context(const ContextOptions& /*options*/) const {
  return DeviceContext(nullptr);
}
void DeviceIndex::search_async(const DeviceBatch& /*batch*/, const DeviceAnswers& /*answers*/,
                               DeviceContext& /*context*/) const {}
RefreshStats DeviceIndex::refresh() const {
  return {};
}
int DeviceIndex::device() const {
  return -1;
}
DeviceMemory DeviceIndex::memory() const {
  return DeviceMemory::device;
}
std::size_t DeviceIndex::device_bytes() const {
  return 0;
}
unsigned DeviceIndex::num_resident_multiprocessors() const {
  return 0;
}
SearchResult DeviceGroup::search(const Query& /*query*/, const SearchOptions& /*options*/) const {
  return {};
}
std::vector<SearchResult> DeviceGroup::search(std::span<const Query> /*queries*/,
                                              const SearchOptions& /*options*/) const {
  return {};
}
BatchAnswers DeviceGroup::search_batch(const QueryBatch& /*batch*/, const SearchOptions& /*options*/) const {
  return {};
}
std::uint64_t DeviceGroup::search_batch(const QueryBatch& /*batch*/, const AnswerArrays& /*answers*/,
                                        const SearchOptions& /*options*/) const {
  return 0;
}
std::uint64_t DeviceGroup::count_above(const Query& /*query*/, double /*score*/,
                                       const SearchOptions& /*options*/) const {
  return 0;
}
std::optional<RowRank> DeviceGroup::rank_of(const Query& /*query*/, std::int64_t /*id*/,
                                            const SearchOptions& /*options*/) const {
  return std::nullopt;
}
std::optional<RowRank> DeviceGroup::rank_of(const Query& /*query*/, std::string_view /*text*/,
                                            const SearchOptions& /*options*/) const {
  return std::nullopt;
}
GroupContext DeviceGroup::make_context(const GroupContextOptions& /*options*/) const {
  return GroupContext(nullptr);
}
void DeviceGroup::search_async(const DeviceBatch& /*batch*/, const DeviceAnswers& /*answers*/,
                               GroupContext& /*context*/) const {}
GroupContext::GroupContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GroupContext::GroupContext(GroupContext&& other) noexcept = default;
GroupContext& GroupContext::operator=(GroupContext&& other) noexcept = default;
GroupContext::~GroupContext() = default;
void GroupContext::synchronize() const {}
CUstream_st* GroupContext::stream() const {
  return nullptr;
}
int GroupContext::device() const {
  return kNoDevice;
}
std::vector<RefreshStats> DeviceGroup::refresh() const {
  return {};
}
std::vector<DeviceMember> DeviceGroup::members() const {
  return {};
}
std::vector<int> DeviceGroup::devices() const {
  return {};
}
DeviceContext::DeviceContext(std::unique_ptr<gpu::Context> context) : context_(std::move(context)) {}
DeviceContext::DeviceContext(DeviceContext&& other) noexcept = default;
DeviceContext& DeviceContext::operator=(DeviceContext&& other) noexcept = default;
DeviceContext::~DeviceContext() = default;
void DeviceContext::synchronize() const {}
CUstream_st* DeviceContext::stream() const {
  return nullptr;
}

}  // namespace culmen
