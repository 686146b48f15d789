// Questions that wait for an answer. Those that arrive while others are being answered are answered together, as one
// batch: on the CPU its questions share what they read, and on a GPU a launch.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "culmen/error.h"
#include "culmen/search.h"

namespace culmen::serve {

// A question took longer than it may.
class TimeLimit : public Error {
 public:
  TimeLimit() : Error("the question took longer than the server allows") {}
};

// More arrives than can be answered.
class Overload : public Error {
 public:
  using Error::Error;
};

struct Answered {
  std::vector<SearchResult> results = {};  // one per query; none after an error
  std::exception_ptr error = nullptr;
};

// What one request asks.
struct Asked {
  std::vector<Query> queries = {};
  Engine engine = Engine::automatic;
  std::chrono::steady_clock::time_point deadline = {};
  std::function<bool()> is_gone = {};  // nobody waits for the answer any more; looked at while it takes long
  std::function<void(Answered)> answer = {};  // called once, by a thread of the queue; must not throw
  bool alone = false;                         // not in a batch with others: it was slow in one
};

struct QueueStats {
  std::uint64_t batches = 0;
  std::uint64_t queries = 0;
  std::size_t waiting = 0;
};

class QuestionQueue {
 public:
  using Search = std::function<std::vector<SearchResult>(std::span<const Query>, const SearchOptions&)>;

  // While fewer than `fewest_together` queries wait, requests are answered one by one.
  QuestionQueue(Search search, int num_workers, std::size_t max_waiting, std::size_t fewest_together = 2);
  ~QuestionQueue() { stop(); }
  QuestionQueue(const QuestionQueue&) = delete;
  QuestionQueue& operator=(const QuestionQueue&) = delete;

  // If nothing waits and questions have been quick lately, answers a single one by the calling thread: handing it over
  // would take longer. Otherwise returns false, and `asked` is to be asked; so it is if it turns out to be slow.
  bool answer_here(Asked& asked);
  // Throws Overload if too many queries wait.
  void ask(Asked asked);
  QueueStats stats() const;
  // Ends the threads, and answers what waits with Overload.
  void stop();

 private:
  using Batch = std::vector<Asked>;

  void work();
  Batch take();
  void answer(Batch batch);
  void answer_together(Batch& batch);
  void ask_again(Batch& batch);
  void took(std::chrono::steady_clock::time_point begin, std::size_t num_queries);

  const Search search_;
  const std::size_t max_waiting_;
  const std::size_t fewest_together_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Asked> waiting_;
  std::size_t num_waiting_ = 0;  // queries of these
  QueueStats stats_;
  double usual_us_ = 0;  // of a question
  bool ends_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace culmen::serve
