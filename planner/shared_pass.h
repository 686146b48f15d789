// Decides whether one pass over all rows (cpu/byte_pass.h) answers the questions of a batch, one walk (cpu/shared_walk.h), or a
// search for each.
#pragma once

#include <cstddef>
#include <vector>

#include "cpu/code_table.h"
#include "cpu/questions.h"
#include "index/snapshot.h"

namespace culmen {

// Whether the batch is large enough for a pass, the table wide enough, and the machine has instructions for it.
bool may_pass(const Snapshot& snapshot, std::size_t num_questions);

// Whether memory does not hold the table, so that the questions better share what they read. codes: of the table; null: none are
// at hand.
bool prefers_walk(const Snapshot& snapshot, std::size_t num_questions, const cpu::CodeTable* codes = nullptr);

// Asks a few of the questions by bounds, and compares the time that takes with what a pass would. `has_codes`: the
// table need not be coded first. All threads of the caller's arena.
bool prefers_pass(const Snapshot& snapshot, std::size_t num_questions, const cpu::QuestionOf& query_of,
                  bool has_codes);

// The size of some questions' weights for each attribute of a wide table; else nothing. For cpu::ByteTable.
std::vector<double> usual_weights(const Snapshot& snapshot, std::size_t num_questions,
                                  const cpu::QuestionOf& query_of);

}  // namespace culmen
