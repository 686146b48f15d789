// Where the constants of the cost model are kept from run to run: a small JSON file, one for each number of
// threads.
//
//   {"format": 3, "machine": "Intel(R) Xeon(R) ... AVX3, 2 threads", "sure": true,
//    "costs": {"search_ns": 1012.5, ...}, "device": {"device_launch_ns": 8200, ...}}
//
// "device" is there if a GPU was. A file that is missing, damaged, of another format or of another machine is
// no error: there are no costs in it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "query/calibrate.h"

namespace culmen {

// $CULMEN_CALIBRATION; else culmen/costs-<threads>.json under $XDG_CACHE_HOME or $HOME/.cache. Empty if none
// of these is set, or if CULMEN_CALIBRATION is set but empty: then nothing is kept.
std::filesystem::path calibration_path();

// Processor, instruction set and threads: what constants are for.
std::string machine_name();

// Costs from the text of a file. nullopt unless all are there, finite and not negative, for `machine`.
std::optional<MeasuredCosts> parse_costs(const std::string& text, const std::string& machine);
std::string costs_text(const MeasuredCosts& measured, const std::string& machine);

// Neither throws. save: whether the file is there now, whole; it replaces what stood there.
std::optional<MeasuredCosts> load_costs(const std::filesystem::path& path) noexcept;
bool save_costs(const std::filesystem::path& path, const MeasuredCosts& measured) noexcept;

}  // namespace culmen
