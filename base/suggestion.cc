#include "base/suggestion.h"

#include <algorithm>
#include <utility>

#include "base/lower_case.h"

namespace culmen {
namespace {

// The optimal string alignment distance: letters changed, inserted, removed or swapped with a neighbour. Three rows of
// its table are enough.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kShortestBeginning = 3;
  const std::string wanted = lower_case(std::string(word));
  std::size_t least = (word.size() + 2) / 3 + 1;  // a larger distance is another word
  std::string found;
  for (const std::string& candidate : known) {
    const std::string name = lower_case(candidate);
    if (name == wanted) return candidate;
    const bool begins = wanted.size() >= kShortestBeginning && name.starts_with(wanted);
    const std::size_t letters = begins ? 0 : edit_distance(wanted, name);
    const bool has_nothing_in_common = letters == std::max(wanted.size(), name.size());
    if (letters >= least || has_nothing_in_common) continue;
    least = letters;
    found = candidate;
  }
  return found;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::string meant = nearest(word, known);
  return meant.empty() ? "" : " (did you mean \"" + meant + "\"?)";
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 40;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
    list += (list.empty() ? "" : ", ") + names[i];
  return list + (names.size() > kShown ? ", ..." : "");
}

}  // namespace culmen
