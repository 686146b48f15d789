// Names of the kinds of device memory, as the command line and answers write them.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "culmen/device.h"
#include "culmen/error.h"

namespace culmen {
namespace {

constexpr std::array<std::pair<std::string_view, DeviceMemory>, 4> kMemories = {
    {{"auto", DeviceMemory::automatic},
     {"device", DeviceMemory::device},
     {"managed", DeviceMemory::managed},
     {"host", DeviceMemory::host}}};

}  // namespace

DeviceMemory parse_device_memory(std::string_view name) {
  std::string known;
  for (const auto& [text, memory] : kMemories) {
    if (text == name) return memory;
    known += (known.empty() ? "" : ", ") + std::string(text);
  }
  throw InvalidArgument("unknown kind of device memory \"" + std::string(name) + "\"; known: " + known);
}

std::string_view device_memory_name(DeviceMemory memory) {
  return std::find_if(kMemories.begin(), kMemories.end(),
                      [memory](const auto& m) { return m.second == memory; })
      ->first;
}

}  // namespace culmen
