#include "serve/question_queue.h"
#include "base/elapsed.h"

#include <algorithm>
#include <utility>

namespace culmen::serve {
namespace {

using Clock = std::chrono::steady_clock;

// Larger batches make the first of their questions wait for long.
constexpr std::size_t kMaxBatch = 256;
// After so long the questions of a batch are asked again one by one, so that the quick ones need not wait for the slow.
constexpr std::chrono::milliseconds kBatchPatience{250};
// A question that is handed over costs two threads a switch each, some 20 us.
constexpr double kQuickUs = 300;
constexpr double kUsualOf = 8;  // questions, about

// Thrown out of a search that is not worth going on with.
struct GivenUp {};

bool is_over(const Asked& asked) {
  return Clock::now() >= asked.deadline || (asked.is_gone && asked.is_gone());
}

}  // namespace

QuestionQueue::QuestionQueue(Search search, int num_workers, std::size_t max_waiting,
                             std::size_t fewest_together)
    : search_(std::move(search)), max_waiting_(max_waiting), fewest_together_(fewest_together) {
  for (int i = 0; i < std::max(num_workers, 1); ++i) workers_.emplace_back([this] { work(); });
}

void QuestionQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  arrived_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
  for (const Asked& asked : waiting_)
    asked.answer({.error = std::make_exception_ptr(Overload("the server is stopping"))});
  waiting_.clear();
}

bool QuestionQueue::answer_here(Asked& asked) {
  {
    const std::lock_guard lock(mutex_);
    if (ends_ || num_waiting_ > 0 || asked.queries.size() != 1 || usual_us_ > kQuickUs) return false;
  }
  SearchOptions options = {.engine = asked.engine, .num_threads = 1};
  options.on_progress = [](std::size_t, std::size_t) { throw GivenUp(); };  // after some 50 ms
  const Clock::time_point begin = Clock::now();
  Answered answered;
  try {
    answered.results = search_(asked.queries, options);
  } catch (const GivenUp&) {
    asked.alone = true;
  } catch (...) {
    answered.error = std::current_exception();
  }
  took(begin, 1);
  if (asked.alone) return false;
  {
    const std::lock_guard lock(mutex_);
    ++stats_.batches;
    ++stats_.queries;
  }
  asked.answer(std::move(answered));
  return true;
}

void QuestionQueue::ask(Asked asked) {
  {
    const std::lock_guard lock(mutex_);
    if (ends_) throw Overload("the server is stopping");
    // A request of many questions may come when none waits, however many it has.
    if (num_waiting_ > 0 && num_waiting_ + asked.queries.size() > max_waiting_)
      throw Overload("too many questions wait for an answer; ask again later");
    num_waiting_ += asked.queries.size();
    waiting_.push_back(std::move(asked));
  }
  arrived_.notify_one();
}

QueueStats QuestionQueue::stats() const {
  const std::lock_guard lock(mutex_);
  QueueStats stats = stats_;
  stats.waiting = num_waiting_;
  return stats;
}

void QuestionQueue::work() {
  for (Batch batch = take(); !batch.empty(); batch = take()) answer(std::move(batch));
}

// What waits and can be answered together; nothing: the queue ends.
QuestionQueue::Batch QuestionQueue::take() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
  Batch batch;
  if (ends_) return batch;
  const bool together = num_waiting_ >= fewest_together_;
  std::size_t num_queries = 0;
  do {
    num_queries += waiting_.front().queries.size();
    batch.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  } while (together && !batch.front().alone && !waiting_.empty() && !waiting_.front().alone &&
           waiting_.front().engine == batch.front().engine &&
           num_queries + waiting_.front().queries.size() <= kMaxBatch);
  num_waiting_ -= num_queries;
  ++stats_.batches;
  stats_.queries += num_queries;
  return batch;
}

void QuestionQueue::took(Clock::time_point begin, std::size_t num_queries) {
  const double elapsed = microseconds_since(begin);
  const std::lock_guard lock(mutex_);
  usual_us_ += (elapsed / static_cast<double>(num_queries) - usual_us_) / kUsualOf;
}

void QuestionQueue::answer(Batch batch) {
  try {
    answer_together(batch);
  } catch (const GivenUp&) {
    if (batch.size() > 1) return ask_again(batch);
    batch.front().answer({.error = std::make_exception_ptr(TimeLimit())});
  } catch (
      ...) {  // one of them was refused: by a version of the index that is newer than when it was checked
    if (batch.size() > 1) return ask_again(batch);
    batch.front().answer({.error = std::current_exception()});
  }
}

void QuestionQueue::answer_together(Batch& batch) {
  const Clock::time_point patience = Clock::now() + kBatchPatience;
  SearchOptions options = {.engine = batch.front().engine};
  options.on_progress = [&](std::size_t, std::size_t) {
    if (batch.size() == 1 ? is_over(batch.front()) : Clock::now() >= patience) throw GivenUp();
  };
  if (batch.size() == 1) {
    if (is_over(batch.front())) throw GivenUp();
    const Clock::time_point begin = Clock::now();
    std::vector<SearchResult> results = search_(batch.front().queries, options);
    took(begin, batch.front().queries.size());
    batch.front().answer({.results = std::move(results)});
    return;
  }
  options.num_threads =
      1;  // the other workers have the other cores: a batch is of questions that found none idle
  std::vector<Query> queries;
  for (const Asked& asked : batch) queries.insert(queries.end(), asked.queries.begin(), asked.queries.end());
  const Clock::time_point begin = Clock::now();
  std::vector<SearchResult> results = search_(queries, options);
  took(begin, queries.size());
  auto next = results.begin();
  for (const Asked& asked : batch) {
    const auto end = next + static_cast<std::ptrdiff_t>(asked.queries.size());
    asked.answer({.results = {std::make_move_iterator(next), std::make_move_iterator(end)}});
    next = end;
  }
}

void QuestionQueue::ask_again(Batch& batch) {
  {
    const std::lock_guard lock(mutex_);
    for (Asked& asked : batch) {
      asked.alone = true;
      num_waiting_ += asked.queries.size();
      waiting_.push_back(std::move(asked));
    }
  }
  arrived_.notify_all();
}

}  // namespace culmen::serve
