// SpacedIds: numbers for new texts between those of the texts beside them, so that numbers ascend as texts do.
//
// New numbers divide a gap evenly; after the last and before the first one they are a fixed distance apart. Where a gap is
// full, the numbers around it are moved apart: of all of the smallest window of 2^i numbers that is aligned, contains the gap
// and holds at most 2^(i/2) of them. So each window has room for as many again once it was moved, which makes the moves a
// few for each new text on average, in whatever order texts come (Bender, Cole, Demaine, Farach-Colton and Zito, Two
// simplified algorithms for maintaining order in a list, 2002, with T the square root of 2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "index/ordered_ids.h"

namespace culmen {

class SpacedIds {
 public:
  // `present`, the ids of the index, must outlive this, which changes nothing there.
  explicit SpacedIds(const OrderedIds& present) : present_(present) {}

  // Makes room for so many texts between the text of a present id, or the beginning, and the present one after it. Places
  // ascend from call to call.
  void insert_after(std::optional<std::int64_t> place, std::size_t count);

  struct Move {
    std::int64_t from, to;

    friend bool operator==(const Move&, const Move&) = default;
  };
  // What all calls together come to: the numbers of the new texts, ascending, and present ids that have others now.
  std::vector<std::int64_t> new_ids() const;
  std::int64_t now(std::int64_t present_id) const {
    const auto moved = moved_.find(present_id);
    return moved == moved_.end() ? present_id : moved->second;
  }
  std::vector<Move> moves() const;

 private:
  // A number that differs from those in present_: of a present id that was moved, or of a new text.
  struct Owner {
    bool is_new;
    std::int64_t from;  // if it is not new
  };
  // In a window, from the lowest number on; where the new texts go.
  struct Window {
    unsigned bits = 0;
    std::uint64_t first = 0;  // as an unsigned number, whose order is that of the ids
    std::vector<std::int64_t> below, above;
  };

  std::optional<std::int64_t> after(std::int64_t id) const;
  std::optional<std::int64_t> before(std::int64_t id) const;
  // The window that has it, or the end.
  std::map<std::int64_t, std::int64_t>::const_iterator spread_window_of(std::int64_t id) const;
  bool fill_gap(std::optional<std::int64_t> low, std::optional<std::int64_t> high, std::size_t count);
  bool fill_evenly(std::int64_t low, std::int64_t high, std::size_t count);
  Window window_around(std::optional<std::int64_t> low, std::optional<std::int64_t> high,
                       std::size_t count) const;
  void spread(const Window& window, std::size_t count);
  void note_spread(std::int64_t first, std::int64_t last);
  Owner take(std::int64_t id);
  void put(std::int64_t id, Owner owner);

  const OrderedIds& present_;
  std::map<std::int64_t, Owner> changed_;  // by the numbers that they have now
  IdTable<std::int64_t> moved_;            // present id -> the number that it has now
  // Windows that were spread, first -> last, disjoint: no present id in them has its number still.
  std::map<std::int64_t, std::int64_t> spread_;
};

}  // namespace culmen
