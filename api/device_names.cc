// Names of the kinds of device memory, as the command line and answers write them.
#include "base/enum_names.h"
#include "culmen/device_group.h"

namespace culmen {
namespace {

constexpr EnumNames<DeviceMemory, 5> kMemories = {"kind of device memory",
                                                  {{{"auto", DeviceMemory::automatic},
                                                    {"device", DeviceMemory::device},
                                                    {"managed", DeviceMemory::managed},
                                                    {"host", DeviceMemory::host},
                                                    {"compressed", DeviceMemory::compressed}}}};

constexpr EnumNames<DeviceLayout, 2> kLayouts = {
    "layout of a group", {{{"replicate", DeviceLayout::replicate}, {"shard", DeviceLayout::shard}}}};

}  // namespace

DeviceLayout parse_device_layout(std::string_view name) {
  return kLayouts.parse(name);
}

std::string_view device_layout_name(DeviceLayout layout) {
  return kLayouts.name(layout);
}

DeviceMemory parse_device_memory(std::string_view name) {
  return kMemories.parse(name);
}

std::string_view device_memory_name(DeviceMemory memory) {
  return kMemories.name(memory);
}

}  // namespace culmen
