// The GIL, given up while C++ works.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace culmen::python {

inline std::atomic<bool> is_ending = false;  // the interpreter, as an atexit handler says
inline std::thread::id main_thread;

// A thread that comes back when the interpreter ends must not ask for the GIL: Python would end it by unwinding the
// stack, through destructors that must not throw. Such a thread, a daemon, sleeps until the process is over.
inline void sleep_if_ending() noexcept {
  while (is_ending && std::this_thread::get_id() != main_thread)
    std::this_thread::sleep_for(std::chrono::seconds(1));
}

// For the length of a scope.
class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  ~GilReleased() {
    sleep_if_ending();
    PyEval_RestoreThread(state_);
  }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* state_;
};

// For the length of a scope within one of those.
class GilAcquired {
 public:
  GilAcquired() {
    sleep_if_ending();
    state_ = PyGILState_Ensure();
  }
  ~GilAcquired() { PyGILState_Release(state_); }
  GilAcquired(const GilAcquired&) = delete;
  GilAcquired& operator=(const GilAcquired&) = delete;

 private:
  PyGILState_STATE state_;
};

inline void watch_for_the_end() {
  main_thread = std::this_thread::get_id();
  nanobind::module_::import_("atexit").attr("register")(nanobind::cpp_function([] { is_ending = true; }));
}

}  // namespace culmen::python
