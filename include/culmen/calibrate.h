// What the planner knows of the machine: how long a unit of work takes.
//
// The constants are measured by calibrate() and kept in a small file, which every later process reads when it
// first plans: $CULMEN_CALIBRATION, or costs-<threads>.json in culmen's folder under $XDG_CACHE_HOME or
// $HOME/.cache. Where there is no such file, or one that is damaged or from another machine, the planner goes
// by built-in constants; an empty CULMEN_CALIBRATION asks for these. They decide how long an answer takes,
// never what it is.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace culmen {

struct CalibratedCost {
  std::string name;
  std::string meaning;
  double nanoseconds = 0;
};

struct Calibration {
  bool is_measured = false;    // else they are the built-in ones
  std::filesystem::path file;  // where they are kept; empty: nowhere
  std::vector<CalibratedCost> costs;
};

// What the planner goes by at present.
Calibration calibration();

// Measures, keeps, and from now on goes by the new constants. A file that cannot be written is no error.
// Cost: about half a second of all cores and 64 MiB of memory; what else the machine does meanwhile blurs the
// figures. Any thread may call it; searches go on.
Calibration calibrate();

}  // namespace culmen
