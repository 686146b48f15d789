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
  bool is_sure = false;        // else others kept the machine so busy that too few runs agreed
  std::filesystem::path file;  // where they are kept; empty: nowhere
  std::vector<CalibratedCost> costs;
};

// What the planner goes by at present.
Calibration calibration();

// Measures, keeps, and from now on goes by the new constants. Only the quickest runs count, which nothing
// disturbs, so the machine need not be idle; on one so busy that even these cannot be sure, sure constants
// from before stay, and are returned. A file that cannot be written is no error. Cost: three to five
// seconds, on a busy machine up to ten, and 320 MiB of memory. Any thread may call it; searches go on.
Calibration calibrate();

}  // namespace culmen
