#include "tools/interrupt.h"

namespace culmen::tools {
namespace {

volatile std::sig_atomic_t interrupt_flag = 0;

void raise_flag(int) {
  interrupt_flag = 1;
}

}  // namespace

InterruptGuard::InterruptGuard() {
  sigaction(SIGINT, nullptr, &previous_);
  if (previous_.sa_handler == SIG_IGN) return;  // started with nohup or in the background: keep ignoring it
  struct sigaction action = {};
  action.sa_handler = raise_flag;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &previous_, nullptr);
}

bool interrupted() {
  return interrupt_flag != 0;
}

void forget_interrupt() {
  interrupt_flag = 0;
}

void throw_if_interrupted() {
  if (interrupted()) throw Interrupted{};
}

}  // namespace culmen::tools
