"""Tables of questions: a row of weights each. The answers are two more columns, of lists: `ids` and `scores`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import InvalidArgument
from ._files import as_arrow
from ._ids import IdType
from ._merging import Asked, Merged
from ._queries import as_matrix
from ._wanted import Shared

if TYPE_CHECKING:
    import pyarrow

ANSWERS = ("ids", "scores")
#: Questions that are one message a shard.
AT_ONCE = 4096


def weights_of(table: Any, names: Sequence[str]) -> np.ndarray:
    """[questions, attributes], of the columns that are called as attributes. A question without a weight is refused."""
    taken = [name for name in as_arrow(table).column_names if name in names]
    if not taken:
        raise InvalidArgument(f"no column of the questions is called as an attribute; there are {', '.join(names)}")
    return as_matrix(as_arrow(table).select(taken), tuple(names))


def lists_of(counts: np.ndarray, ids: np.ndarray, scores: np.ndarray) -> dict[str, pyarrow.Array]:
    """The columns of answers: `counts` hits of each question, one question after the other."""
    import pyarrow

    ends = pyarrow.array(np.concatenate([[0], np.cumsum(counts)]), pyarrow.int64())
    texts = pyarrow.string() if ids.dtype == object else None
    columns = pyarrow.array(ids, texts), pyarrow.array(scores)
    return {name: pyarrow.LargeListArray.from_arrays(ends, column) for name, column in zip(ANSWERS, columns)}


def with_answers(table: Any, answers: dict[str, pyarrow.Array]) -> pyarrow.Table:
    table = as_arrow(table)
    check_names(table.column_names)
    for name, column in answers.items():
        table = table.append_column(name, column)
    return table


def check_names(columns: Iterable[str]) -> None:
    for name in columns:
        if name in ANSWERS:
            raise InvalidArgument(f"the questions have a column {name!r}, which is that of the answers: rename it")


def tables_of(questions: Any) -> Iterator[Any]:
    """Tables of at most AT_ONCE rows, as they come, so that no more than one of them has to fit into memory."""
    is_one = not isinstance(questions, (list, tuple, Iterator)) and not hasattr(questions, "read_next_batch")
    for table in [questions] if is_one else questions:
        table = as_arrow(table)
        yield from (table.slice(first, AT_ONCE) for first in range(0, len(table), AT_ONCE))


def merged_lists(parts: Sequence[Any], num_questions: int, k: int | None, id_type: IdType) -> dict[str, pyarrow.Array]:
    """Of what shards answer to all questions, as Part says."""
    every = np.arange(num_questions)
    ks = Shared(k, None, None, num_questions).ks()
    merged = Merged([Asked(shard, every, part) for shard, part in enumerate(parts)], ks)
    return lists_of(merged.counts, merged.given_ids(id_type), merged.scores)
