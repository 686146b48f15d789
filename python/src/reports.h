// What calls report, as dicts whose keys are the fields of the dataclasses in culmen/_reports.py.
#pragma once

#include <nanobind/nanobind.h>

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

}  // namespace culmen::python
