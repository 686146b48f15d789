// Writes to an index until it is killed. kill_test starts this process.
//
//   kill_writer DIRECTORY DURABILITY NUM_BATCHES...     how many batches each writer has written before
//
// Several threads write batches and print which were acknowledged; another one makes checkpoints and sometimes compacts
// the index.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "culmen/index.h"
#include "tests/index/write/kill_batches.h"

namespace {

using namespace culmen;
using namespace culmen::test::kill;

void write_forever(Index index, Durability durability, std::uint64_t writer, std::uint64_t batch) {
  while (true) {
    write_batch(index, writer, batch++);
    if (durability == Durability::batch) index.flush();
    const Acknowledged done = {writer, batch};
    if (::write(STDOUT_FILENO, &done, sizeof done) != sizeof done) std::_Exit(EXIT_FAILURE);
  }
}

void checkpoint_forever(Index index) {
  for (int turn = 1;; ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(turn % 7));
    if (turn % 8 == 0) {
      index.compact();
    } else {
      index.checkpoint();
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const Durability durability = parse_durability(arguments.at(1));
    // Every second process has read little before it writes, and half of these keep to a limit of memory.
    const std::uint64_t kind = std::stoull(arguments.at(2)) % 4;
    const bool on_touch = kind % 2 == 0;
    const Index index =
        Index::open(arguments.at(0), {.writable = true,
                                      .durability = durability,
                                      .num_threads = 2,
                                      .loading = on_touch ? Loading::on_touch : Loading::whole,
                                      .max_memory = kind == 0 ? 100'000 : kUnlimitedMemory});
    std::vector<std::thread> threads;
    for (std::uint64_t writer = 0; writer < kWriters; ++writer)
      threads.emplace_back(write_forever, index, durability, writer, std::stoull(arguments.at(2 + writer)));
    threads.emplace_back(checkpoint_forever, index);
    for (std::thread& thread : threads) thread.join();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kill_writer: %s\n", error.what());
  }
  return EXIT_FAILURE;  // only a signal ends it
}
