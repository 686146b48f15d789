// What the server does with requests, apart from how they travel.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serve/guard.h"
#include "serve/message.h"
#include "serve/metrics.h"
#include "serve/options.h"
#include "serve/question_queue.h"
#include "serve/searcher.h"
#include "serve/served_index.h"
#include "serve/task_pool.h"

namespace culmen::serve {

class Service {
 public:
  // `options` must live as long. `report` is told what went wrong apart from requests. Throws as Index::to_devices.
  Service(AnyIndex index, const ServeOptions& options, std::function<void(const std::string&)> report);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // The response to a request that is refused before its body is read.
  std::optional<Response> refusal(const RequestHead& head) const;

  // Answers a request that was not refused. `is_gone`: its client does not wait any more. `reply` may be called before
  // this returns, or later by another thread. Does not throw.
  void answer(const RequestHead& head, std::string body, std::function<bool()> is_gone, const Reply& reply);

  // A route's path for the path of a request; "other" for those that are none.
  static std::string_view route_of(std::string_view path);

  Metrics& metrics() { return metrics_; }
  // Ends what is under way; later requests are answered with an error.
  void stop() {
    index_.stop();
    queue_.stop();
    tasks_.stop();
  }
  // Makes all changes durable and releases the directory.
  void close() { index_.close(); }

 private:
  struct Request;
  using Handler = void (Service::*)(Request& request);
  struct Route;
  static const Route* find_route(std::string_view path);

  void health(Request& request);
  void info(Request& request);
  void get(Request& request);
  void search(Request& request);
  void explain(Request& request);
  void why(Request& request);
  void distributions(Request& request);
  void insert(Request& request);
  void upsert(Request& request);
  void erase(Request& request);
  void metrics_text(Request& request);
  void open_api(Request& request);
  void page(Request& request);

  void write_rows(Request& request, bool replaces);
  // Runs work that may take long, and replies with what it returns.
  void later(Reply reply, std::function<Response()> work);
  std::vector<SearchResult> search_index(std::span<const Query> queries, const SearchOptions& options);

  // Those of a version, which are computed once.
  struct Distributions {
    std::shared_ptr<const IndexView> view;
    std::string text;
  };

  const ServeOptions& options_;
  Guard guard_;
  Metrics metrics_;
  ServedIndex index_;
  Searcher searcher_;
  std::mutex distributions_mutex_;
  Distributions distributions_;
  TaskPool tasks_;
  QuestionQueue queue_;  // last: its workers use the others
};

}  // namespace culmen::serve
