#include "gpu/build/load_cards.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "gpu/cuda/peers.h"

namespace culmen::gpu {

LoadCards::LoadCards(const std::vector<int>& devices, const TableView& table, std::uint32_t chunk_rows,
                     const BuildOptions& options)
    : num_threads_(options.num_threads), cards_(devices.size()) {
  const std::size_t count = devices.size();
  for (std::size_t i = 0; i < count; ++i) {
    LoadReport listener = [](std::string_view, double) {};
    if (i == 0 && options.on_progress) listener = options.on_progress;
    const RowRange rows = {table.num_rows * i / count, table.num_rows * (i + 1) / count};
    with_device(devices[i], [&] {
      for (const int other : devices) cuda::open_path(devices[i], other);
      cards_[i] = std::make_unique<LoadCard>(devices[i], table, rows, chunk_rows, std::move(listener));
    });
    if (i > 0) workers_.push_back(std::make_unique<Worker>());
  }
}

std::size_t LoadCards::num_of(int device) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(cards_, [&](const auto& card) { return card->device() == device; }));
}

}  // namespace culmen::gpu
