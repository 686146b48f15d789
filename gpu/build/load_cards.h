// LoadCards: the devices of a bulk load, and the threads that work with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "base/floating_point_scope.h"
#include "base/with_threads.h"
#include "base/worker.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "gpu/build/load_card.h"
#include "gpu/cuda/error.h"

namespace culmen::gpu {

class LoadCards {
 public:
  // Each device reads an equal run of the table's rows. The first one reports progress.
  LoadCards(const std::vector<int>& devices, const TableView& table, std::uint32_t chunk_rows,
            const BuildOptions& options);

  std::size_t size() const { return cards_.size(); }
  bool is_alone() const { return cards_.size() == 1; }
  const LoadCard& first() const { return *cards_.front(); }
  const LoadCard& operator[](std::size_t i) const { return *cards_[i]; }
  // How many are this device.
  std::size_t num_of(int device) const;

  // Calls f(card, i) for all devices at once: for the first in this thread, for each of the others in a thread of its
  // own. Waits for them. If several fail, throws the error of the first of them.
  template <typename F>
  void on_each(const F& f) {
    std::vector<std::exception_ptr> errors(cards_.size());
    const auto run = [&](std::size_t i) noexcept {
      try {
        const FloatingPointScope floating_point;
        with_threads(num_threads_, [&] { on_one(i, f); });
      } catch (...) {
        errors[i] = std::current_exception();
      }
    };
    {
      Ends ends(workers_.size());
      for (std::size_t i = 1; i < cards_.size(); ++i) ends.add(workers_[i - 1]->run([&run, i] { run(i); }));
      run(0);
    }
    for (const std::exception_ptr& error : errors)
      if (error != nullptr) std::rethrow_exception(error);
  }

  // Calls f(card) for the first device, and waits for its work.
  template <typename F>
  void on_first(const F& f) {
    on_one(0, [&](LoadCard& card, std::size_t) { f(card); });
  }

 private:
  // Calls f() with the device current. If there are several, errors of CUDA name it.
  template <typename F>
  void with_device(int device, const F& f) const {
    try {
      const cuda::DeviceScope scope(device);
      f();
    } catch (const CudaError&) {
      if (is_alone()) throw;
      std::rethrow_exception(cuda::as_fault_of(device, std::current_exception()));
    }
  }

  template <typename F>
  void on_one(std::size_t i, const F& f) {
    LoadCard& card = *cards_[i];
    with_device(card.device(), [&] {
      // Also after an error: others may free what the device writes to.
      const cuda::WaitAtEnd wait(card.stream());
      f(card, i);
      card.stream().synchronize();
    });
  }

  int num_threads_;
  std::vector<std::unique_ptr<LoadCard>> cards_;
  std::vector<std::unique_ptr<Worker>> workers_;  // for all cards but the first
};

}  // namespace culmen::gpu
