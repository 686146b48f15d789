// culmen.Index, but for changes.
#include "culmen/index.h"
#include "base/partition_names.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "answers.h"
#include "bindings.h"
#include "culmen/error.h"
#include "device_copy.h"
#include "filters.h"
#include "gil.h"
#include "interrupt.h"
#include "names.h"
#include "queries.h"
#include "ranks.h"
#include "reports.h"
#include "row_columns.h"
#include "tables.h"
#include "text.h"

namespace culmen::python {
namespace {

// Reports to Python, and looks for Ctrl-C, from whichever thread builds.
std::function<void(std::string_view, double)> progress_to(const nb::object& callback) {
  return [&callback](std::string_view phase, double fraction) {
    const GilAcquired acquired;
    check_signals();
    if (!callback.is_none()) callback(phase, fraction);
  };
}

BuildOptions build_options(std::string_view partitioning, std::string cluster, int num_partitions,
                           int leaf_rows, std::string_view value_type, int num_threads,
                           std::vector<int> devices, const nb::object& on_progress) {
  BuildOptions options;
  if (partitioning != "automatic") set_partitions(kPartitionNames.parse(partitioning), options);
  options.cluster = std::move(cluster);
  options.num_partitions = num_partitions;
  options.leaf_rows = leaf_rows;
  options.value_type = kValueTypes.parse(value_type);
  options.num_threads = num_threads;
  options.devices = std::move(devices);
  options.stays_on_device = true;  // if one builds
  options.on_progress = progress_to(on_progress);
  return options;
}

Index build(std::size_t num_rows, const nb::list& attributes, const nb::list& columns, const nb::list& fields,
            const nb::list& field_columns, const nb::object& ids, const nb::object& labels,
            const nb::object& dropped, std::string_view id_name, std::string_view label_name,
            std::string_view id_type, std::string_view partitioning, std::string cluster, int num_partitions,
            int leaf_rows, std::string_view value_type, int num_threads, std::vector<int> devices,
            const nb::object& on_progress, const std::vector<double>& stand_ins,
            const std::vector<std::vector<double>>& quantiles, std::string_view duplicates,
            const nb::bytes& temp_directory) {
  const HeldTable table(num_rows, attributes, columns, fields, field_columns, ids, labels, dropped, id_name,
                        label_name, id_type);
  BuildOptions options = build_options(partitioning, std::move(cluster), num_partitions, leaf_rows,
                                       value_type, num_threads, std::move(devices), on_progress);
  options.stand_ins = stand_ins;
  options.quantiles = quantiles;
  options.duplicates = parse_duplicates(duplicates);
  options.temp_directory = path_of(temp_directory);
  const GilReleased released;
  try {
    return Index::build(table.view(), options);
  } catch (const RowError& error) {
    throw table.in_given_table(error);
  }
}

Index create(const nb::list& attributes, const nb::list& fields, std::string_view id_name,
             std::string_view label_name, std::string_view id_type, bool has_labels,
             std::string_view value_type, std::string cluster, int leaf_rows) {
  BuildOptions options;
  options.cluster = std::move(cluster);
  options.value_type = kValueTypes.parse(value_type);
  options.leaf_rows = leaf_rows;
  return Index::create({.attributes = attributes_of(attributes),
                        .has_labels = has_labels,
                        .fields = fields_of(fields),
                        .id_name = std::string(id_name),
                        .label_name = std::string(label_name),
                        .id_type = parse_id_type(id_type)},
                       options);
}

Index open(const nb::bytes& directory, bool writable, std::string_view durability, int num_threads,
           std::string_view loading, std::uint64_t max_memory, const nb::bytes& temp_directory,
           std::string_view codes, int codes_device) {
  const std::string path = path_of(directory), temporary = path_of(temp_directory);
  const GilReleased released;
  return Index::open(path, {.writable = writable,
                            .durability = parse_durability(durability),
                            .num_threads = num_threads,
                            .loading = parse_loading(loading),
                            .max_memory = max_memory,
                            .temp_directory = temporary,
                            .codes = parse_codes_in(codes),
                            .codes_device = codes_device});
}

SearchResult search(const Index& index, nb::handle weights, std::optional<std::size_t> k, nb::handle where,
                    std::optional<double> min_score, std::string_view scale, std::string_view missing,
                    std::string_view terms, std::string_view engine, int num_threads) {
  const Query query = query_of(index, weights, k, where, min_score, scale, missing, terms);
  const SearchOptions options = {
      .engine = parse_engine(engine), .num_threads = num_threads, .on_progress = watched()};
  const GilReleased released;
  return index.search(query, options);
}

SearchResult search_page(const Index& index, nb::handle weights, std::optional<std::size_t> k,
                         nb::handle where, std::optional<double> min_score, std::string_view scale,
                         std::string_view missing, std::string_view terms, std::string_view engine,
                         int num_threads, const GivenAfter& after, const GivenPer& per) {
  Query query = query_of(index, weights, k, where, min_score, scale, missing, terms);
  set_page(after, per, query);
  const SearchOptions options = {
      .engine = parse_engine(engine), .num_threads = num_threads, .on_progress = watched()};
  const GilReleased released;
  return index.search(query, options);
}

std::vector<std::optional<Row>> rows_with(const Index& index, const std::vector<std::int64_t>& ids) {
  return index.get(ids);
}
std::vector<std::optional<Row>> rows_with(const Index& index, const std::vector<std::string>& texts) {
  return index.get(std::vector<std::string_view>(texts.begin(), texts.end()));
}

// As reasons; None for an id that is not there.
nb::object why(const Index& index, nb::handle weights, std::string_view scale, std::string_view missing,
               const std::variant<std::vector<std::int64_t>, std::vector<std::string>>& ids) {
  const Query query = query_of(index, weights, 1, nb::none(), std::nullopt, scale, missing, "");
  const Index version = index.snapshot();
  const std::vector<std::optional<Row>> found = without_gil(
      [&] { return std::visit([&](const auto& given) { return rows_with(version, given); }, ids); });
  std::vector<Row> rows;
  for (const std::optional<Row>& row : found) {
    if (!row) return nb::none();
    rows.push_back(*row);
  }
  return reasons(query, rows, without_gil([&] { return version.info(query.scale); }));
}

ManyAnswers search_matrix(const Index& index, const Matrix& weights, std::optional<std::size_t> k,
                          nb::handle where, std::optional<double> min_score, std::string_view scale,
                          std::string_view missing, std::string_view terms, std::string_view engine,
                          int num_threads, const Out& out, const nb::object& progress) {
  return search_many(
      index, matrix_query_of(index, weights, k, where, min_score, scale, missing, terms),
      {.engine = parse_engine(engine), .num_threads = num_threads, .on_progress = watched(progress)},
      arrays_of(out));
}

ManyAnswers search_each(const Index& index, const Matrix& weights, const nb::list& ks, const nb::list& wheres,
                        const nb::list& min_scores, std::string_view scale, std::string_view missing,
                        std::string_view terms, std::string_view engine, int num_threads,
                        const nb::object& progress) {
  return search_many(
      index, each_query_of(index, weights, ks, wheres, min_scores, scale, missing, terms),
      {.engine = parse_engine(engine), .num_threads = num_threads, .on_progress = watched(progress)});
}

nb::dict explain(const Index& index, nb::handle weights, std::optional<std::size_t> k, nb::handle where,
                 std::optional<double> min_score, std::string_view scale, std::string_view missing,
                 std::string_view terms, std::string_view engine, int num_threads) {
  const Query query = query_of(index, weights, k, where, min_score, scale, missing, terms);
  const SearchOptions options = {
      .engine = parse_engine(engine), .num_threads = num_threads, .on_progress = watched()};
  return report(without_gil([&] { return index.explain(query, options); }));
}

}  // namespace

void bind_index(nb::module_& module) {
  module.def("build", build, nb::arg("num_rows"), nb::arg("attributes"), nb::arg("columns"),
             nb::arg("fields"), nb::arg("field_columns"), nb::arg("ids").none(), nb::arg("labels").none(),
             nb::arg("dropped").none(), nb::arg("id_name"), nb::arg("label_name"), nb::arg("id_type"),
             nb::arg("partitioning"), nb::arg("cluster"), nb::arg("num_partitions"), nb::arg("leaf_rows"),
             nb::arg("value_type"), nb::arg("num_threads"), nb::arg("devices"), nb::arg("on_progress").none(),
             nb::arg("stand_ins"), nb::arg("quantiles"), nb::arg("duplicates"), nb::arg("temp_directory"));
  module.def("create", create);
  module.def("open", open, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg("codes") = "files", nb::arg("codes_device") = 0);
  module.def("repair", [](const nb::bytes& source, const nb::bytes& target) {
    const std::string from = path_of(source), to = path_of(target);
    return report(without_gil([&] { return Index::repair(from, to); }));
  });
  nb::class_<Index> bound(module, "Index");
  bind_ranks(bound);
  bound
      .def("search", search, nb::arg("weights"), nb::arg("k").none(), nb::arg("where").none(),
           nb::arg("min_score").none(), nb::arg("scale"), nb::arg("missing"), nb::arg("terms"),
           nb::arg("engine"), nb::arg("num_threads"))
      .def("search_page", search_page, nb::arg("weights"), nb::arg("k").none(), nb::arg("where").none(),
           nb::arg("min_score").none(), nb::arg("scale"), nb::arg("missing"), nb::arg("terms"),
           nb::arg("engine"), nb::arg("num_threads"), nb::arg("after").none(), nb::arg("per").none())
      .def("why", why, nb::arg("weights"), nb::arg("scale"), nb::arg("missing"), nb::arg("ids"))
      .def("search_matrix", search_matrix, nb::arg("weights"), nb::arg("k").none(), nb::arg("where").none(),
           nb::arg("min_score").none(), nb::arg("scale"), nb::arg("missing"), nb::arg("terms"),
           nb::arg("engine"), nb::arg("num_threads"), nb::arg("out").noconvert().none() = nb::none(),
           nb::arg("progress").none() = nb::none())
      .def("search_each", search_each, nb::arg("weights"), nb::arg("ks"), nb::arg("wheres"),
           nb::arg("min_scores"), nb::arg("scale"), nb::arg("missing"), nb::arg("terms"), nb::arg("engine"),
           nb::arg("num_threads"), nb::arg("progress").none() = nb::none())
      .def("explain", explain, nb::arg("weights"), nb::arg("k").none(), nb::arg("where").none(),
           nb::arg("min_score").none(), nb::arg("scale"), nb::arg("missing"), nb::arg("terms"),
           nb::arg("engine"), nb::arg("num_threads"))
      .def("get", rows_of_ids<Index>)
      .def("get_texts", rows_of_texts<Index>)
      .def("look_up", look_up_ids<Index>)
      .def("look_up_texts", look_up_texts<Index>)
      .def("contains_text",
           [](const Index& index, const std::string& text) {
             return without_gil([&] { return index.contains(std::string_view(text)); });
           })
      .def("contains", [](const Index& index,
                          std::int64_t id) { return without_gil([&] { return index.contains(id); }); })
      .def("save",
           [](const Index& index, const nb::bytes& directory, bool overwrite) {
             const std::string path = path_of(directory);
             without_gil([&] { index.save(path, {.overwrite = overwrite}); });
           })
      .def("snapshot", &Index::snapshot)
      .def("version", &Index::version)
      .def("refresh",
           [](Index& index) { return kRefreshed.name(without_gil([&] { return index.refresh(); })); })
      .def("recovery", [](const Index& index) { return report(index.recovery()); })
      .def("info", [](const Index& index) { return report(without_gil([&] { return index.info(); })); })
      .def("schema", [](const Index& index) { return report(index.schema()); })
      .def("verify",
           [](const Index& index, bool deep) { return without_gil([&] { return index.verify(deep); }); })
      .def("to_device",
           [](const Index& index, int device, std::string_view memory, bool resident) {
             return without_gil([&] {
               return DeviceCopy{index, index.to_device({.device = device,
                                                         .memory = parse_device_memory(memory),
                                                         .resident = resident})};
             });
           })
      .def("to_devices", [](const Index& index, const std::vector<int>& devices, std::string_view memory,
                            std::string_view layout, bool resident) {
        return without_gil([&] {
          return GroupCopy{index, index.to_devices(devices, {.memory = parse_device_memory(memory),
                                                             .layout = parse_device_layout(layout),
                                                             .resident = resident})};
        });
      });
}

}  // namespace culmen::python
