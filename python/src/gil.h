// The GIL, given up while C++ works.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace culmen::python {

inline std::atomic<bool> is_ending = false;  // the interpreter, as an atexit handler says
inline std::thread::id main_thread;

// A thread that waits for the GIL while the interpreter ends is ended by Python, which unwinds its stack through
// destructors that must not throw. So no thread but the main one may wait for it then: a daemon that would sleeps until
// the process is over, and the end waits for those that have begun.
inline std::atomic<int> waiting = 0;

inline void begin_to_wait() noexcept {
  while (true) {
    ++waiting;
    if (!is_ending || std::this_thread::get_id() == main_thread) return;
    --waiting;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

// For the length of a scope.
class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  ~GilReleased() {
    begin_to_wait();
    PyEval_RestoreThread(state_);
    --waiting;
  }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* state_;
};

// Of a call.
template <typename Call>
auto without_gil(Call&& call) {
  const GilReleased released;
  return call();
}

// For the length of a scope within one of those.
class GilAcquired {
 public:
  GilAcquired() {
    begin_to_wait();
    state_ = PyGILState_Ensure();
    --waiting;
  }
  ~GilAcquired() { PyGILState_Release(state_); }
  GilAcquired(const GilAcquired&) = delete;
  GilAcquired& operator=(const GilAcquired&) = delete;

 private:
  PyGILState_STATE state_;
};

inline void watch_for_the_end() {
  main_thread = std::this_thread::get_id();
  nanobind::module_::import_("atexit").attr("register")(nanobind::cpp_function([] {
    is_ending = true;
    PyThreadState* const state = PyEval_SaveThread();
    while (waiting > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    PyEval_RestoreThread(state);
  }));
}

}  // namespace culmen::python
