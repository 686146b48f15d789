#include "index/text_rows.h"

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/assert.h"
#include "culmen/error.h"
#include "index/find_rows.h"
#include "index/logged_rows.h"
#include "index/read_session.h"

namespace culmen {
void require_text_ids(const Snapshot& snapshot) {
  if (snapshot.id_type != IdType::text)
    throw InvalidArgument("the ids of the index are " + std::string(id_type_name(snapshot.id_type)) +
                          ", not texts: give numbers");
}

void require_erasable_numbers(const Snapshot& snapshot) {
  if (snapshot.id_type == IdType::text)
    throw InvalidArgument("the ids of the index are texts: erase by texts");
}

std::vector<std::uint64_t> rows_by_ids(const Snapshot& tree) {
  std::vector<std::pair<std::int64_t, std::uint64_t>> ids;
  ids.reserve(tree.num_rows);
  if (tree.num_rows > 0) {
    ReadSession session(tree);
    for (const std::uint32_t leaf : tree.order().leaves) {
      session.rest();
      const std::int64_t* of_leaf = tree.leaf_ids(leaf);
      const std::uint64_t first = leaf * static_cast<std::uint64_t>(tree.leaf_rows);
      for (std::uint32_t r = 0; r < tree.leaf(leaf).num_rows; ++r) ids.emplace_back(of_leaf[r], first + r);
    }
  }
  tbb::parallel_sort(ids.begin(), ids.end());
  std::vector<std::uint64_t> rows;
  rows.reserve(ids.size());
  for (const auto& [id, row] : ids) rows.push_back(row);
  return rows;
}

RowsInOrder::RowsInOrder(const Snapshot& tree, std::span<const std::int64_t> erased)
    : tree_(tree), erased_(erased), order_(tree.id_lookup == nullptr ? nullptr : tree.id_lookup->order()) {
  if (order_ == nullptr) rows_ = rows_by_ids(tree);
}

bool RowsInOrder::is_erased(std::uint64_t place) const {
  if (erased_.empty()) return false;
  const std::int64_t id = order_ != nullptr ? order_->at(place).id : tree_.id(rows_[place]);
  return std::binary_search(erased_.begin(), erased_.end(), id);
}

std::uint64_t RowsInOrder::row_at(std::uint64_t place) const {
  if (order_ == nullptr) return rows_[place];
  const OrderedId entry = order_->at(place);
  const std::int64_t* const ids = tree_.leaf_ids(entry.leaf);
  const std::int64_t* const end = ids + tree_.leaf(entry.leaf).num_rows;
  const std::int64_t* const found = std::find(ids, end, entry.id);
  if (found == end) order_->fail(place);
  return entry.leaf * static_cast<std::uint64_t>(tree_.leaf_rows) + static_cast<std::uint64_t>(found - ids);
}

std::uint64_t RowsInOrder::row_with(std::int64_t id) const {
  CULMEN_ASSERT(order_ == nullptr && erased_.empty());
  const ReadSession session(tree_);
  const auto found =
      std::ranges::lower_bound(rows_, id, {}, [this](std::uint64_t row) { return tree_.id(row); });
  return found != rows_.end() && tree_.id(*found) == id ? *found : kNowhere;
}

namespace {

// Texts that a search has seen: the last one that passed, and the first one that did not.
struct Neighbours {
  std::string low;  // "" is not above any text
  std::optional<std::string> high;

  // Which share of the texts between them is below `wanted`, if they are spread evenly there: by the eight bytes after those
  // that all of them begin with.
  double share_below(std::string_view wanted) const {
    const auto begin = high ? std::ranges::mismatch(low, *high).in1 : low.begin();
    const auto prefix = static_cast<std::size_t>(begin - low.begin());
    const double least = number_at(low, prefix), most = high ? number_at(*high, prefix) : 0x1p64;
    return most > least ? std::clamp((number_at(wanted, prefix) - least) / (most - least), 0.0, 1.0) : 0.5;
  }

 private:
  static double number_at(std::string_view text, std::size_t at) {
    double number = 0;
    for (std::size_t i = at; i < at + 8; ++i)
      number = 256 * number + (i < text.size() ? static_cast<unsigned char>(text[i]) : 0);
    return number;
  }
};

}  // namespace

// Texts are often spread evenly, as UUIDs are. Every other step halves what is left, so the worst takes twice as many.
template <typename Passes>
std::optional<std::uint64_t> RowsInOrder::last_row_that(std::string_view wanted, const Passes& passes) const {
  std::optional<std::uint64_t> last;
  Neighbours neighbours;
  std::uint64_t first = 0, end = size();
  for (bool guesses = true; first < end; guesses = !guesses) {
    const double share = guesses ? neighbours.share_below(wanted) : 0.5;
    const auto step = static_cast<std::uint64_t>(share * static_cast<double>(end - first));
    const std::uint64_t middle = first + std::min(step, end - first - 1);
    std::uint64_t below = middle + 1;  // the place after the last one up to the middle that was not erased
    while (below > first && is_erased(below - 1)) --below;
    if (below == first) {
      first = middle + 1;
      continue;
    }
    const ReadSession session(tree_);
    const std::uint64_t row = row_at(below - 1);
    const std::string_view text = tree_.label(row);
    if (passes(text)) {
      last = row;
      first = middle + 1;
      neighbours.low = text;
    } else {
      end = below - 1;
      neighbours.high = text;
    }
  }
  return last;
}

template <typename Passes>
TextPlace RowsInOrder::last_that(std::string_view wanted, const Passes& passes) const {
  const std::optional<std::uint64_t> row = last_row_that(wanted, passes);
  if (!row) return {};
  const ReadSession session(tree_);
  return {tree_.id(*row), tree_.label(*row) == wanted};
}

TextPlace RowsInOrder::find(std::string_view text) const {
  return last_that(text, [text](std::string_view of_row) { return of_row <= text; });
}

TextRows::TextRows(const Snapshot& version) {
  trees_.reserve(2);
  if (version.logged == nullptr) {
    trees_.emplace_back(version);
  } else {
    trees_.emplace_back(*version.logged->base, version.logged->erased);
    trees_.emplace_back(*version.logged->rows);
  }
}

template <typename Passes>
TextPlace TextRows::last_that(std::string_view text, const Passes& passes) const {
  TextPlace place;
  for (const RowsInOrder& rows : trees_) {
    const TextPlace of_tree = rows.last_that(text, passes);
    if (of_tree.id > place.id) place = of_tree;
  }
  return place;
}

std::vector<std::uint64_t> TextRows::rows_with(std::span<const std::int64_t> ids) const {
  CULMEN_ASSERT(trees_.size() == 1);
  std::vector<std::uint64_t> rows;
  for (const std::int64_t id : ids) rows.push_back(trees_.front().row_with(id));
  return rows;
}

TextPlace TextRows::find(std::string_view text) const {
  return last_that(text, [text](std::string_view of_row) { return of_row <= text; });
}

std::int64_t TextRows::before(std::string_view text) const {
  return last_that(text, [text](std::string_view of_row) { return of_row < text; }).id;
}

}  // namespace culmen
