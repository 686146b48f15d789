// One walk through the tree for many questions, where memory does not hold the table (OpenOptions::max_memory): to read a node
// or leaf and to check it costs many times a visit, so each is read once for all questions that may need it.
//
// Each question is first searched alone, best first, for a part of its share of all nodes and leaves, and at least a few
// reads: so a batch of few questions, or of questions that bounds help much, or for which memory has what they visit,
// walks little. Those that are not answered then have a k-th score so far. The walk takes them down the tree, each below
// the nodes and to the leaves whose bound reaches its k-th score, which rises on the way.
//
// Cost: reads, at most each node and leaf once for kMostWalkers questions, after those that each makes alone; visits, more
// than best-first searches make, since a k-th score so far is lower than the last one. Memory: some 3 KB and k rows
// for each of kMostWalkers questions.
#pragma once

#include <cstddef>

#include "cpu/questions.h"
#include "index/snapshot.h"

namespace culmen::cpu {

inline constexpr std::size_t kMostWalkers = 1024;

// Answers the questions, none of which has groups. Uses all threads of the caller's arena.
void walk_together(const Snapshot& snapshot, std::size_t num_questions, const QuestionOf& query_of,
                   const GiveAnswer& give);

}  // namespace culmen::cpu
