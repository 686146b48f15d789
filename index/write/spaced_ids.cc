#include "index/write/spaced_ids.h"

#include <algorithm>

#include "base/assert.h"
#include "base/text_id_space.h"

namespace culmen {
namespace {

using Wide = __int128;

// Between the numbers of texts that are added one by one at an end. Leaves room for 2^30 of them on either side of what a
// build has spread, and for 32 halvings between any two.
constexpr std::int64_t kStep = std::int64_t{1} << 32;
// The lowest int64 is that of no text (TextPlace), and the largest one has no id after it.
constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min() + 1;
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max() - 1;
constexpr unsigned kFewestBits = 4, kAllBits = 64;  // of windows; fewer would not keep off the largest int64

std::uint64_t unsigned_of(std::int64_t id) {
  return static_cast<std::uint64_t>(id) ^ (std::uint64_t{1} << 63);
}
std::int64_t id_of(std::uint64_t number) {
  return static_cast<std::int64_t>(number ^ (std::uint64_t{1} << 63));
}

std::uint64_t most_in_window(unsigned bits) {
  return bits == kAllBits ? std::numeric_limits<std::uint64_t>::max() : std::uint64_t{1} << bits / 2;
}

}  // namespace

void SpacedIds::insert_after(std::optional<std::int64_t> place, std::size_t count) {
  if (count == 0) return;
  const std::optional<std::int64_t> low = place ? std::optional(now(*place)) : std::nullopt;
  const std::optional<std::int64_t> high = after(low.value_or(kLowest - 1));
  if (!fill_gap(low, high, count)) spread(window_around(low, high, count), count);
}

bool SpacedIds::fill_gap(std::optional<std::int64_t> low, std::optional<std::int64_t> high,
                         std::size_t count) {
  const Wide reach = static_cast<Wide>(kStep) * static_cast<Wide>(count);
  if (low && high) return fill_evenly(*low, *high, count);
  if (!low && !high) {
    for (std::size_t i = 0; i < count; ++i) put(spread_id(i, count), {true, 0});
  } else if (low) {
    if (*low + reach > kHighest) return fill_evenly(*low, kHighest + 1, count);
    for (std::size_t i = 1; i <= count; ++i) put(*low + kStep * static_cast<std::int64_t>(i), {true, 0});
  } else {
    if (*high - reach < kLowest) return fill_evenly(kLowest - 1, *high, count);
    for (std::size_t i = count; i > 0; --i) put(*high - kStep * static_cast<std::int64_t>(i), {true, 0});
  }
  return true;
}

// Between the two. Returns false if there is no room.
bool SpacedIds::fill_evenly(std::int64_t low, std::int64_t high, std::size_t count) {
  const Wide width = static_cast<Wide>(high) - low;
  if (width <= static_cast<Wide>(count)) return false;
  for (std::size_t i = 1; i <= count; ++i)
    put(static_cast<std::int64_t>(low + width * static_cast<Wide>(i) / static_cast<Wide>(count + 1)),
        {true, 0});
  return true;
}

// Grows until it is sparse enough.
SpacedIds::Window SpacedIds::window_around(std::optional<std::int64_t> low, std::optional<std::int64_t> high,
                                           std::size_t count) const {
  const std::uint64_t middle = unsigned_of(low ? *low : *high);
  Window window;
  std::optional<std::int64_t> below = low, above = high;
  for (window.bits = kFewestBits;; ++window.bits) {
    const std::uint64_t mask =
        window.bits == kAllBits ? ~std::uint64_t{0} : (std::uint64_t{1} << window.bits) - 1;
    window.first = middle & ~mask;
    const std::uint64_t last = middle | mask;
    for (; below && unsigned_of(*below) >= window.first; below = before(*below))
      window.below.push_back(*below);
    for (; above && unsigned_of(*above) <= last; above = after(*above)) window.above.push_back(*above);
    if (window.below.size() + window.above.size() + count <= most_in_window(window.bits)) break;
  }
  std::ranges::reverse(window.below);
  return window;
}

void SpacedIds::spread(const Window& window, std::size_t count) {
  std::vector<Owner> owners;
  for (const std::int64_t id : window.below) owners.push_back(take(id));
  owners.insert(owners.end(), count, Owner{true, 0});
  for (const std::int64_t id : window.above) owners.push_back(take(id));
  const Wide width = static_cast<Wide>(1) << window.bits, parts = 2 * static_cast<Wide>(owners.size());
  for (std::size_t i = 0; i < owners.size(); ++i)
    put(id_of(window.first + static_cast<std::uint64_t>(width * (2 * static_cast<Wide>(i) + 1) / parts)),
        owners[i]);
  note_spread(id_of(window.first), id_of(window.first + static_cast<std::uint64_t>(width - 1)));
}

// Windows are aligned, so that of two that meet one is in the other.
void SpacedIds::note_spread(std::int64_t first, std::int64_t last) {
  if (spread_window_of(first) != spread_.end() && spread_window_of(first)->second >= last) return;
  spread_.erase(spread_.lower_bound(first), spread_.upper_bound(last));
  spread_.emplace(first, last);
}

std::map<std::int64_t, std::int64_t>::const_iterator SpacedIds::spread_window_of(std::int64_t id) const {
  const auto next = spread_.upper_bound(id);
  if (next == spread_.begin() || std::prev(next)->second < id) return spread_.end();
  return std::prev(next);
}

SpacedIds::Owner SpacedIds::take(std::int64_t id) {
  const auto changed = changed_.find(id);
  if (changed == changed_.end()) return {false, id};
  const Owner owner = changed->second;
  changed_.erase(changed);
  return owner;
}

void SpacedIds::put(std::int64_t id, Owner owner) {
  CULMEN_ASSERT(id >= kLowest && id <= kHighest);
  changed_.emplace(id, owner);
  if (!owner.is_new) moved_[owner.from] = id;
}

std::optional<std::int64_t> SpacedIds::after(std::int64_t id) const {
  std::optional<std::int64_t> next = present_.after(id);
  while (next && spread_window_of(*next) != spread_.end())
    next = present_.after(spread_window_of(*next)->second);
  const auto changed = changed_.upper_bound(id);
  if (changed != changed_.end() && (!next || changed->first < *next)) return changed->first;
  return next;
}

std::optional<std::int64_t> SpacedIds::before(std::int64_t id) const {
  std::optional<std::int64_t> next = present_.before(id);
  while (next && spread_window_of(*next) != spread_.end())
    next = present_.before(spread_window_of(*next)->first);
  const auto changed = changed_.lower_bound(id);
  if (changed != changed_.begin() && (!next || std::prev(changed)->first > *next))
    return std::prev(changed)->first;
  return next;
}

std::vector<std::int64_t> SpacedIds::new_ids() const {
  std::vector<std::int64_t> ids;
  for (const auto& [id, owner] : changed_)
    if (owner.is_new) ids.push_back(id);
  return ids;
}

std::vector<SpacedIds::Move> SpacedIds::moves() const {
  std::vector<Move> moves;
  for (const auto& [from, to] : moved_)
    if (from != to) moves.push_back({from, to});
  std::ranges::sort(moves, {}, &Move::from);
  return moves;
}

}  // namespace culmen
