// IdLookup: where a version that was read from files finds rows by their ids, before anybody has made a map of ids in
// memory (index/write/id_map.h).
#pragma once

#include <cstdint>
#include <vector>

namespace culmen {

class IdLookup {
 public:
  IdLookup() = default;
  IdLookup(const IdLookup&) = delete;
  IdLookup& operator=(const IdLookup&) = delete;
  virtual ~IdLookup() = default;

  // The leaves that may hold a row of this id, seldom more than one. No other leaf holds any. Calls may be concurrent.
  // Throws FormatError or IoError, which names the file, if what it has to read is damaged.
  virtual std::vector<std::uint32_t> leaves_with(std::int64_t id) const = 0;
};

}  // namespace culmen
