// Options of Index::build, Index::save and Index::compact.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/resources.h"
#include "culmen/schema.h"
#include "culmen/table.h"

namespace culmen {

struct BuildOptions {
  Partitioning partitioning = Partitioning::automatic;
  Shells shells = Shells::automatic;  // of kd and angle partitions
  RowOrder row_order =
      RowOrder::automatic;  // up to 64 attributes; rows of wider tables are ordered by their lengths
  int num_splits = 0;       // angle: the paper's grid, s parts per angle and s^(d-1) partitions. 0: ours
  int num_partitions = 0;  // random: how many; kd, angle: about how many, unless num_splits is set. 0: chosen
  // Groups rows by a column first: an attribute or a filter column. A filter on it then meets few other rows, and queries
  // without such a filter become slower. Needs k-d partitions; the CPU builds it. Empty: by all attributes alike.
  std::string cluster = {};
  int leaf_rows = 0;  // rows per leaf, a multiple of 16 up to 4096; 0: 96
  ValueType value_type = ValueType::automatic;
  // What stands in for missing values, [num_attributes], whatever the table's own values are: for a part of a table, of
  // which all determines it (AttributeStatistics::stand_in). Empty: the table's rows determine it.
  std::vector<double> stand_ins = {};
  // For Scale::rank, also of all the table: [num_attributes] as AttributeStatistics::quantiles. Empty: the table's rows
  // determine them, if there are any.
  std::vector<std::vector<double>> quantiles = {};
  Duplicates duplicates = Duplicates::error;  // in the table's order
  int num_threads = kAllCores;                // never changes a byte of the index
  // The GPU that builds, by its CUDA number (culmen/device.h); kNoDevice: the CPU, which builds tables of more
  // than 64 attributes in any case. It never changes a byte of the index either. Fastest from columns, or from a row-major matrix, in pinned host memory.
  int device = kNoDevice;
  // Instead of `device`: GPUs that build together, each a share of the index, in the same bytes. A GPU may be named more
  // than once.
  std::vector<int> devices = {};
  // With one GPU: what the build has put there stays, if there is room, until the index is destroyed or to_device for
  // that GPU uses it instead of copying.
  bool stays_on_device = false;
  // For a table that is larger than memory: a directory for the large arrays of the build, in files that have no names and
  // are gone when the index is destroyed. They take about five times the table's room, and should be on a local disk. The
  // system keeps in memory what it has room for; of its own the build then has what grows with partitions, leaves and
  // distinct texts, and not with rows. The rows of the built index are there as well: save it, and open it from its
  // directory. As long as that index is changed instead, the directory must stay: changes may need further files. It never
  // changes a byte of the index. Not with GPUs. Empty: everything is in memory.
  std::filesystem::path temp_directory = {};
  // Called now and then, by one thread, with fraction 0..1. An exception from it aborts the build.
  std::function<void(std::string_view phase, double fraction)> on_progress = {};
};

struct SaveOptions {
  // Replace an index that is already in the directory. The old one stays complete until the new one is.
  bool overwrite = false;
};

struct CompactOptions {
  // As BuildOptions::temp_directory, of an index in a directory: its rows are read a few at a time, and the new one is in
  // temporary files, also while this handle has it. What the handle has in memory stays there until then: open it with
  // Loading::on_touch. Behind a log the rows are read in
  // another order than without the directory, and partitions, which are chosen by a sample, may be others. Empty: in memory.
  std::filesystem::path temp_directory = {};
};

}  // namespace culmen
