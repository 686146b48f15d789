// PagesOfIds: in which page the row of each id is. Of a tree that is in memory it is a map of all ids; of one that is read
// on touch, the ids file of the snapshot, and before it a map of the ids whose rows have come to a page since.
//
// An id that was erased, or moved on, needs no entry: the caller looks into the page that is found, and the row is not
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/ids.h"
#include "culmen/error.h"
#include "index/id_lookup.h"
#include "index/write/id_map.h"

namespace culmen {

// For what only files can cause that culmen has not written.
[[noreturn]] inline void throw_repeated(std::int64_t id) {
  throw FormatError("id " + std::to_string(id) + " is in two rows: repair keeps one of them");
}

class PagesOfIds {
 public:
  // Of a tree in memory: so many ids will be inserted.
  explicit PagesOfIds(std::size_t num_ids) : all_(num_ids) {}
  // Of a tree that is read on touch: the page of a leaf has its number.
  explicit PagesOfIds(std::shared_ptr<const IdLookup> files) : files_(std::move(files)) {}

  // Of a tree in memory.
  IdMap& all() { return all_; }

  // Calls holds(page) for pages that may hold the row of this id; returns the one that does, or kNoPage. Throws
  // FormatError if the files have two.
  template <typename Holds>
  PageNumber find(std::int64_t id, const Holds& holds) const {
    if (files_ == nullptr) return all_.find(id, holds);
    const auto moved = moved_.find(id);
    if (moved != moved_.end()) return holds(moved->second) ? moved->second : kNoPage;
    PageNumber found = kNoPage;
    for (const std::uint32_t leaf : files_->leaves_with(id)) {
      if (!holds(leaf)) continue;
      if (found != kNoPage) throw_repeated(id);
      found = leaf;
    }
    return found;
  }

  // Of these ids many will be inserted or moved.
  void make_room_for(std::size_t num_ids) {
    if (files_ == nullptr) all_.reserve(all_.size() + num_ids);
  }
  void prefetch(std::int64_t id) const {
    if (files_ == nullptr) all_.prefetch(id);
  }

  void insert(std::int64_t id, PageNumber page) {
    files_ == nullptr ? all_.insert(id, page) : static_cast<void>(moved_[id] = page);
  }
  // The row was in this page.
  void erase(std::int64_t id, PageNumber page) {
    files_ == nullptr ? all_.erase(id, page) : static_cast<void>(moved_.erase(id));
  }
  void move(std::int64_t id, PageNumber from, PageNumber to) {
    files_ == nullptr ? all_.move(id, from, to) : static_cast<void>(moved_[id] = to);
  }

 private:
  IdMap all_;
  std::shared_ptr<const IdLookup> files_;  // null: the tree is in memory
  IdTable<PageNumber> moved_;              // of a tree that is read on touch
};

}  // namespace culmen
