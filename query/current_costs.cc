#include "query/current_costs.h"

#include <mutex>
#include <optional>

#include "culmen/calibrate.h"
#include "culmen/device.h"
#include "query/calibrate.h"
#include "query/calibration_file.h"

namespace culmen {
namespace {

struct CurrentCosts {
  MeasuredCosts measured;
  std::filesystem::path file;
  bool is_measured = false;

  static CurrentCosts load() {
    CurrentCosts current;
    current.file = calibration_path();
    if (const std::optional<MeasuredCosts> kept = load_costs(current.file)) {
      current.measured = *kept;
      current.is_measured = true;
    }
    return current;
  }
};

std::mutex current_mutex;

// Guarded by current_mutex.
CurrentCosts& current() {
  static CurrentCosts instance = CurrentCosts::load();
  return instance;
}

Calibration describe(const CurrentCosts& of) {
  Calibration result{of.is_measured, of.measured.is_sure, of.file, {}};
  const auto add = [&](const auto& costs, const auto& constants) {
    for (const auto& constant : constants)
      result.costs.push_back(
          {std::string(constant.name), std::string(constant.meaning), costs.*constant.value});
  };
  add(of.measured.costs, kCostConstants);
  if (of.measured.device) add(*of.measured.device, kDeviceConstants);
  return result;
}

}  // namespace

MachineCosts current_costs() {
  const std::lock_guard lock(current_mutex);
  return current().measured.costs;
}

std::optional<DeviceCosts> current_device_costs() {
  if (num_devices() == 0) return std::nullopt;
  const std::lock_guard lock(current_mutex);
  return current().measured.device.value_or(DeviceCosts());
}

Calibration calibration() {
  const std::lock_guard lock(current_mutex);
  return describe(current());
}

Calibration calibrate() {
  CurrentCosts fresh{measure_costs(), calibration_path(), true};
  const std::lock_guard lock(current_mutex);
  // What a busy machine has blurred does not take the place of what a quiet one has told.
  if (!fresh.measured.is_sure && current().is_measured && current().measured.is_sure &&
      current().file == fresh.file)
    return describe(current());
  if (!save_costs(fresh.file, fresh.measured)) fresh.file.clear();
  current() = fresh;
  return describe(fresh);
}

}  // namespace culmen
