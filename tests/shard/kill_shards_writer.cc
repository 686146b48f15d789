// Writes batches to a sharded index until it is killed. sharded_kill_test starts this process.
//
//   kill_shards_writer DIRECTORY NUM_BATCHES     how many batches have been written before
//
// Prints the number of each batch that was acknowledged. Makes checkpoints, so that the manifest is replaced as well.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "culmen/sharded_index.h"
#include "tests/shard/shard_batches.h"

int main(int argc, char** argv) {
  try {
    if (argc != 3) return EXIT_FAILURE;
    culmen::ShardedIndex index = culmen::ShardedIndex::open(argv[1], {.writable = true, .num_threads = 1});
    for (std::int64_t batch = std::stoll(argv[2]);; ++batch) {
      const culmen::test::ShardBatch rows(batch);
      index.write(rows.steps());
      if (::write(STDOUT_FILENO, &batch, sizeof batch) != sizeof batch) return EXIT_FAILURE;
      if (batch % 16 == 0) index.checkpoint();
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kill_shards_writer: %s\n", error.what());
  }
  return EXIT_FAILURE;  // only a signal ends it
}
