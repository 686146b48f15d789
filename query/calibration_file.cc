#include "query/calibration_file.h"

#include <tbb/info.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "cpu/simd/kernels.h"

namespace culmen {
namespace {

using nlohmann::json;

constexpr int kFormat = 3;
constexpr std::size_t kMaxFileBytes = 1 << 16;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// As Linux tells it; elsewhere the instruction set has to do.
std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) {
      const std::size_t colon = line.find(": ");
      if (colon != std::string::npos) return line.substr(colon + 2);
    }
  return "processor";
}

}  // namespace

std::filesystem::path calibration_path() {
  if (const char* chosen = std::getenv("CULMEN_CALIBRATION")) return chosen;
  std::filesystem::path cache = environment("XDG_CACHE_HOME");
  if (cache.empty()) {
    const std::string home = environment("HOME");
    if (home.empty()) return {};
    cache = std::filesystem::path(home) / ".cache";
  }
  return cache / "culmen" / ("costs-" + std::to_string(tbb::info::default_concurrency()) + ".json");
}

std::string machine_name() {
  return processor_name() + ", " + simd::current_target() + ", " +
         std::to_string(tbb::info::default_concurrency()) + " threads";
}

namespace {

// All constants of a table by their names; nullopt unless each is there, finite and not negative.
template <typename Costs, typename Constants>
std::optional<Costs> read_constants(const json& object, const Constants& constants) {
  Costs costs;
  if (!object.is_object()) return std::nullopt;
  for (const auto& constant : constants) {
    const auto found = object.find(constant.name);
    if (found == object.end() || !found->is_number()) return std::nullopt;
    const auto value = found->template get<double>();
    if (!std::isfinite(value) || value < 0) return std::nullopt;
    costs.*constant.value = value;
  }
  return costs;
}

template <typename Costs, typename Constants>
json write_constants(const Costs& costs, const Constants& constants) {
  json object = json::object();
  for (const auto& constant : constants) object[std::string(constant.name)] = costs.*constant.value;
  return object;
}

}  // namespace

std::optional<MeasuredCosts> parse_costs(const std::string& text, const std::string& machine) {
  const json file = json::parse(text, nullptr, false);
  if (!file.is_object() || file.value("format", json()) != kFormat ||
      file.value("machine", json()) != machine)
    return std::nullopt;
  const json sure = file.value("sure", json());
  const std::optional costs = read_constants<MachineCosts>(file.value("costs", json()), kCostConstants);
  if (!sure.is_boolean() || !costs) return std::nullopt;
  MeasuredCosts measured{*costs, sure.get<bool>(), {}};
  if (!file.contains("device")) return measured;
  measured.device = read_constants<DeviceCosts>(file["device"], kDeviceConstants);
  return measured.device ? std::optional(measured) : std::nullopt;
}

std::string costs_text(const MeasuredCosts& measured, const std::string& machine) {
  json file = {{"format", kFormat},
               {"machine", machine},
               {"sure", measured.is_sure},
               {"costs", write_constants(measured.costs, kCostConstants)}};
  if (measured.device) file["device"] = write_constants(*measured.device, kDeviceConstants);
  return file.dump(2) + "\n";
}

std::optional<MeasuredCosts> load_costs(const std::filesystem::path& path) noexcept try {
  if (path.empty() || !std::filesystem::is_regular_file(path) ||
      std::filesystem::file_size(path) > kMaxFileBytes)
    return std::nullopt;
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return parse_costs(text.str(), machine_name());
} catch (const std::exception&) {
  return std::nullopt;
}

// Under a name of its own first: a reader finds the old file or the new one, never half of one.
bool save_costs(const std::filesystem::path& path, const MeasuredCosts& measured) noexcept try {
  if (path.empty()) return false;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path());
  std::filesystem::path unfinished = path;
  unfinished += ".part";
  unfinished += std::to_string(::getpid());
  {
    std::ofstream file(unfinished);
    file << costs_text(measured, machine_name());
    if (!file.flush()) {
      std::error_code ignored;
      std::filesystem::remove(unfinished, ignored);
      return false;
    }
  }
  std::filesystem::rename(unfinished, path);
  return true;
} catch (const std::exception&) {
  return false;
}

}  // namespace culmen
