// IdMap: maps an id to the page that holds its row, by open addressing. A lookup costs one probe and one look into the
// page on average.
//
// There is an entry for every row of the index, so it has only eight bytes: the page, and 32 bits of the id's hash,
// which is seeded at random. The id itself is in the page. So the caller checks the candidates, of which there is
// almost always one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/pages.h"

namespace culmen {

using PageNumber = std::uint32_t;
inline constexpr PageNumber kNoPage = 0xffffffff;
// The parent of a page of a tree that is read on touch, as long as nobody needs it (TreeNodes::know_parent_of_leaf).
inline constexpr PageNumber kUnknownPage = 0xfffffffe;

class IdMap {
 public:
  explicit IdMap(std::size_t num_ids = 0);

  std::size_t size() const { return size_; }

  // Makes room for so many ids in all. No insert() throws until then.
  void reserve(std::size_t num_ids);

  void insert(std::int64_t id, PageNumber page);

  // Inserts the ids of a page; several threads may do so concurrently. There must be room for them (reserve()). Calls
  // found(id, other) for every page `other`, which may be `page`, that is in the map with the same hash bits. It nearly
  // always holds the same id.
  template <typename Found>
  void insert_concurrently(std::span<const std::int64_t> ids, PageNumber page, const Found& found) {
    for (const std::int64_t id : ids) prefetch(id);
    for (const std::int64_t id : ids) {
      const Entry entry{tag_of(id), page + 1};
      std::size_t i = home_of(entry.tag);
      for (Entry there;
           !std::atomic_ref(entries_[i]).compare_exchange_strong(there, entry, std::memory_order_relaxed);
           there = {}) {
        if (there.tag == entry.tag) found(id, there.page());
        i = next(i);
      }
    }
    std::atomic_ref(size_).fetch_add(ids.size(), std::memory_order_relaxed);
  }

  // The page for which holds(page) returns true; kNoPage if there is none.
  template <typename Holds>
  PageNumber find(std::int64_t id, const Holds& holds) const {
    const std::uint32_t tag = tag_of(id);
    for (std::size_t i = home_of(tag); !entries_[i].is_empty(); i = next(i))
      if (entries_[i].tag == tag && holds(entries_[i].page())) return entries_[i].page();
    return kNoPage;
  }

  // The entry (id, page) must be there.
  void erase(std::int64_t id, PageNumber page);
  void move(std::int64_t id, PageNumber from, PageNumber to);

  void prefetch(std::int64_t id) const { __builtin_prefetch(&entries_[home_of(tag_of(id))]); }

 private:
  struct alignas(8) Entry {  // one word, for compare and swap
    std::uint32_t tag = 0;
    std::uint32_t page_after = 0;  // page + 1, so zeroed memory is empty

    bool is_empty() const { return page_after == 0; }
    PageNumber page() const { return page_after - 1; }
  };

  std::uint32_t tag_of(std::int64_t id) const { return static_cast<std::uint32_t>(hash_(id) >> 32); }
  std::size_t home_of(std::uint32_t tag) const {
    return static_cast<std::size_t>((std::uint64_t{tag} * capacity()) >> 32);
  }
  std::size_t next(std::size_t i) const { return i + 1 == capacity() ? 0 : i + 1; }
  std::size_t position_of(std::int64_t id, PageNumber page) const;
  void put(Entry entry);

  std::size_t capacity() const { return entries_.size(); }

  IdHash hash_;
  std::size_t size_ = 0;
  PageBuffer<Entry> entries_;
};

}  // namespace culmen
