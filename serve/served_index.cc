#include "serve/served_index.h"

#include <exception>
#include <utility>

#include "culmen/error.h"

namespace culmen::serve {

ServedIndex::ServedIndex(AnyIndex index, const ServeOptions& options,
                         std::function<void(const std::string&)> report)
    : index_(std::move(index)), options_(options), report_(std::move(report)) {
  update_view();
  if (options.refresh_time.count() > 0) follower_ = std::thread([this] { follow(); });
}

ServedIndex::~ServedIndex() {
  stop();
}

void ServedIndex::stop() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ends_changed_.notify_all();
  if (follower_.joinable()) follower_.join();
}

std::shared_ptr<const IndexView> ServedIndex::view() const {
  const std::lock_guard lock(mutex_);
  return view_;
}

void ServedIndex::update_view() {
  const std::lock_guard one_at_a_time(update_mutex_);  // or an older view could replace a newer one
  IndexInfo info = index_.info();
  std::vector<ShownColumn> columns = shown_columns(info, std::nullopt, {}, "show");
  auto view = std::make_shared<const IndexView>(
      IndexView{std::move(info), index_.schema(), std::move(columns), index_.columns()});
  const std::lock_guard lock(mutex_);
  view_ = std::move(view);
}

void ServedIndex::close() {
  if (!options_.writable) return;
  index_.flush();
  index_.close();
}

void ServedIndex::follow() {
  std::string last_problem;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (ends_changed_.wait_for(lock, options_.refresh_time, [this] { return ends_; })) return;
    }
    std::string problem;
    try {
      const bool is_new = !options_.writable && index_.refresh() != Refreshed::unchanged;
      // A program that has the index too may have changed it.
      if (is_new || index_.version() != view()->info.version) update_view();
    } catch (const std::exception& error) {
      problem = error.what();
    }
    if (!problem.empty() && problem != last_problem) report_(problem);
    last_problem = std::move(problem);
  }
}

}  // namespace culmen::serve
