// culmen.DeviceIndex: the copy of an index on a GPU. culmen.DeviceGroup: those on several.
#include "device_copy.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "answers.h"
#include "bindings.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "filters.h"
#include "gil.h"
#include "interrupt.h"
#include "names.h"
#include "queries.h"
#include "ranks.h"
#include "reports.h"

namespace culmen::python {
namespace {

template <typename T>
T* pointer(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

// Contexts for a caller's stream.
DeviceContext make_context(const DeviceCopy& copy, std::uintptr_t stream) {
  return copy.on_gpu.make_context({.stream = pointer<CUstream_st>(stream)});
}
GroupContext make_group_context(const GroupCopy& copy, std::uintptr_t stream, int device) {
  return copy.on_gpu.make_context({.device = device, .stream = pointer<CUstream_st>(stream)});
}

template <typename Copy>
SearchResult search_page(const Copy& copy, nb::handle weights, std::optional<std::size_t> k, nb::handle where,
                         std::optional<double> min_score, std::string_view scale, std::string_view missing,
                         std::string_view terms, std::string_view engine, const GivenAfter& after,
                         const GivenPer& per) {
  Query query = query_of(copy.index, weights, k, where, min_score, scale, missing, terms);
  set_page(after, per, query);
  const GilReleased released;
  return copy.on_gpu.search(query, {.engine = parse_engine(engine), .on_progress = watched()});
}

template <typename Copy>
SearchResult search(const Copy& copy, nb::handle weights, std::optional<std::size_t> k, nb::handle where,
                    std::optional<double> min_score, std::string_view scale, std::string_view missing,
                    std::string_view terms, std::string_view engine) {
  return search_page(copy, weights, k, where, min_score, scale, missing, terms, engine, std::nullopt,
                     std::nullopt);
}

BatchAnswers padded(const std::vector<SearchResult>& results, const Index& index) {
  LongAnswers answers;
  answers.append(results);
  return answers.padded(results.empty() ? index.version() : results.front().version());
}

template <typename Copy>
BatchAnswers search_on_gpu(const Copy& copy, const MatrixQuery& query, std::size_t width,
                           const SearchOptions& options, const std::optional<AnswerArrays>& out) {
  if (out) {
    BatchAnswers elsewhere;
    elsewhere.num_queries = out->counts.size();
    elsewhere.version = copy.on_gpu.search_batch(query.batch, *out, options);
    return elsewhere;
  }
  if (query.has_k) return copy.on_gpu.search_batch(query.batch, options);
  const std::vector<Query> queries = queries_of(query, width, 0, query.batch.weights.size() / width);
  return padded(copy.on_gpu.search(queries, options), copy.index);
}

// search() returns answers, beside the version of the index that they are of.
template <typename Copy>
ManyAnswers of_one_version(const Copy& copy, const auto& search) {
  for (;;) {  // again if a change was published between the two
    const Index version = copy.index.snapshot();
    BatchAnswers answers = search();
    if (answers.version == version.version()) return {std::move(answers), version};
  }
}

template <typename Copy>
ManyAnswers search_matrix(const Copy& copy, const Matrix& weights, std::optional<std::size_t> k,
                          nb::handle where, std::optional<double> min_score, std::string_view scale,
                          std::string_view missing, std::string_view terms, std::string_view engine,
                          const Out& out, const nb::object& progress) {
  const MatrixQuery query = matrix_query_of(copy.index, weights, k, where, min_score, scale, missing, terms);
  const std::optional<AnswerArrays> arrays = arrays_of(out);
  const SearchOptions options = {.engine = parse_engine(engine), .on_progress = watched(progress)};
  const std::size_t width = weights.shape(1);
  const GilReleased released;
  try {
    return of_one_version(copy, [&] { return search_on_gpu(copy, query, width, options, arrays); });
  } catch (const InvalidArgument&) {
    throw_refusal(copy.index, query, width);
    throw;
  }
}

template <typename Copy>
ManyAnswers search_each(const Copy& copy, const Matrix& weights, const nb::list& ks, const nb::list& wheres,
                        const nb::list& min_scores, std::string_view scale, std::string_view missing,
                        std::string_view terms, std::string_view engine, const nb::object& progress) {
  const EachQuery each = each_query_of(copy.index, weights, ks, wheres, min_scores, scale, missing, terms);
  const std::vector<Query> queries = queries_of(copy.index, each, 0, each.num_queries());
  const SearchOptions options = {.engine = parse_engine(engine), .on_progress = watched(progress)};
  const GilReleased released;
  try {
    return of_one_version(copy, [&] { return padded(copy.on_gpu.search(queries, options), copy.index); });
  } catch (const InvalidArgument&) {
    throw_refusal(copy.index, queries, 0);
    throw;
  }
}

// The addresses are in device memory; culmen/device.h has the shapes.
template <typename Copy, typename Context>
void search_async(const Copy& copy, std::uintptr_t weights, std::size_t num_queries, std::size_t k,
                  nb::handle where, std::optional<double> min_score, std::string_view missing,
                  std::uintptr_t ids, std::uintptr_t scores, std::uintptr_t counts, Context& context) {
  const DeviceBatch batch = {.weights = pointer<const double>(weights),
                             .num_queries = num_queries,
                             .k = k,
                             .where = filter_of(copy.index, where),
                             .min_score = min_score,
                             .missing = kMissing.parse(missing)};
  const GilReleased released;
  copy.on_gpu.search_async(
      batch, {pointer<std::int64_t>(ids), pointer<double>(scores), pointer<std::uint32_t>(counts)}, context);
}

template <typename Copy, typename Context>
nb::class_<Copy> bind_searches(nb::module_& module, const char* name) {
  nb::class_<Copy> copy(module, name);
  bind_ranks(copy);
  return copy
      .def("search", search<Copy>, nb::arg("weights"), nb::arg("k").none(), nb::arg("where").none(),
           nb::arg("min_score").none(), nb::arg("scale"), nb::arg("missing"), nb::arg("terms"),
           nb::arg("engine"))
      .def("search_page", search_page<Copy>, nb::arg("weights"), nb::arg("k").none(), nb::arg("where").none(),
           nb::arg("min_score").none(), nb::arg("scale"), nb::arg("missing"), nb::arg("terms"),
           nb::arg("engine"), nb::arg("after").none(), nb::arg("per").none())
      .def("search_matrix", search_matrix<Copy>, nb::arg("weights"), nb::arg("k").none(),
           nb::arg("where").none(), nb::arg("min_score").none(), nb::arg("scale"), nb::arg("missing"),
           nb::arg("terms"), nb::arg("engine"), nb::arg("out").noconvert().none() = nb::none(),
           nb::arg("progress").none() = nb::none())
      .def("search_each", search_each<Copy>, nb::arg("weights"), nb::arg("ks"), nb::arg("wheres"),
           nb::arg("min_scores"), nb::arg("scale"), nb::arg("missing"), nb::arg("terms"), nb::arg("engine"),
           nb::arg("progress").none() = nb::none())
      .def("search_async", search_async<Copy, Context>, nb::arg("weights"), nb::arg("num_queries"),
           nb::arg("k"), nb::arg("where").none(), nb::arg("min_score").none(), nb::arg("missing"),
           nb::arg("ids"), nb::arg("scores"), nb::arg("counts"), nb::arg("context"));
}

template <typename Context>
void bind_context(nb::module_& module, const char* name) {
  nb::class_<Context>(module, name).def("synchronize", [](const Context& context) {
    const GilReleased released;
    context.synchronize();
  });
}

nb::list members_of(const GroupCopy& copy) {
  nb::list members;
  for (const DeviceMember& member : copy.on_gpu.members()) {
    nb::dict entry;
    entry["device"] = ("cuda:" + std::to_string(member.device)).c_str();
    entry["memory"] = device_memory_name(member.memory);
    entry["device_bytes"] = member.device_bytes;
    entry["share"] = member.share;
    entry["is_usable"] = member.is_usable;
    members.append(entry);
  }
  return members;
}

nb::list refresh_group(const GroupCopy& copy) {
  nb::list reports;
  for (const RefreshStats& stats : without_gil([&] { return copy.on_gpu.refresh(); }))
    reports.append(report(stats));
  return reports;
}

}  // namespace

void bind_device(nb::module_& module) {
  module.def("num_devices", num_devices,
             "How many GPUs there are: 0 also without a driver, or if culmen was built without CUDA.");
  bind_context<DeviceContext>(module, "DeviceContext");
  bind_context<GroupContext>(module, "GroupContext");
  bind_searches<GroupCopy, GroupContext>(module, "DeviceGroup")
      .def("make_context", make_group_context)
      .def("refresh", refresh_group)
      .def("members", members_of);
  bind_searches<DeviceCopy, DeviceContext>(module, "DeviceIndex")
      .def("make_context", make_context)
      .def("refresh",
           [](const DeviceCopy& copy) { return report(without_gil([&] { return copy.on_gpu.refresh(); })); })
      .def("device", [](const DeviceCopy& copy) { return copy.on_gpu.device(); })
      .def("memory", [](const DeviceCopy& copy) { return device_memory_name(copy.on_gpu.memory()); })
      .def("device_bytes", [](const DeviceCopy& copy) { return copy.on_gpu.device_bytes(); })
      .def("num_resident_multiprocessors",
           [](const DeviceCopy& copy) { return copy.on_gpu.num_resident_multiprocessors(); });
}

}  // namespace culmen::python
