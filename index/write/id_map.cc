#include "index/write/id_map.h"

#include <utility>

#include "base/assert.h"

namespace culmen {
namespace {

// Linear probing looks at one or two entries while a quarter of the table is empty, and at a few while an eighth is.
// The table grows only then; otherwise the first insert into an index just opened would rehash all of its ids.
std::size_t entries_for(std::size_t num_ids) {
  return num_ids + num_ids / 3 + 16;
}
std::size_t min_entries_for(std::size_t num_ids) {
  return num_ids + num_ids / 7 + 16;
}

}  // namespace

IdMap::IdMap(std::size_t num_ids) : entries_(entries_for(num_ids)) {}

void IdMap::reserve(std::size_t num_ids) {
  if (min_entries_for(num_ids) <= capacity()) return;
  PageBuffer<Entry> old(entries_for(num_ids + num_ids / 2));
  std::swap(old, entries_);
  // Homes keep their order, so entries are written almost sequentially.
  for (const Entry& entry : old.span())
    if (!entry.is_empty()) put(entry);
}

void IdMap::put(Entry entry) {
  std::size_t i = home_of(entry.tag);
  while (!entries_[i].is_empty()) i = next(i);
  entries_[i] = entry;
}

void IdMap::insert(std::int64_t id, PageNumber page) {
  reserve(size_ + 1);
  put({tag_of(id), page + 1});
  ++size_;
}

std::size_t IdMap::position_of(std::int64_t id, PageNumber page) const {
  const std::uint32_t tag = tag_of(id);
  std::size_t i = home_of(tag);
  while (entries_[i].tag != tag || entries_[i].page() != page) {
    CULMEN_ASSERT(!entries_[i].is_empty());
    i = next(i);
  }
  return i;
}

void IdMap::move(std::int64_t id, PageNumber from, PageNumber to) {
  entries_[position_of(id, from)].page_after = to + 1;
}

// Moves later entries of the run into the hole, so that no probe ends too early.
void IdMap::erase(std::int64_t id, PageNumber page) {
  std::size_t hole = position_of(id, page);
  for (std::size_t i = next(hole); !entries_[i].is_empty(); i = next(i)) {
    const std::size_t home = home_of(entries_[i].tag);
    const bool stays = hole < i ? (home > hole && home <= i) : (home > hole || home <= i);
    if (stays) continue;
    entries_[hole] = entries_[i];
    hole = i;
  }
  entries_[hole] = {};
  --size_;
}

}  // namespace culmen
