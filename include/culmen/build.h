// How an index is built and saved: the options of Index::build and Index::save.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "culmen/resources.h"
#include "culmen/schema.h"

namespace culmen {

struct BuildOptions {
  Partitioning partitioning = Partitioning::automatic;
  int num_splits = 0;      // angle: the paper's grid instead of ours: s parts per angle, s^(d-1) partitions
  int num_partitions = 0;  // random: how many; kd, angle: about how many, without num_splits. 0: chosen
  int leaf_rows = 0;       // rows per leaf, a multiple of 16 up to 4096; 0: 96
  ValueType value_type = ValueType::automatic;
  int num_threads = kAllCores;  // never changes a byte of the index
  // The GPU that builds, as CUDA numbers them (culmen/device.h); kNoDevice: the CPU. It never changes a byte
  // either. Fastest from columns, or from a row-major matrix, in pinned host memory.
  int device = kNoDevice;
  // With a GPU: what the build has put there stays, if there is room, until the index is destroyed or
  // to_device for that GPU takes it over instead of copying.
  bool stays_on_device = false;
  // Called from time to time, from one thread, with fraction 0..1. An exception from it abandons the build.
  std::function<void(std::string_view phase, double fraction)> on_progress = {};
};

struct SaveOptions {
  // Replace an index that is already in the directory; the old one stays whole until then.
  bool overwrite = false;
};

}  // namespace culmen
