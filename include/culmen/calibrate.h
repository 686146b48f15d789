// What the planner knows about the machine: how long a unit of work takes.
//
// The constants are measured by calibrate() and kept in a small file, which every later process reads when it
// first plans: $CULMEN_CALIBRATION, or costs-<threads>.json in culmen's folder under $XDG_CACHE_HOME or
// $HOME/.cache. If there is no such file, or it is damaged or from another machine, the planner uses
// built-in constants; an empty CULMEN_CALIBRATION asks for these. They decide how long an answer takes, never
// what it is.
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
  bool is_sure = false;        // else other programs kept the machine so busy that too few runs agreed
  std::filesystem::path file;  // where they are kept; empty: nowhere
  std::vector<CalibratedCost> costs;
};

// The constants that the planner uses at present.
Calibration calibration();

// Measures new constants, keeps them, and uses them from now on. Only the quickest runs count, which nothing
// disturbs, so the machine need not be idle. If it is so busy that even these cannot be sure, earlier
// constants that are sure stay, and are returned. A file that cannot be written is no error. Cost: three to
// five seconds, on a busy machine up to ten, and 320 MiB of memory. Any thread may call it; searches go on.
Calibration calibrate();

}  // namespace culmen
