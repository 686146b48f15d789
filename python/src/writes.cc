// Changes of an index.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bindings.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "culmen/sharded_index.h"
#include "gil.h"
#include "reports.h"
#include "shard/complete_rows.h"
#include "tables.h"
#include "text.h"

namespace culmen::python {
namespace {

// Steps of a WriteBatch with the memory that they point into.
class Steps {
 public:
  Steps() = default;
  Steps(const Steps&) = delete;  // the batch points into the tables
  Steps& operator=(const Steps&) = delete;

  void insert(std::unique_ptr<HeldTable> rows) {
    batch_.insert(rows->view());
    tables_.push_back(std::move(rows));
  }
  void upsert(std::unique_ptr<HeldTable> rows) {
    batch_.upsert(rows->view());
    tables_.push_back(std::move(rows));
  }
  // An upsert of rows of which the table may have some columns only: the others are those of the index, as it is now.
  void update(const Index& index, std::unique_ptr<HeldTable> rows) {
    try {
      batch_.upsert(completed_.emplace_back(std::make_unique<CompleteRows>(index, rows->view()))->view());
    } catch (const RowError& error) {
      throw rows->in_given_table(error);
    }
    tables_.push_back(std::move(rows));
  }
  void erase(Ids ids) {
    batch_.erase(ids_view(ids));
    ids_.push_back(std::move(ids));
  }
  void erase_texts(std::vector<std::string> texts) {
    const std::vector<std::string>& kept =
        *texts_.emplace_back(std::make_unique<std::vector<std::string>>(std::move(texts)));
    const auto& views =
        *views_.emplace_back(std::make_unique<std::vector<std::string_view>>(kept.begin(), kept.end()));
    batch_.erase(views);
  }
  void erase_where(const Filter& where) { batch_.erase_where(where); }
  // Of an Index or a ShardedIndex.
  WriteResult write(auto& index, const WriteOptions& options) const {
    try {
      return index.write(batch_, options);
    } catch (const RowError& error) {
      rethrow(error);
    }
  }
  void check(const Index& index, const WriteOptions& options) const {
    try {
      index.check(batch_, options);
    } catch (const RowError& error) {
      rethrow(error);
    }
  }

 private:
  [[noreturn]] void rethrow(const RowError& error) const {
    if (tables_.size() != 1) throw;  // a row of which table is not said
    throw tables_.front()->in_given_table(error);
  }

  WriteBatch batch_;
  std::vector<std::unique_ptr<HeldTable>> tables_;
  std::vector<std::unique_ptr<CompleteRows>> completed_;
  std::vector<Ids> ids_;
  std::vector<std::unique_ptr<std::vector<std::string>>> texts_;
  std::vector<std::unique_ptr<std::vector<std::string_view>>> views_;  // of texts_
};

template <typename Add>
auto taking_rows(Add add) {
  return [add](Steps& steps, std::size_t num_rows, const nb::list& attributes, const nb::list& columns,
               const nb::list& fields, const nb::list& field_columns, const nb::object& ids,
               const nb::object& labels, const nb::object& dropped, std::string_view id_name,
               std::string_view label_name, std::string_view id_type) {
    (steps.*add)(std::make_unique<HeldTable>(num_rows, attributes, columns, fields, field_columns, ids,
                                             labels, dropped, id_name, label_name, id_type));
  };
}

WriteOptions write_options(bool round_to_float32, std::string_view duplicates) {
  return {.round_to_float32 = round_to_float32, .duplicates = parse_duplicates(duplicates)};
}

nb::dict write(Index& index, const Steps& steps, bool round_to_float32, std::string_view duplicates,
               std::optional<std::uint64_t> expected_version) {
  WriteOptions options = write_options(round_to_float32, duplicates);
  options.expected_version = expected_version;
  return report(without_gil([&] { return steps.write(index, options); }));
}

void update(Steps& steps, const Index& index, std::size_t num_rows, const nb::list& attributes,
            const nb::list& columns, const nb::list& fields, const nb::list& field_columns,
            const nb::object& ids, const nb::object& labels, const nb::object& dropped,
            std::string_view id_name, std::string_view label_name, std::string_view id_type) {
  auto rows = std::make_unique<HeldTable>(num_rows, attributes, columns, fields, field_columns, ids, labels,
                                          dropped, id_name, label_name, id_type);
  without_gil([&] { steps.update(index, std::move(rows)); });
}

// Opens all shards in this process for one batch, durably.
nb::dict write_sharded(const nb::bytes& directory, const Steps& steps, bool round_to_float32,
                       std::string_view duplicates) {
  const std::string path(directory.c_str(), directory.size());
  const WriteOptions options = write_options(round_to_float32, duplicates);
  return report(without_gil([&] {
    ShardedIndex index = ShardedIndex::open(path, {.writable = true});
    const WriteResult result = steps.write(index, options);
    index.close();
    return result;
  }));
}

// Raises what write would.
void check(const Index& index, const Steps& steps, bool round_to_float32, std::string_view duplicates) {
  const WriteOptions options = write_options(round_to_float32, duplicates);
  without_gil([&] { steps.check(index, options); });
}

// Those calls that take nothing and may wait for a disk.
template <typename Call>
auto released(Call call) {
  return [call](Index& index) {
    const GilReleased released;
    (index.*call)();
  };
}

}  // namespace

void bind_writes(nb::module_& module) {
  nb::class_<Steps>(module, "Steps")
      .def(nb::init<>())
      .def("insert", taking_rows(&Steps::insert), nb::arg("num_rows"), nb::arg("attributes"),
           nb::arg("columns"), nb::arg("fields"), nb::arg("field_columns"), nb::arg("ids").none(),
           nb::arg("labels").none(), nb::arg("dropped").none(), nb::arg("id_name"), nb::arg("label_name"),
           nb::arg("id_type"))
      .def("upsert", taking_rows(&Steps::upsert), nb::arg("num_rows"), nb::arg("attributes"),
           nb::arg("columns"), nb::arg("fields"), nb::arg("field_columns"), nb::arg("ids").none(),
           nb::arg("labels").none(), nb::arg("dropped").none(), nb::arg("id_name"), nb::arg("label_name"),
           nb::arg("id_type"))
      .def("update", update, nb::arg("index"), nb::arg("num_rows"), nb::arg("attributes"), nb::arg("columns"),
           nb::arg("fields"), nb::arg("field_columns"), nb::arg("ids").none(), nb::arg("labels").none(),
           nb::arg("dropped").none(), nb::arg("id_name"), nb::arg("label_name"), nb::arg("id_type"))
      .def("erase", &Steps::erase)
      .def("erase_texts", &Steps::erase_texts)
      .def("erase_where", &Steps::erase_where);
  module.def("write", write, nb::arg("index"), nb::arg("steps"), nb::arg("round_to_float32"),
             nb::arg("duplicates"), nb::arg("expected_version") = nb::none());
  module.def("write_sharded", write_sharded);
  module.def("check", check);
  module.def("flush", released(&Index::flush));
  module.def("checkpoint", released(&Index::checkpoint));
  module.def("compact", [](Index& index, const nb::bytes& temp_directory) {
    const CompactOptions options = {.temp_directory = path_of(temp_directory)};
    const GilReleased released;
    index.compact(options);
  });
  module.def("close", released(&Index::close));
}

}  // namespace culmen::python
