// IdLookup: where a version that was read from files finds rows by their ids, before anybody has made a map of ids in
// memory (index/write/id_map.h), and IdOrder: the order of all ids there, which is that of the texts of an IdType::text.
#pragma once

#include <cstdint>
#include <vector>

namespace culmen {

struct OrderedId {
  std::int64_t id = 0;
  std::uint32_t leaf = 0;
  std::uint32_t unused = 0;  // so that all bytes of an entry are defined
};

// Calls may be concurrent. They throw FormatError or IoError, which names the file, if what they have to read is damaged.
class IdOrder {
 public:
  IdOrder() = default;
  IdOrder(const IdOrder&) = delete;
  IdOrder& operator=(const IdOrder&) = delete;
  virtual ~IdOrder() = default;

  virtual std::uint64_t num_ids() const = 0;
  // By its place in ascending order.
  virtual OrderedId at(std::uint64_t place) const = 0;
  // The place of the first id that is not below this one; num_ids() if all are.
  virtual std::uint64_t place_of(std::int64_t id) const = 0;
  // The id at this place is not in its leaf.
  [[noreturn]] virtual void fail(std::uint64_t place) const = 0;
};

class IdLookup {
 public:
  IdLookup() = default;
  IdLookup(const IdLookup&) = delete;
  IdLookup& operator=(const IdLookup&) = delete;
  virtual ~IdLookup() = default;

  // The leaves that may hold a row of this id, seldom more than one. No other leaf holds any. Calls may be concurrent.
  // Throws FormatError or IoError, which names the file, if what it has to read is damaged.
  virtual std::vector<std::uint32_t> leaves_with(std::int64_t id) const = 0;

  // Of an index of IdType::text; else null.
  virtual const IdOrder* order() const { return nullptr; }
};

}  // namespace culmen
