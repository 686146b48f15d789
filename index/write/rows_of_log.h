// RowsOfLog: what the batches of a log come to for who believes them: the ids that they remove from the index before them, and
// the rows that they add. Rows are gathered as they come; ids are compared only from the first removal on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "index/snapshot.h"
#include "index/write/change.h"
#include "index/write/id_map.h"
#include "index/write/user_rows.h"

namespace culmen {

class RowsOfLog {
 public:
  // base: the index before the log, whose columns the rows have.
  // log_bytes: of about the log that will come; addresses, not memory, are taken for its rows.
  RowsOfLog(const Snapshot& base, std::uint64_t log_bytes);

  // The next batch. Throws FormatError if it removes an id that the batches before it removed and did not add again, or adds
  // one that they added: the latter only once a batch has removed something. After an error this may only be destroyed.
  void add(const Change& change);

  // Ids of the base, ascending.
  std::vector<std::int64_t> removed() const;

  // The rows that remain, in the order in which they came, as an index of their own for few searches. The last call. Throws
  // InputError if two rows have one id.
  std::shared_ptr<Snapshot> load();

 private:
  using Rows = std::variant<UserRows<float>, UserRows<double>>;
  static constexpr std::uint32_t kNoRow = ~std::uint32_t{0};
  // An id that a batch added or removed.
  struct Known {
    std::int64_t id;
    std::uint32_t row;  // kNoRow: it was removed last
  };

  static Rows no_rows(const Snapshot& base, const std::shared_ptr<ArrayMemory>& memory = nullptr);
  void know_all_rows();
  Known* find(std::int64_t id);
  void know(std::int64_t id, std::uint32_t row);
  void remove(std::int64_t id);
  void note_added(std::span<const std::int64_t> ids, std::size_t first_row);
  std::vector<std::uint32_t> rows_that_remain() const;
  std::size_t num_rows() const;

  const Snapshot& base_;
  Rows rows_;
  bool knows_ids_ = false;
  std::vector<Known> known_;
  IdMap places_;  // of ids in known_
  std::vector<std::int64_t> removed_;
  std::vector<std::uint32_t> removed_rows_;
};

}  // namespace culmen
