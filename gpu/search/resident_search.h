// ResidentSearch: asks a kernel that stays on the device (resident.h), one question at a time, and launches it whenever it
// has left. It reads nothing of a mirror but while it searches, so refreshes need not wait for it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "gpu/cuda/buffer.h"
#include "gpu/cuda/limits.h"
#include "gpu/mirror/mirror_version.h"
#include "gpu/search/resident.h"
#include "gpu/search/workspace.h"
#include "query/resolved_query.h"

namespace culmen::gpu {

class ResidentSearch {
 public:
  explicit ResidentSearch(const cuda::Limits& limits);
  ~ResidentSearch();  // waits until the kernel has left
  ResidentSearch(const ResidentSearch&) = delete;
  ResidentSearch& operator=(const ResidentSearch&) = delete;

  // Whether it can ask such a question.
  static bool takes(const MirrorView& view, const ResolvedQuery& query);

  // The multiprocessors that it occupies while it stays.
  unsigned num_multiprocessors() const { return limits_.num_multiprocessors; }
  GridPlan plan(const MirrorView& view) const;

  // The right to ask, for one search from its beginning to its end. Other threads wait for theirs. The device is current
  // during its life.
  class Turn {
   public:
    explicit Turn(ResidentSearch& search);
    ~Turn();  // without end(), waits for what is enqueued, and gives the workspace up
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    Workspace& workspace() const;
    // state: of the workspace's next(). The view must live until the end is waited for. Throws CudaError.
    void ask(const MirrorView& view, const SearchStateRef& state, const ResolvedQuery& query);
    // Throws CudaError.
    const ResultHeader& wait();
    // So that other work on the workspace's stream can begin.
    void leave();
    // After the search, if it has succeeded.
    void end();

   private:
    ResidentSearch& search_;
    std::unique_lock<std::mutex> lock_;
    const MirrorView* view_ = nullptr;  // of the latest question
    std::uint64_t number_ = 0;          // of the latest question
    bool has_ended_ = false;
  };

 private:
  // What a kernel works with. After an error it is given up.
  struct Session;

  const cuda::Limits limits_;
  std::mutex mutex_;  // held during a turn
  std::unique_ptr<Session> session_;
};

}  // namespace culmen::gpu
