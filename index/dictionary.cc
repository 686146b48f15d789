#include "index/dictionary.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "culmen/error.h"

namespace culmen {

// Texts with consecutive codes. Positions count from the segment's first code.
class Dictionary::Segment {
 public:
  Segment(std::uint32_t first_code, std::span<const std::string_view> texts) : first_code_(first_code) {
    append(texts.size(), [&](std::size_t i) { return texts[i]; });
    if (std::ranges::is_sorted(texts)) return;
    by_text_.resize(texts.size());
    std::iota(by_text_.begin(), by_text_.end(), 0);
    std::ranges::sort(by_text_, {}, [&](std::uint32_t position) { return texts[position]; });
  }

  // Of two segments; b's codes follow a's.
  Segment(const Segment& a, const Segment& b) : first_code_(a.first_code_) {
    append(a.size(), [&](std::size_t i) { return a.text(i); });
    append(b.size(), [&](std::size_t i) { return b.text(i); });
    by_text_.reserve(ends_.size());
    std::uint32_t x = 0, y = 0;
    while (x < a.size() || y < b.size()) {
      const bool takes_a = y == b.size() || (x < a.size() && a.ranked(x) < b.ranked(y));
      by_text_.push_back(takes_a ? a.position(x++) : a.size() + b.position(y++));
    }
  }

  std::uint32_t first_code() const { return first_code_; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(ends_.size()); }
  std::string_view text(std::size_t position) const {
    const std::uint64_t start = position == 0 ? 0 : ends_[position - 1];
    return {bytes_.data() + start, static_cast<std::size_t>(ends_[position] - start)};
  }

  bool is_in_order() const { return by_text_.empty(); }
  // By rank in the texts' order.
  std::uint32_t code(std::uint32_t rank) const { return first_code_ + position(rank); }
  std::string_view ranked(std::uint32_t rank) const { return text(position(rank)); }

  // The number of texts before `wanted`.
  std::uint32_t rank_of(std::string_view wanted) const {
    std::uint32_t first = 0, count = size();
    while (count > 0) {
      const std::uint32_t half = count / 2;
      if (ranked(first + half) < wanted) {
        first += half + 1;
        count -= half + 1;
      } else {
        count = half;
      }
    }
    return first;
  }

 private:
  std::uint32_t position(std::uint32_t rank) const { return is_in_order() ? rank : by_text_[rank]; }

  template <typename TextAt>
  void append(std::size_t count, const TextAt& text_at) {
    std::size_t num_bytes = bytes_.size();
    for (std::size_t i = 0; i < count; ++i) num_bytes += text_at(i).size();
    bytes_.reserve(num_bytes);
    ends_.reserve(ends_.size() + count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view text = text_at(i);
      bytes_.insert(bytes_.end(), text.begin(), text.end());
      ends_.push_back(bytes_.size());
    }
  }

  std::uint32_t first_code_;
  std::vector<char> bytes_;
  std::vector<std::uint64_t> ends_;     // [size]
  std::vector<std::uint32_t> by_text_;  // positions in the texts' order; empty: they are in order
};

Dictionary::Dictionary(std::span<const std::string_view> texts) {
  const auto num_in_order = static_cast<std::size_t>(std::ranges::is_sorted_until(texts) - texts.begin());
  *this = with(texts.first(num_in_order)).with(texts.subspan(num_in_order));
}

std::string_view Dictionary::operator[](std::uint32_t code) const {
  const auto after = std::ranges::upper_bound(
      segments_, code, {},
      [](const std::shared_ptr<const Segment>& segment) { return segment->first_code(); });
  const Segment& segment = **std::prev(after);
  return segment.text(code - segment.first_code());
}

std::optional<std::uint32_t> Dictionary::find(std::string_view text) const {
  for (const std::shared_ptr<const Segment>& segment : segments_) {
    const std::uint32_t rank = segment->rank_of(text);
    if (rank < segment->size() && segment->ranked(rank) == text) return segment->code(rank);
  }
  return {};
}

Dictionary Dictionary::with(std::span<const std::string_view> texts) const {
  if (texts.size() > kMaxTexts - size_)
    throw InvalidArgument("a text column that filters test has more than 2^31 distinct texts");
  Dictionary result = *this;
  if (!texts.empty()) result.append(std::make_shared<const Segment>(size_, texts));
  return result;
}

void Dictionary::append(std::shared_ptr<const Segment> segment) {
  size_ += segment->size();
  // Sizes of additions at least halve from one to the next.
  const std::size_t first_addition = !segments_.empty() && segments_.front()->is_in_order() ? 1 : 0;
  while (segments_.size() > first_addition && segments_.back()->size() / 2 < segment->size()) {
    segment = std::make_shared<const Segment>(*segments_.back(), *segment);
    segments_.pop_back();
  }
  segments_.push_back(std::move(segment));
}

std::vector<CodeRange> Dictionary::codes_between(std::string_view first,
                                                 std::optional<std::string_view> last) const {
  std::vector<CodeRange> result;
  const auto add = [&](std::uint32_t from, std::uint32_t to) {
    if (!result.empty() && result.back().last + 1 == from) {
      result.back().last = to;
    } else {
      result.push_back({from, to});
    }
  };
  std::vector<std::uint32_t> codes;
  for (const std::shared_ptr<const Segment>& segment : segments_) {
    const std::uint32_t begin = segment->rank_of(first);
    const std::uint32_t end = last ? segment->rank_of(*last) : segment->size();
    if (begin >= end) continue;
    if (segment->is_in_order()) {
      add(segment->code(begin), segment->code(end - 1));
      continue;
    }
    codes.clear();
    for (std::uint32_t rank = begin; rank < end; ++rank) codes.push_back(segment->code(rank));
    std::ranges::sort(codes);
    for (const std::uint32_t code : codes) add(code, code);
  }
  return result;
}

bool Dictionary::are_distinct() const {
  for (auto segment = segments_.begin(); segment != segments_.end(); ++segment) {
    for (std::uint32_t rank = 0; rank < (*segment)->size(); ++rank) {
      const std::string_view text = (*segment)->ranked(rank);
      if (rank > 0 && (*segment)->ranked(rank - 1) == text) return false;
      const bool is_in_earlier = std::any_of(segments_.begin(), segment, [&](const auto& earlier) {
        const std::uint32_t there = earlier->rank_of(text);
        return there < earlier->size() && earlier->ranked(there) == text;
      });
      if (is_in_earlier) return false;
    }
  }
  return true;
}

std::optional<std::string> end_of_prefix(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xff) end.pop_back();
  if (end.empty()) return {};
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

}  // namespace culmen
