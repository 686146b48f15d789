// RowReader: all rows of an index, part by part, to be written elsewhere.
//
//   culmen::RowReader rows = culmen::RowReader::of_directory("hotels.index");
//   for (std::vector<culmen::Row> part; !(part = rows.next(10'000)).empty();) use(part);
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "culmen/filter.h"
#include "culmen/info.h"
#include "culmen/schema.h"
#include "culmen/search.h"

namespace culmen {

class Index;
class ShardedIndex;

class RowReader {
 public:
  // The rows of the present version that pass the filter, which names columns as Query::where does. Each row comes once, in an
  // order that is not promised. Throws InvalidArgument as searches do.
  explicit RowReader(const Index& index, const Filter& where = {});
  explicit RowReader(const ShardedIndex& index, const Filter& where = {});
  // The same of what is in a directory, an index or a sharded one, read from its files and forgotten again: whatever the size of
  // the index, it takes memory for a few hundred leaves, for the rows of a log that no checkpoint has shortened, and some
  // ten bytes a leaf. Throws as Index::open with Loading::on_touch.
  [[nodiscard]] static RowReader of_directory(const std::filesystem::path& directory,
                                              const Filter& where = {});
  RowReader(RowReader&&) noexcept;
  RowReader& operator=(RowReader&&) noexcept;
  ~RowReader();

  // The next rows, `most` at most; none: there are no more. Throws InvalidArgument for 0, and FormatError or IoError if the
  // files that are read on touch are damaged: then the reader can only be destroyed.
  [[nodiscard]] std::vector<Row> next(std::size_t most);

  // The rows of the version, whether or not they pass the filter.
  [[nodiscard]] std::uint64_t num_rows() const;
  [[nodiscard]] IndexInfo info() const;
  [[nodiscard]] Schema schema() const;

 private:
  class Rows;
  explicit RowReader(std::unique_ptr<Rows> rows);

  std::unique_ptr<Rows> rows_;
};

}  // namespace culmen
