#include "gpu/search/pack_predicate.h"

#include <cstring>
#include <span>

namespace culmen::gpu {
namespace {

static_assert(sizeof(PackedInterval<double>) == sizeof(PackedInterval<std::int64_t>));

class PredicatePacker {
 public:
  void append_has_ranked(std::uint32_t on_pass) {
    tests_.push_back({.kind = PackedTest::Kind::has_ranked, .on_pass = on_pass});
  }

  // Appends a conjunction or disjunction, or a single test.
  void append(Predicate::Kind kind, std::span<const Predicate* const> parts, std::uint32_t on_pass,
              std::uint32_t on_fail) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Predicate& part = *parts[i];
      const bool is_last = i + 1 == parts.size();
      const auto next = static_cast<std::uint32_t>(tests_.size() + part.num_tests());
      append(part, is_last || kind == Predicate::Kind::any_of ? on_pass : next,
             is_last || kind == Predicate::Kind::all_of ? on_fail : next);
    }
  }

  std::vector<std::byte> bytes() const {
    const PackedPredicate header = {static_cast<std::uint32_t>(tests_.size()),
                                    static_cast<std::uint32_t>(intervals_.size())};
    std::vector<std::byte> bytes;
    append_bytes(bytes, &header, sizeof header);
    append_bytes(bytes, tests_.data(), tests_.size() * sizeof(PackedTest));
    append_bytes(bytes, intervals_.data(), intervals_.size() * sizeof intervals_[0]);
    append_bytes(bytes, bounds_.data(), bounds_.size() * sizeof(PackedIntervalBound));
    return bytes;
  }

 private:
  static void append_bytes(std::vector<std::byte>& bytes, const void* from, std::size_t size) {
    if (size == 0) return;
    bytes.resize(bytes.size() + size);
    std::memcpy(bytes.data() + bytes.size() - size, from, size);
  }

  void append(const Predicate& predicate, std::uint32_t on_pass, std::uint32_t on_fail) {
    if (!predicate.parts.empty()) {
      std::vector<const Predicate*> parts;
      for (const Predicate& part : predicate.parts) parts.push_back(&part);
      return append(predicate.kind, parts, on_pass, on_fail);
    }
    PackedTest test = {.kind = PackedTest::Kind::id,
                       .passes_missing = predicate.passes_missing,
                       .may_miss = predicate.may_miss,
                       .column = predicate.column,
                       .on_pass = on_pass,
                       .on_fail = on_fail,
                       .first_interval = static_cast<std::uint32_t>(intervals_.size()),
                       .first_bound = static_cast<std::uint32_t>(bounds_.size()),
                       .maximum_row = static_cast<std::int16_t>(predicate.maximum_row),
                       .minimum_row = static_cast<std::int16_t>(predicate.minimum_row)};
    switch (predicate.kind) {
      case Predicate::Kind::attribute:
        test.kind = PackedTest::Kind::attribute;
        append_intervals(predicate.values);
        for (const IntervalBound& bound : predicate.bounds) bounds_.push_back({bound.lowest, bound.highest});
        break;
      case Predicate::Kind::id_set: {
        const Intervals<std::int64_t> ids = predicate.ids.bitmap().intervals();
        append_intervals(predicate.passes_others ? complement(ids) : ids);
        break;
      }
      default:
        if (predicate.kind == Predicate::Kind::field) test.kind = PackedTest::Kind::field;
        append_intervals(predicate.keys);
    }
    test.num_intervals = static_cast<std::uint32_t>(intervals_.size()) - test.first_interval;
    tests_.push_back(test);
  }

  template <typename T>
  void append_intervals(const Intervals<T>& intervals) {
    for (const Interval<T>& interval : intervals)
      std::memcpy(&intervals_.emplace_back(), &interval, sizeof interval);
  }

  std::vector<PackedTest> tests_;
  std::vector<PackedInterval<std::int64_t>> intervals_;  // the bits of those of double
  std::vector<PackedIntervalBound> bounds_;
};

}  // namespace

std::vector<std::byte> pack_predicate(const Predicate& predicate, bool has_ranked) {
  std::vector<const Predicate*> parts;  // of a conjunction, but for those that are packed as ranges
  if (predicate.kind == Predicate::Kind::all_of) {
    for (const Predicate& part : predicate.parts)
      if (!part.is_ranges()) parts.push_back(&part);
  } else if (!predicate.is_ranges()) {
    parts.push_back(&predicate);
  }
  if (parts.empty() && !has_ranked) return {};
  PredicatePacker packer;
  if (has_ranked) packer.append_has_ranked(parts.empty() ? PackedTest::kPass : 1);
  packer.append(Predicate::Kind::all_of, parts, PackedTest::kPass, PackedTest::kFail);
  return packer.bytes();
}

std::vector<std::byte> pack_whole_predicate(const Predicate& predicate) {
  if (predicate.is_everything()) return {};
  PredicatePacker packer;
  const Predicate* const whole[] = {&predicate};
  packer.append(Predicate::Kind::all_of, whole, PackedTest::kPass, PackedTest::kFail);
  return packer.bytes();
}

}  // namespace culmen::gpu
