// The sections of gpu_latency. Each measures one thing, prints its lines, and returns how many answers differ from the
// CPU's.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/gpu/questions.h"
#include "bench/gpu/reading.h"
#include "culmen/culmen.h"

namespace culmen::bench {

using Ks = std::vector<std::size_t>;

struct Subject {
  const Index& index;
  const DeviceIndex& on_gpu;
  const std::vector<Family>& families;
  Reading reading;
  int repeats = 11;  // of each question to the engine bounded
};

// Engine bounded over every family: each question several times in a row. And the spread of one question.
int measure_warm(const Subject& subject, const Ks& ks);

// Engine bounded over Q0-Q4 and random: nothing of the index is in the L2 cache when the clock starts.
int measure_cold(const Subject& subject, const Ks& ks);

// Engine bounded by a launch for each question, by a resident kernel, and a launch of nothing, in turns of 200 random
// questions each.
int measure_resident(const Subject& subject, const DeviceIndex& resident, const Ks& ks);

// An engine that reads much, on one question.
int measure_long(const Subject& subject, Engine engine, const Weights& weights, const Ks& ks);

// count_above of one question, at places all over the order.
int measure_count(const Subject& subject, const Weights& weights);

// 4,096 random questions in one call: from host to host, and from device to device.
int measure_batch(const Subject& subject, const Ks& ks);

// Top-k without an index (gpu/rivals.h), on one question. `reading`: of a table on the card. Prints only one line if
// the table does not fit there.
int measure_rivals(const TableView& table, const Index& index, const Weights& weights, const Reading& reading,
                   const Ks& ks);

}  // namespace culmen::bench
