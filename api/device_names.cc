// Names of the kinds of device memory, as the command line and answers write them.
#include "base/enum_names.h"
#include "culmen/device.h"

namespace culmen {
namespace {

constexpr EnumNames<DeviceMemory, 4> kMemories = {"kind of device memory",
                                                  {{{"auto", DeviceMemory::automatic},
                                                    {"device", DeviceMemory::device},
                                                    {"managed", DeviceMemory::managed},
                                                    {"host", DeviceMemory::host}}}};

}  // namespace

DeviceMemory parse_device_memory(std::string_view name) {
  return kMemories.parse(name);
}

std::string_view device_memory_name(DeviceMemory memory) {
  return kMemories.name(memory);
}

}  // namespace culmen
