#include "reports.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "base/partition_names.h"
#include "culmen/why.h"
#include "names.h"
#include "text.h"

namespace culmen::python {
namespace {

nb::object device_of(int device) {
  if (device < 0) return nb::none();
  return nb::str(("cuda:" + std::to_string(device)).c_str());
}

}  // namespace

nb::tuple format_tuple(const ColumnFormat& format) {
  const bool is_time = format.type == ColumnType::timestamp;
  return nb::make_tuple(kColumnTypes.name(format.type),
                        is_time ? kTimeUnits.name(format.unit) : std::string_view(), format.time_zone);
}

nb::dict report(const SearchStats& stats) {
  nb::dict out;
  out["engine"] = engine_name(stats.engine);
  out["rows_in_index"] = stats.rows_in_index;
  out["rows_scored"] = stats.rows_scored;
  out["rows_by_codes"] = stats.rows_by_codes;
  out["leaves_visited"] = stats.leaves_visited;
  out["nodes_visited"] = stats.nodes_visited;
  out["bounds_computed"] = stats.bounds_computed;
  out["leaves_tied_out"] = stats.leaves_tied_out;
  out["candidates"] = stats.candidates;
  out["replacements"] = stats.replacements;
  out["bytes_touched"] = stats.bytes_touched;
  out["ids_looked_up"] = stats.ids_looked_up;
  out["by_id_map"] = stats.by_id_map;
  out["scan_fallback"] = stats.scan_fallback;
  out["device"] = device_of(stats.device);
  out["elapsed_us"] = stats.elapsed_us;
  return out;
}

nb::dict report(const IndexInfo& info) {
  nb::list attributes;
  for (const AttributeInfo& attribute : info.attributes) {
    nb::dict entry;
    entry["name"] = attribute.name;
    entry["preference"] = kPreferences.name(attribute.preference);
    entry["minimum"] = attribute.minimum;
    entry["maximum"] = attribute.maximum;
    entry["stand_in"] = attribute.stand_in_value;
    entry["has_missing"] = attribute.has_missing;
    attributes.append(entry);
  }
  nb::dict out;
  out["num_rows"] = info.num_rows;
  out["attributes"] = attributes;
  out["value_type"] = kValueTypes.name(info.value_type);
  out["has_labels"] = info.has_labels;
  out["partitioning"] = partition_name(info);
  out["cluster"] = info.cluster.empty() ? nb::object(nb::none()) : nb::cast(info.cluster);
  out["num_partitions"] = info.num_partitions;
  out["leaf_rows"] = info.leaf_rows;
  out["num_leaves"] = info.num_leaves;
  out["num_nodes"] = info.num_nodes;
  out["height"] = info.height;
  out["data_bytes"] = info.data_bytes;
  out["overhead_bytes"] = info.overhead_bytes;
  out["code_bytes"] = info.code_bytes;
  out["num_reads"] = info.num_reads;
  out["next_id"] = info.next_id;
  out["rounded_values"] = info.rounded_values;
  out["uuid"] = info.uuid;
  out["version"] = info.version;
  out["compact_advised"] = info.compact_advised;
  return out;
}

// As attributes_of and fields_of take them.
nb::dict report(const Schema& schema) {
  nb::list attributes, fields;
  for (const Attribute& attribute : schema.attributes)
    attributes.append(nb::make_tuple(attribute.name, kPreferences.name(attribute.preference),
                                     kStandIns.name(attribute.stand_in), attribute.number,
                                     format_tuple(attribute.format)));
  for (const Field& field : schema.fields)
    fields.append(nb::make_tuple(field.name, kFieldRoles.name(field.role), format_tuple(field.format)));
  nb::dict out;
  out["attributes"] = attributes;
  out["fields"] = fields;
  out["has_labels"] = schema.has_labels;
  out["id_name"] = schema.id_name;
  out["label_name"] = schema.label_name;
  out["id_type"] = id_type_name(schema.id_type);
  return out;
}

nb::dict report(const WriteResult& result) {
  nb::dict out;
  out["version"] = result.version;
  out["inserted"] = result.inserted;
  out["replaced"] = result.replaced;
  out["erased"] = result.erased;
  out["first_id"] = result.first_id < 0 ? nb::none() : nb::cast(result.first_id);
  out["repeated"] = result.repeated;
  return out;
}

nb::dict report(const RecoveryInfo& info) {
  nb::dict out;
  out["num_batches"] = info.num_batches;
  out["dropped_bytes"] = info.dropped_bytes;
  out["dropped_from"] = system_text(info.dropped_from);
  return out;
}

nb::dict report(const RepairReport& repair) {
  nb::list dropped;
  for (const std::string& line : repair.dropped) dropped.append(system_text(line));
  nb::dict out;
  out["rows_kept"] = repair.rows_kept;
  out["rows_lost"] = repair.rows_lost;
  out["batches_applied"] = repair.batches_applied;
  out["batches_lost"] = repair.batches_lost;
  out["dropped"] = dropped;
  return out;
}

nb::dict report(const Explanation& explanation) {
  nb::list predictions;
  for (const Prediction& prediction : explanation.predictions) {
    nb::dict entry;
    entry["engine"] = engine_name(prediction.engine);
    entry["elapsed_us"] = prediction.elapsed_us;
    entry["device"] = device_of(prediction.device);
    predictions.append(entry);
  }
  nb::dict out;
  out["engine"] = engine_name(explanation.engine);
  out["reason"] = explanation.reason;
  out["predictions"] = predictions;
  out["text"] = explanation.text;
  return out;
}

nb::dict report(const RefreshStats& stats) {
  nb::dict out;
  out["version"] = stats.version;
  out["leaves"] = stats.leaves;
  out["nodes"] = stats.nodes;
  out["bytes"] = stats.bytes;
  out["is_whole"] = stats.is_whole;
  out["elapsed_us"] = stats.elapsed_us;
  return out;
}

nb::object report(const std::optional<RowRank>& rank) {
  if (!rank) return nb::none();
  return nb::make_tuple(rank->rank, rank->score);
}

nb::tuple reasons(const Query& query, std::span<const Row> rows, const IndexInfo& info) {
  nb::list all_parts, even;
  for (const Row& row : rows) {
    nb::list parts;
    for (const ScorePart& part : score_parts(query, row, info))
      parts.append(nb::make_tuple(part.attribute, part.weight, part.value, part.part, part.is_missing));
    all_parts.append(parts);
  }
  if (rows.size() == 2)
    for (const EvenWeight& weight : even_weights(query, rows[0], rows[1], info))
      even.append(nb::make_tuple(weight.attribute, weight.weight, weight.even));
  return nb::make_tuple(all_parts, even);
}

}  // namespace culmen::python
