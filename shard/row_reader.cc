#include "culmen/row_reader.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "api/handle.h"
#include "api/read_row.h"
#include "base/floating_point_scope.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "culmen/sharded_index.h"
#include "index/logged_rows.h"
#include "index/read_session.h"
#include "query/predicate.h"

namespace culmen {
namespace {

// Nobody reads a leaf twice.
constexpr std::uint64_t kMemoryOfDirectory = 64 << 20;

// The slots of all leaves, without reading the nodes of an index that is as its files have it.
std::vector<std::uint32_t> leaves_of(const Snapshot& tree) {
  if (tree.filed_tree == nullptr) return tree.order().leaves;
  std::vector<std::uint32_t> leaves(tree.num_leaves);
  std::iota(leaves.begin(), leaves.end(), std::uint32_t{0});
  return leaves;
}

}  // namespace

class RowReader::Rows {
 public:
  Rows(Index index, const Filter& where) : index_(std::move(index)) { add(*index_, where); }
  Rows(ShardedIndex index, const Filter& where) : sharded_(std::move(index)) {
    for (std::uint32_t s = 0; s < sharded_->num_shards(); ++s) add(sharded_->shard(s), where);
  }

  std::vector<Row> next(std::size_t most) {
    std::vector<Row> rows;
    while (rows.size() < most && part_ < parts_.size()) {
      const Part& part = parts_[part_];
      if (leaf_ == leaves_.size()) {
        leave_part();
      } else {
        take_leaf(part, most, rows);
      }
    }
    return rows;
  }

  std::uint64_t num_rows() const { return num_rows_; }
  IndexInfo info() const { return sharded_ ? sharded_->info() : index_->info(); }
  Schema schema() const { return sharded_ ? sharded_->schema() : index_->schema(); }

 private:
  // One tree, and which of its rows are wanted.
  struct Part {
    std::shared_ptr<const Snapshot> tree;
    Predicate where;
    std::shared_ptr<const LoggedRows> logged;  // if some of its rows were erased by a log
  };

  void add(const Index& index, const Filter& where) {
    const std::shared_ptr<const Snapshot> version = version_of(index);
    num_rows_ += version->num_rows;
    if (version->logged == nullptr) return add(version, where, nullptr);
    add(version->logged->base, where, version->logged);
    add(version->logged->rows, where, nullptr);
  }

  void add(std::shared_ptr<const Snapshot> tree, const Filter& where,
           std::shared_ptr<const LoggedRows> logged) {
    Predicate predicate = compile_filter(where, *tree);
    if (parts_.empty()) leaves_ = leaves_of(*tree);
    parts_.push_back({std::move(tree), std::move(predicate), std::move(logged)});
  }

  // Those rows of it that are wanted, in one session: within a limit of memory it is read once.
  void take_leaf(const Part& part, std::size_t most, std::vector<Row>& rows) {
    const ReadSession session(*part.tree);
    const std::uint32_t num_rows = part.tree->leaf(leaves_[leaf_]).num_rows;
    while (row_ < num_rows && rows.size() < most) take_row(part, rows);
    if (row_ == num_rows) leave_leaf();
  }

  void take_row(const Part& part, std::vector<Row>& rows) {
    const Snapshot& tree = *part.tree;
    const std::uint64_t row = leaves_[leaf_] * static_cast<std::uint64_t>(tree.leaf_rows) + row_++;
    const bool is_erased =
        part.logged != nullptr &&
        std::binary_search(part.logged->erased.begin(), part.logged->erased.end(), tree.id(row));
    if (is_erased) return;
    ++num_read_;
    if (part.where.is_everything() || passes(tree, part.where, row)) rows.push_back(read_row(tree, row));
  }

  void leave_leaf() {
    row_ = 0;
    ++leaf_;
  }

  void leave_part() {
    leaf_ = 0;
    ++part_;
    if (part_ < parts_.size()) {
      leaves_ = leaves_of(*parts_[part_].tree);
    } else if (num_read_ != num_rows_) {
      throw FormatError("the leaves of the index have " + std::to_string(num_read_) +
                        " rows; it should have " + std::to_string(num_rows_));
    }
  }

  std::optional<Index> index_;
  std::optional<ShardedIndex> sharded_;
  std::vector<Part> parts_;
  std::uint64_t num_rows_ = 0, num_read_ = 0;
  std::size_t part_ = 0, leaf_ = 0;    // the next row
  std::uint32_t row_ = 0;              // in its leaf
  std::vector<std::uint32_t> leaves_;  // of the part
};

RowReader::RowReader(std::unique_ptr<Rows> rows) : rows_(std::move(rows)) {}
RowReader::RowReader(const Index& index, const Filter& where)
    : rows_(std::make_unique<Rows>(index.snapshot(), where)) {}
RowReader::RowReader(const ShardedIndex& index, const Filter& where)
    : rows_(std::make_unique<Rows>(index.snapshot(), where)) {}
RowReader::RowReader(RowReader&&) noexcept = default;
RowReader& RowReader::operator=(RowReader&&) noexcept = default;
RowReader::~RowReader() = default;

RowReader RowReader::of_directory(const std::filesystem::path& directory, const Filter& where) {
  const auto open = [&](std::uint64_t memory) {
    const OpenOptions options = {.loading = Loading::on_touch, .max_memory = memory};
    return ShardedIndex::is_at(directory)
               ? std::make_unique<Rows>(ShardedIndex::open(directory, options), where)
               : std::make_unique<Rows>(Index::open(directory, options), where);
  };
  try {
    return RowReader(open(kMemoryOfDirectory));
  } catch (const InvalidArgument&) {  // the log of a wide table
    return RowReader(open(kUnlimitedMemory));
  }
}

std::vector<Row> RowReader::next(std::size_t most) {
  const FloatingPointScope floating_point;
  if (most == 0) throw InvalidArgument("0 rows at most; ask for at least one");
  return held_by(rows_, "RowReader").next(most);
}

std::uint64_t RowReader::num_rows() const {
  return held_by(rows_, "RowReader").num_rows();
}

IndexInfo RowReader::info() const {
  return held_by(rows_, "RowReader").info();
}

Schema RowReader::schema() const {
  return held_by(rows_, "RowReader").schema();
}

}  // namespace culmen
