#include "index/build/load_fields.h"

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "culmen/error.h"
#include "index/columns.h"
#include "index/field_rows.h"

namespace culmen {
namespace {

CodedColumn code_texts(const TextView& column, std::uint64_t num_rows,
                       const std::shared_ptr<TemporaryFiles>& files) {
  constexpr std::uint64_t kGrain = 1 << 14;
  const tbb::blocked_range<std::uint64_t> all(0, num_rows, kGrain);
  tbb::enumerable_thread_specific<std::unordered_set<std::string_view>> seen;
  tbb::parallel_for(all, [&](const tbb::blocked_range<std::uint64_t>& rows) {
    std::unordered_set<std::string_view>& mine = seen.local();
    for (std::uint64_t row = rows.begin(); row < rows.end(); ++row)
      if (!column.validity.is_missing(row)) mine.insert(column.texts[row]);
  });
  std::vector<std::string_view> texts;
  for (const auto& some : seen) texts.insert(texts.end(), some.begin(), some.end());
  tbb::parallel_sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  std::unordered_map<std::string_view, std::uint32_t> codes(texts.size());
  for (std::uint32_t code = 0; code < texts.size(); ++code) codes.emplace(texts[code], code);
  CodedColumn result = {std::make_shared<const Dictionary>(texts),
                        {num_rows, num_rows, PageSize::small, files}};
  tbb::parallel_for(all, [&](const tbb::blocked_range<std::uint64_t>& rows) {
    for (std::uint64_t row = rows.begin(); row < rows.end(); ++row)
      if (!column.validity.is_missing(row)) result.codes[row] = codes.find(column.texts[row])->second;
  });
  return result;
}

class FieldsLoader {
 public:
  FieldsLoader(Snapshot& snapshot, const TableView& table, std::span<const CodedColumn> coded,
               const std::vector<bool>& has_gaps, const RowOfLeaf& row_of)
      : snapshot_(snapshot), table_(table), coded_(coded), has_gaps_(has_gaps), row_of_(row_of) {}

  void run() {
    for (std::size_t f = 0; f < coded_.size(); ++f) snapshot_.dictionaries[f] = coded_[f].dictionary;
    tbb::enumerable_thread_specific<Builders> builders{[this] { return Builders(table_.fields); }};
    tbb::parallel_for(std::uint64_t{0}, snapshot_.num_leaves, [&](std::uint64_t leaf) {
      visit_value_type(snapshot_, [&]<typename T>(T) { write_leaf<T>(leaf, builders.local()); });
    });
  }

 private:
  struct Builders {
    explicit Builders(std::span<const Field> of) : fields(of), texts(of) {}

    LeafFieldsBuilder fields;
    LeafTextsBuilder texts;
  };

  template <typename T>
  void write_leaf(std::uint64_t leaf, Builders& builders) {
    std::vector<std::uint64_t> rows(snapshot_.leaf(leaf).num_rows);
    for (std::uint32_t r = 0; r < rows.size(); ++r) rows[r] = row_of_(leaf, r);
    builders.fields.start(rows.size());
    builders.texts.start(rows.size());
    add_gaps(rows, builders.fields);
    for (std::size_t f = 0; f < table_.fields.size(); ++f) add_field(f, rows, builders);
    const T* values = snapshot_.leaf_values<T>(leaf);
    const auto stride = static_cast<std::size_t>(snapshot_.leaf_rows);
    snapshot_.arena->set_fields(leaf, builders.fields.finish([&](std::size_t attribute, std::size_t row) {
      return static_cast<double>(values[attribute * stride + row]);
    }));
    const auto refuse = [&rows](std::size_t row, const std::string& problem) {
      throw RowError(rows[row], problem);
    };
    const auto allocate = [&](std::size_t num_bytes) {
      return snapshot_.arena->allocate_texts(leaf, num_bytes);
    };
    builders.texts.finish(allocate, refuse);
  }

  void add_gaps(const std::vector<std::uint64_t>& rows, LeafFieldsBuilder& builder) const {
    std::vector<double> values(rows.size());
    for (std::size_t i = 0; i < has_gaps_.size(); ++i) {
      if (!has_gaps_[i]) continue;
      gather_column(table_.columns[i], Preference::high, rows, values.data());
      for (std::size_t r = 0; r < rows.size(); ++r)
        if (std::isnan(values[r])) builder.set_missing_attribute(i, r);
    }
  }

  void add_field(std::size_t f, const std::vector<std::uint64_t>& rows, Builders& builders) const {
    const FieldRows read = read_coded_field(table_, f, coded_[f], rows);
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (!read.missing.empty() && read.missing[r]) {
        builders.fields.set_missing(f, r);
      } else if (is_stored_text(table_.fields[f])) {
        builders.texts.set_text(f, r, read.texts[r]);
      } else {
        builders.fields.set_key(f, r, read.keys[r]);
      }
  }

  Snapshot& snapshot_;
  const TableView& table_;
  const std::span<const CodedColumn> coded_;  // [num_fields]
  const std::vector<bool>& has_gaps_;
  const RowOfLeaf& row_of_;
};

}  // namespace

std::vector<CodedColumn> code_fields(const TableView& table, const std::shared_ptr<TemporaryFiles>& files) {
  std::vector<CodedColumn> coded(table.fields.size());
  for (std::size_t f = 0; f < coded.size(); ++f)
    if (has_dictionary(table.fields[f]))
      coded[f] = code_texts(std::get<TextView>(table.field_views[f]), table.num_rows, files);
  return coded;
}

FieldRows read_coded_field(const TableView& table, std::size_t f, const CodedColumn& coded,
                           std::span<const std::uint64_t> rows) {
  if (!has_dictionary(table.fields[f]))
    return read_field(table.fields[f], table.field_views[f], rows, nullptr);
  FieldRows read;
  const Validity& validity = std::get<TextView>(table.field_views[f]).validity;
  for (const std::uint64_t row : rows) {
    read.keys.push_back(coded.codes[row]);
    read.missing.push_back(validity.is_missing(row));
  }
  return read;
}

void load_fields(Snapshot& snapshot, const TableView& table, std::span<const CodedColumn> coded,
                 const std::vector<bool>& has_gaps, const RowOfLeaf& row_of) {
  if (table.fields.empty() && std::ranges::find(has_gaps, true) == has_gaps.end()) return;
  FieldsLoader(snapshot, table, coded, has_gaps, row_of).run();
}

}  // namespace culmen
