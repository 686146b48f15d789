// Dictionary: the distinct texts of a filter column, each with a code. Immutable: a version that needs more texts gets a
// new dictionary, which shares the old one's memory. Codes never change, so leaves keep theirs; a load numbers all
// again, in the order of the texts' bytes.
//
// Texts are in segments of consecutive codes: the base, whose texts are in order, and additions, each with its codes
// sorted by text. Additions of similar size are merged, so that there are O(log size) of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace culmen {

// Codes [first, last].
struct CodeRange {
  std::uint32_t first, last;

  friend bool operator==(const CodeRange&, const CodeRange&) = default;
};

class Dictionary {
 public:
  static constexpr std::uint32_t kMaxTexts = 1u << 31;

  Dictionary() = default;  // empty
  // Distinct texts; text i gets code i. The base is as many of the first as are in ascending order.
  explicit Dictionary(std::span<const std::string_view> texts);

  std::uint32_t size() const { return size_; }
  std::string_view operator[](std::uint32_t code) const;
  std::optional<std::uint32_t> find(std::string_view text) const;

  // With further texts, which are distinct and not in it; they get the codes from size() on. Cost: that of the new
  // texts, now and then that of merging earlier additions.
  [[nodiscard]] Dictionary with(std::span<const std::string_view> texts) const;

  // The codes of the texts in [first, last), by bytes; without last: from first on. Ascending ranges that do not touch.
  // Cost: logarithmic in the texts of the base, O(r log r) for r results among additions.
  [[nodiscard]] std::vector<CodeRange> codes_between(std::string_view first,
                                                     std::optional<std::string_view> last) const;

  // Whether no text is there twice, for dictionaries that were read from files. Reads all texts.
  [[nodiscard]] bool are_distinct() const;

 private:
  class Segment;

  void append(std::shared_ptr<const Segment> segment);

  std::vector<std::shared_ptr<const Segment>> segments_;  // by codes; the base, if there is one, first
  std::uint32_t size_ = 0;
};

// The first text after all texts that begin with `prefix`, by bytes; none: there is no text after them.
std::optional<std::string> end_of_prefix(std::string_view prefix);

}  // namespace culmen
