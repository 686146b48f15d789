#include "index/write/reload.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/floating_point_scope.h"
#include "base/ids.h"
#include "base/temporary_files.h"
#include "index/build/bulk_load.h"
#include "index/write/user_rows.h"

namespace culmen {

std::shared_ptr<Snapshot> reload_rows(const Snapshot& s, std::span<const std::uint32_t> leaves,
                                      const Change& change, const std::filesystem::path& temp_directory) {
  const FloatingPointScope floating_point;
  const HashedIds removed(change.removed.begin(), change.removed.end());
  std::shared_ptr<Snapshot> loaded = visit_value_type(s, [&]<typename T>(T) {
    UserRows<T> rows(s.metadata(), temporary_files(temp_directory));
    rows.reserve(s.num_rows + change.num_rows());
    std::vector<std::uint32_t> kept;
    for (const std::uint32_t leaf : leaves) {
      kept.clear();
      for (std::uint32_t r = 0; r < s.leaf(leaf).num_rows; ++r)
        if (removed.empty() || removed.count(s.leaf_ids(leaf)[r]) == 0) kept.push_back(r);
      rows.add_rows(s, leaf, kept);
    }
    rows.add_rows(change);
    BuildOptions options = build_options_of(s);
    options.temp_directory = temp_directory;
    return bulk_load(rows.view(), options);
  });
  IndexMetadata metadata = s.metadata();
  metadata.row_metadata() = loaded->row_metadata();
  metadata.rounded_values += change.rounded_values;
  metadata.next_id = std::max(metadata.next_id, change.next_id);
  loaded->metadata() = std::move(metadata);
  return loaded;
}

template <typename T>
std::shared_ptr<Snapshot> load_as_they_come(const UserRows<T>& rows, const IndexMetadata& index) {
  // Bounds of rows as they come say little, and making those of many leaves takes long.
  constexpr int kRowsOfLeaf = 1024;
  BuildOptions options = build_options_of(index);
  if (index.layout.is_wide()) return bulk_load(rows.view(), options);
  options.leaf_rows = kRowsOfLeaf;
  return load_as_given(rows.view(), options);
}

template std::shared_ptr<Snapshot> load_as_they_come(const UserRows<float>&, const IndexMetadata&);
template std::shared_ptr<Snapshot> load_as_they_come(const UserRows<double>&, const IndexMetadata&);

std::shared_ptr<Snapshot> load_rows_of(Change change, const Snapshot& index) {
  return visit_value_type(index, [&]<typename T>(T) {
    UserRows<T> rows(index.metadata());
    rows.add_rows(change);
    change = {};  // its memory
    return load_as_they_come(rows, index);
  });
}

}  // namespace culmen
