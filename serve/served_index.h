// The index that is served: follows its directory, or owns it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "coding/any_index.h"
#include "coding/columns.h"
#include "serve/options.h"

namespace culmen::serve {

// What reading a question and writing an answer need to know of the index, as it was a moment ago: the ends of the
// attributes' ranges may be those of the version before.
struct IndexView {
  IndexInfo info;
  Schema schema;
  std::vector<ShownColumn> columns;  // all
  Index names;                       // makes weights and filters
};

class ServedIndex {
 public:
  // `report` is told why the directory could not be read again, once for each reason.
  ServedIndex(AnyIndex index, const ServeOptions& options, std::function<void(const std::string&)> report);
  ~ServedIndex();
  ServedIndex(const ServedIndex&) = delete;
  ServedIndex& operator=(const ServedIndex&) = delete;

  AnyIndex& index() { return index_; }
  std::shared_ptr<const IndexView> view() const;
  // Looks for changes no more.
  void stop();
  // Call it after a change.
  void update_view();
  // Of an index that is served as writable: makes all changes durable and releases the directory.
  void close();

 private:
  void follow();

  AnyIndex index_;
  const ServeOptions& options_;
  std::function<void(const std::string&)> report_;
  std::mutex update_mutex_;
  mutable std::mutex mutex_;
  std::shared_ptr<const IndexView> view_;
  std::condition_variable ends_changed_;
  bool ends_ = false;
  std::thread follower_;
};

}  // namespace culmen::serve
