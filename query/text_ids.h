// TextIds: what an IdSet of texts holds, with the numbers that stand in for them in the versions that were searched.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "index/snapshot.h"
#include "query/id_bitmap.h"

namespace culmen {

class TextIds {
 public:
  explicit TextIds(std::span<const std::string_view> texts);

  const std::vector<std::string>& texts() const { return texts_; }  // ascending, each once
  bool contains(std::string_view text) const;

  // Of those texts that are ids of the version. The first call looks them up.
  std::shared_ptr<const IdBitmap> numbers_in(const Snapshot& version) const;

 private:
  struct Found {
    std::weak_ptr<const TextRows> version;  // its order of texts lives as long as it
    std::shared_ptr<const IdBitmap> numbers;
  };

  std::vector<std::string> texts_;
  mutable std::mutex mutex_;  // held over a parallel loop, so it is taken by lock_isolated()
  mutable std::map<const TextRows*, Found> found_;
};

}  // namespace culmen
