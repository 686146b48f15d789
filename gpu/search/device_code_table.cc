#include "gpu/search/device_code_table.h"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "gpu/cuda/buffer.h"
#include "gpu/cuda/error.h"
#include "gpu/cuda/limits.h"
#include "gpu/search/bound_leaves.h"

namespace culmen::gpu {
namespace {

// Read and copied at a time.
constexpr std::size_t kLeavesAtOnce = 8192;

CodeQuestion question_of(const ResolvedQuery& query, double score) {
  CodeQuestion question = {};
  question.offset = query.offset;
  question.score = score;
  for (const Term& term : query.terms) {
    question.weights[question.num_terms] = term.weight;
    question.attributes[question.num_terms++] = static_cast<std::uint16_t>(term.attribute);
  }
  for (const RangePredicate& range : query.where)
    if (question.num_ranges < CodeQuestion::kMostRanges) question.ranges[question.num_ranges++] = range;
  return question;
}

class DeviceCodeTable final : public cpu::CodeTable {
 public:
  DeviceCodeTable(const Snapshot& tree, int device)
      : CodeTable(tree),
        device_(device),
        shape_(tree.leaf_shape()),
        value_type_(tree.value_type),
        leaves_(tree.order().leaves),
        min_ids_(leaves_.size()),
        codes_(leaves_.size() * shape_.code_words()),
        zones_(leaves_.size() * cpu::zone_bytes_of(shape_)),
        found_(leaves_.size()),
        bounds_(leaves_.size()),
        count_(1) {
    std::vector<std::uint16_t> codes(std::min(kLeavesAtOnce, leaves_.size()) * shape_.code_words());
    std::vector<std::byte> zones(std::min(kLeavesAtOnce, leaves_.size()) * cpu::zone_bytes_of(shape_));
    for (std::size_t first = 0; first < leaves_.size(); first += kLeavesAtOnce) {
      const std::size_t count = std::min(kLeavesAtOnce, leaves_.size() - first);
      cpu::read_codes(tree, std::span(leaves_).subspan(first, count), codes.data(), zones.data(),
                      min_ids_.data() + first);
      copy(codes_.data() + first * shape_.code_words(), codes.data(), count * shape_.code_words());
      copy(zones_.data() + first * cpu::zone_bytes_of(shape_), zones.data(),
           count * cpu::zone_bytes_of(shape_));
      stream_.synchronize();
    }
  }

  std::vector<cpu::BoundedLeaf> leaves_reaching(const ResolvedQuery& query, double score) const override {
    const CodeQuestion question = question_of(query, score);
    const cuda::DeviceScope scope(device_);
    const std::lock_guard lock(mutex_);
    const CodeTableRef table = {codes_.data(), zones_.data(), static_cast<std::uint32_t>(leaves_.size()),
                                static_cast<std::uint32_t>(shape_.num_attributes),
                                static_cast<std::uint32_t>(num_code_words(shape_.leaf_rows))};
    const ReachingLeaves to = {found_.data(), bounds_.data(), count_.data()};
    cuda::check(cudaMemsetAsync(count_.data(), 0, count_.size_bytes(), stream_.get()));
    const unsigned multiprocessors = cuda::num_multiprocessors_of(device_);
    if (value_type_ == ValueType::float32) {
      launch_bound_leaves<float>(table, question, to, multiprocessors, stream_.get());
    } else {
      launch_bound_leaves<double>(table, question, to, multiprocessors, stream_.get());
    }
    const std::vector<std::uint32_t> count = read(count_, 1);
    const std::vector<std::uint32_t> found = read(found_, count.front());
    const std::vector<double> bounds = read(bounds_, count.front());
    std::vector<cpu::BoundedLeaf> reaching(found.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      reaching[i] = {leaves_[found[i]], bounds[i], min_ids_[found[i]]};
    return reaching;
  }

  std::uint64_t num_reads_of_a_call(std::size_t /*num_terms*/) const override {
    constexpr std::uint64_t kOfALaunch = 2, kLeavesOfARead = 50'000;
    return kOfALaunch + leaves_.size() / kLeavesOfARead;
  }

  std::size_t num_bytes() const override {
    return codes_.size_bytes() + zones_.size_bytes() + found_.size_bytes() + bounds_.size_bytes();
  }

 private:
  template <typename T>
  void copy(T* to, const T* from, std::size_t size) const {
    cuda::check(cudaMemcpyAsync(to, from, size * sizeof(T), cudaMemcpyHostToDevice, stream_.get()));
  }
  template <typename T>
  std::vector<T> read(const cuda::Buffer<T>& from, std::size_t size) const {
    std::vector<T> values(size);
    cuda::check(
        cudaMemcpyAsync(values.data(), from.data(), size * sizeof(T), cudaMemcpyDeviceToHost, stream_.get()));
    stream_.synchronize();
    return values;
  }

  const int device_;
  const LeafShape shape_;
  const ValueType value_type_;
  const std::vector<std::uint32_t> leaves_;
  std::vector<std::int64_t> min_ids_;
  const cuda::Buffer<std::uint16_t> codes_;
  const cuda::Buffer<std::byte> zones_;
  mutable std::mutex mutex_;  // of what follows
  const cuda::Stream stream_;
  const cuda::Buffer<std::uint32_t> found_;
  const cuda::Buffer<double> bounds_;
  const cuda::Buffer<std::uint32_t> count_;
};

}  // namespace

std::unique_ptr<cpu::CodeTable> make_code_table(const Snapshot& tree, int device) {
  cuda::require_device(device);
  const cuda::DeviceScope scope(device);
  return std::make_unique<DeviceCodeTable>(tree, device);
}

}  // namespace culmen::gpu
