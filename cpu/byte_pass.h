// One pass over all rows for many questions that bounds hardly help: each value of the table in 8 bits, each weight of a
// question in 8 bits, their products summed in integers. Rows whose sum allows a score that reaches the question's k-th
// score so far are scored exactly, so answers are those of every other engine.
//
// Rigour: a value a is m + s g (c + e) (cpu/byte_table.h). With u a question's unit, its weight w s u is q + f, q the
// integer, f what that loses. By Cauchy and Schwarz
//   | u sum w a  -  u sum w m  -  g sum q c |  <=  g (|f| |c| + |w s u| |e|),
// with the norms |c| and |e| of the row of a leaf that has the largest. Rounding in binary64 is covered by 2^-38 of the
// sum of all sizes.
//
// In a wide table a question leaves the pass at the first leaf whose length excludes all of its rows: later ones are
// shorter.
//
// A question for which too many rows have to be looked at gets no answer: its own search costs less.
//
// Cost: d / 4 integer instructions for 16 rows of a question, and what ByteTable costs.
#pragma once

#include <cstddef>

#include "cpu/byte_table.h"
#include "cpu/questions.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen::cpu {

// Whether a question has an answer by a pass: no filter but one that excludes some ids, and a k that is small beside the
// table.
bool is_for_pass(const ResolvedQuery& query, const Snapshot& snapshot);

// Answers the questions for which is_for_pass() holds, but for those that give up. Uses all threads of the caller's arena.
void pass_in_bytes(const Snapshot& snapshot, const ByteTable& table, std::size_t num_questions,
                   const QuestionOf& query_of, const GiveAnswer& give);

}  // namespace culmen::cpu
