// What calls report, as dicts whose keys are the fields of the dataclasses in culmen/_reports.py.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <span>

#include "culmen/device.h"
#include "culmen/index.h"

namespace culmen::python {

namespace nb = nanobind;

// (type, unit, time zone), as format_of takes it.
nb::tuple format_tuple(const ColumnFormat& format);

nb::dict report(const SearchStats& stats);
nb::dict report(const IndexInfo& info);
nb::dict report(const Schema& schema);
nb::dict report(const WriteResult& result);
nb::dict report(const RecoveryInfo& info);
nb::dict report(const RepairReport& repair);
nb::dict report(const Explanation& explanation);
nb::dict report(const RefreshStats& stats);

// (rank, score), or None.
nb::object report(const std::optional<RowRank>& rank);

// The parts of each row's score, (attribute, weight, value, part, is_missing); and of two rows the weights with which they
// score the same, (attribute, weight, even). info: as score_parts takes it.
nb::tuple reasons(const Query& query, std::span<const Row> rows, const IndexInfo& info);

}  // namespace culmen::python
