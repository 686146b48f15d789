// Ctrl-C during work that must not stop in the middle of a file.
#pragma once

#include <csignal>

namespace culmen::tools {

struct Interrupted {};

// While one exists, the first Ctrl-C only sets a flag; a second one ends the program at once.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  struct sigaction previous_ = {};
};

bool interrupted();
void forget_interrupt();  // once what it stopped has ended
void throw_if_interrupted();

}  // namespace culmen::tools
