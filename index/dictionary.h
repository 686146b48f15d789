// Dictionary: the distinct texts of a filter column, each with a code. Immutable: a version that needs more texts gets a
// new dictionary, which shares the old one's memory. Codes never change, so leaves keep theirs; a load numbers all
// again, in the order of the texts' bytes.
#pragma once

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
  // Distinct texts; text i gets code i.
  explicit Dictionary(std::span<const std::string_view> texts);

  std::uint32_t size() const { return size_; }
  std::string_view operator[](std::uint32_t code) const;
  std::optional<std::uint32_t> find(std::string_view text) const;

  // With further texts, which are distinct and not in it; they get the codes from size() on. Cost: that of the new
  // texts, now and then that of merging earlier additions.
  [[nodiscard]] Dictionary with(std::span<const std::string_view> texts) const;

  // The codes of the texts in [first, last), by bytes; without last: from first on. Ascending ranges that do not touch.
  // Cost: logarithmic in the texts of the last load, linear in the result among texts added since.
  [[nodiscard]] std::vector<CodeRange> codes_between(std::string_view first,
                                                     std::optional<std::string_view> last) const;

 private:
  struct Segment;
  std::vector<std::shared_ptr<const Segment>> segments_;  // by codes
  std::uint32_t size_ = 0;
};

}  // namespace culmen
