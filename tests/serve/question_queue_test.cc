// The queue that makes batches, with searches that take as long as a test says.
#include "serve/question_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace culmen::serve {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr double kSlow = -1;     // weights of queries: takes until it is ended
constexpr double kRefused = -2;  // is refused

// The first weight of each query is in its result.
class FakeSearch {
 public:
  std::vector<SearchResult> operator()(std::span<const Query> queries, const SearchOptions& options) {
    {
      const std::lock_guard lock(mutex_);
      sizes_.push_back(queries.size());
      engines_.push_back(options.engine);
    }
    ++running_;
    while (is_closed_) std::this_thread::sleep_for(milliseconds(1));
    std::vector<SearchResult> results;
    for (const Query& query : queries) {
      if (query.weights[0] == kRefused) throw InvalidArgument("refused");
      while (query.weights[0] == kSlow) {
        options.on_progress(0, 1);
        std::this_thread::sleep_for(milliseconds(1));
      }
      results.emplace_back().hits.push_back({.id = static_cast<std::int64_t>(query.weights[0])});
    }
    return results;
  }

  void close() { is_closed_ = true; }
  void open() { is_closed_ = false; }
  int num_running() const { return running_; }
  std::vector<std::size_t> sizes() {
    const std::lock_guard lock(mutex_);
    return sizes_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::size_t> sizes_;
  std::vector<Engine> engines_;
  std::atomic<bool> is_closed_{false};
  std::atomic<int> running_{0};
};

QuestionQueue::Search searching(FakeSearch& fake) {
  return [&fake](std::span<const Query> queries, const SearchOptions& options) {
    return fake(queries, options);
  };
}

std::future<Answered> ask(QuestionQueue& queue, std::vector<double> questions,
                          milliseconds limit = milliseconds(60'000), Engine engine = Engine::automatic,
                          std::function<bool()> is_gone = {}) {
  auto promise = std::make_shared<std::promise<Answered>>();
  Asked asked;
  asked.engine = engine;
  asked.deadline = Clock::now() + limit;
  asked.is_gone = std::move(is_gone);
  for (const double question : questions) asked.queries.push_back({.weights = {question}});
  asked.answer = [promise](Answered answered) { promise->set_value(std::move(answered)); };
  queue.ask(std::move(asked));
  return promise->get_future();
}

std::vector<std::int64_t> ids_of(std::future<Answered>& answer) {
  std::vector<std::int64_t> ids;
  for (const SearchResult& result : answer.get().results) ids.push_back(result.hits.front().id);
  return ids;
}

template <typename Expected>
void expect_error(std::future<Answered>& answer) {
  const Answered answered = answer.get();
  ASSERT_NE(answered.error, nullptr);
  EXPECT_THROW(std::rethrow_exception(answered.error), Expected);
}

// Occupies the only worker, so that what is asked next waits.
std::future<Answered> occupy(QuestionQueue& queue, FakeSearch& fake) {
  fake.close();
  std::future<Answered> first = ask(queue, {7});
  while (fake.num_running() == 0) std::this_thread::sleep_for(milliseconds(1));
  return first;
}

TEST(QuestionQueue, QuestionsThatWaitAreOneBatch) {
  FakeSearch fake;
  QuestionQueue queue(searching(fake), 1, 100);
  std::future<Answered> first = occupy(queue, fake);
  std::future<Answered> second = ask(queue, {1});
  std::future<Answered> third = ask(queue, {2, 3});
  std::future<Answered> scan = ask(queue, {4}, milliseconds(60'000), Engine::scan);
  std::future<Answered> last = ask(queue, {5});
  fake.open();
  EXPECT_EQ(ids_of(first), (std::vector<std::int64_t>{7}));
  EXPECT_EQ(ids_of(second), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(ids_of(third), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(ids_of(scan), (std::vector<std::int64_t>{4}));
  EXPECT_EQ(ids_of(last), (std::vector<std::int64_t>{5}));
  EXPECT_EQ(fake.sizes(), (std::vector<std::size_t>{1, 3, 1, 1}));
  EXPECT_EQ(queue.stats().queries, 6U);
  EXPECT_EQ(queue.stats().batches, 4U);
  EXPECT_EQ(queue.stats().waiting, 0U);
}

TEST(QuestionQueue, AnswersFewOneByOne) {
  for (const bool few : {true, false}) {
    FakeSearch fake;
    QuestionQueue queue(searching(fake), 1, 100, few ? 3 : 2);
    std::future<Answered> first = occupy(queue, fake);
    std::future<Answered> second = ask(queue, {1});
    std::future<Answered> third = ask(queue, {2});
    fake.open();
    EXPECT_EQ(ids_of(second), (std::vector<std::int64_t>{1}));
    EXPECT_EQ(ids_of(third), (std::vector<std::int64_t>{2}));
    EXPECT_EQ(fake.sizes(), few ? (std::vector<std::size_t>{1, 1, 1}) : (std::vector<std::size_t>{1, 2}));
  }
}

TEST(QuestionQueue, ARefusedQuestionIsAnsweredAlone) {
  FakeSearch fake;
  QuestionQueue queue(searching(fake), 1, 100);
  std::future<Answered> first = occupy(queue, fake);
  std::future<Answered> good = ask(queue, {1});
  std::future<Answered> bad = ask(queue, {kRefused});
  std::future<Answered> other = ask(queue, {2});
  fake.open();
  EXPECT_EQ(ids_of(good), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(ids_of(other), (std::vector<std::int64_t>{2}));
  expect_error<InvalidArgument>(bad);
}

TEST(QuestionQueue, ASlowQuestionDoesNotHoldUpItsBatch) {
  FakeSearch fake;
  QuestionQueue queue(searching(fake), 2, 100);
  fake.close();
  std::future<Answered> first = ask(queue, {7});
  while (fake.num_running() < 1) std::this_thread::sleep_for(milliseconds(1));
  std::future<Answered> second = ask(queue, {8});
  while (fake.num_running() < 2) std::this_thread::sleep_for(milliseconds(1));
  std::future<Answered> slow = ask(queue, {kSlow}, milliseconds(3'000));
  std::future<Answered> quick = ask(queue, {1}, milliseconds(60'000));
  const Clock::time_point begin = Clock::now();
  fake.open();
  EXPECT_EQ(ids_of(quick), (std::vector<std::int64_t>{1}));
  EXPECT_LT(Clock::now() - begin, milliseconds(2'500));
  expect_error<TimeLimit>(slow);
}

TEST(QuestionQueue, EndsTheSearchOfAClientThatHasGone) {
  FakeSearch fake;
  QuestionQueue queue(searching(fake), 1, 100);
  std::atomic<bool> is_gone{false};
  std::future<Answered> slow =
      ask(queue, {kSlow}, milliseconds(60'000), Engine::automatic, [&is_gone] { return is_gone.load(); });
  std::this_thread::sleep_for(milliseconds(20));
  is_gone = true;
  expect_error<TimeLimit>(slow);
  std::future<Answered> next = ask(queue, {1});
  EXPECT_EQ(ids_of(next), (std::vector<std::int64_t>{1}));
}

TEST(QuestionQueue, AQuestionThatWaitedTooLongIsNotSearched) {
  FakeSearch fake;
  QuestionQueue queue(searching(fake), 1, 100);
  std::future<Answered> first = occupy(queue, fake);
  std::future<Answered> late = ask(queue, {1}, milliseconds(1));
  std::this_thread::sleep_for(milliseconds(10));
  fake.open();
  expect_error<TimeLimit>(late);
  EXPECT_EQ(fake.sizes(), (std::vector<std::size_t>{1}));
}

TEST(QuestionQueue, TooManyAreToldToComeAgain) {
  FakeSearch fake;
  QuestionQueue queue(searching(fake), 1, 3);
  std::future<Answered> first = occupy(queue, fake);
  std::future<Answered> many = ask(queue, {1, 2, 3, 4});  // none waits
  EXPECT_THROW(static_cast<void>(ask(queue, {5})), Overload);
  fake.open();
  EXPECT_EQ(ids_of(many), (std::vector<std::int64_t>{1, 2, 3, 4}));
  std::future<Answered> next = ask(queue, {6});
  EXPECT_EQ(ids_of(next), (std::vector<std::int64_t>{6}));
}

TEST(QuestionQueue, StoppingAnswersWhatWaits) {
  FakeSearch fake;
  std::future<Answered> first, second;
  {
    QuestionQueue queue(searching(fake), 1, 100);
    first = occupy(queue, fake);
    second = ask(queue, {1});
    std::thread opener([&fake] {
      std::this_thread::sleep_for(milliseconds(20));
      fake.open();
    });
    queue.stop();
    EXPECT_THROW(static_cast<void>(ask(queue, {2})), Overload);
    opener.join();
  }
  EXPECT_EQ(ids_of(first), (std::vector<std::int64_t>{7}));
  expect_error<Overload>(second);
}

// The answer, if the calling thread gave one.
std::optional<Answered> answer_here(QuestionQueue& queue, std::vector<double> questions) {
  std::optional<Answered> found;
  Asked asked;
  for (const double question : questions) asked.queries.push_back({.weights = {question}});
  const std::thread::id here = std::this_thread::get_id();
  asked.answer = [&found, here](Answered answered) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    found = std::move(answered);
  };
  const bool is_answered = queue.answer_here(asked);
  EXPECT_EQ(is_answered, found.has_value());
  return found;
}

TEST(QuestionQueue, QuickQuestionsAreAnsweredHere) {
  FakeSearch fake;
  QuestionQueue queue(searching(fake), 1, 100);
  EXPECT_EQ(answer_here(queue, {5}).value().results.front().hits.front().id, 5);
  EXPECT_EQ(queue.stats().queries, 1U);
  EXPECT_NE(answer_here(queue, {kRefused}).value().error, nullptr);
  EXPECT_FALSE(answer_here(queue, {1, 2})) << "several are for the workers";
}

TEST(QuestionQueue, SlowQuestionsAreHandedOver) {
  FakeSearch fake;
  QuestionQueue queue(searching(fake), 1, 100);
  EXPECT_FALSE(answer_here(queue, {kSlow}));
  EXPECT_EQ(queue.stats().queries, 0U);
  // The next one takes 20 ms: those after it are not expected to be quick.
  fake.close();
  std::thread opener([&fake] {
    std::this_thread::sleep_for(milliseconds(20));
    fake.open();
  });
  EXPECT_TRUE(answer_here(queue, {1}));
  opener.join();
  EXPECT_FALSE(answer_here(queue, {2}));
  for (int i = 0; i < 100; ++i) {
    std::future<Answered> quick = ask(queue, {3});
    quick.wait();
  }
  EXPECT_TRUE(answer_here(queue, {4}));
}

TEST(QuestionQueue, NothingIsAnsweredHereBeforeThoseThatWait) {
  FakeSearch fake;
  QuestionQueue queue(searching(fake), 1, 100);
  std::future<Answered> first = occupy(queue, fake);
  std::future<Answered> second = ask(queue, {1});
  EXPECT_FALSE(answer_here(queue, {2}));
  fake.open();
  EXPECT_EQ(ids_of(first), (std::vector<std::int64_t>{7}));
  EXPECT_EQ(ids_of(second), (std::vector<std::int64_t>{1}));
}

}  // namespace
}  // namespace culmen::serve
