// Asker: runs any rung as DeviceIndex::search runs the engine, from the weights to the hits, with a time limit.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bench/ladder/bounded/rungs.h"
#include "culmen/culmen.h"
#include "gpu/mirror/mirror.h"
#include "gpu/search/workspace.h"
#include "index/snapshot.h"

namespace culmen::bench {

class Asker {
 public:
  // Makes a mirror on GPU 0. The snapshot must have rows, of float32.
  explicit Asker(std::shared_ptr<const Snapshot> snapshot);

  // Nothing if the candidates did not fit. Ends the program if a kernel hangs.
  std::optional<std::vector<Hit>> ask(const Query& query, const gpu::ladder::Launch& launch);

  // Overwrites the last answer, so that no rung can return it as its own. Call after ask().
  void forget();

 private:
  std::shared_ptr<const Snapshot> snapshot_;
  gpu::Mirror mirror_;
  gpu::MirrorView view_;
  gpu::GridPlan plan_;
  gpu::Workspace workspace_;
  gpu::SearchStateRef state_ = {};  // of the last search
};

}  // namespace culmen::bench
