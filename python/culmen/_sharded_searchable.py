"""What a sharded index answers: searches, rows by id, and what it holds. The driver asks; engines carry its calls."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar, overload

import numpy as np

from . import _core, _html, _lookups
from ._engines import Engine, ShardUnavailable
from ._errors import InvalidArgument, IoError
from ._ids import Ids, any_id_of, possible_id, text_column
from ._merging import ShardedBatchResult, ShardedResult, joined_rows, no_rows, selected_rows
from ._numbers import real_number
from ._progress import Progress, shown
from ._queries import (
    ALL_CORES,
    TEN_OR_ALL,
    KOrEach,
    ScoreOrEach,
    Where,
    WhereOrEach,
    by_name,
    check_integer,
    check_types,
    in_numbers,
    is_matrix,
)
from ._question import Question, RowsQuery
from ._question_tables import lists_of, tables_of, weights_of, with_answers
from ._reasons import Reasons, RowRank, no_row
from ._reports import ColumnInfo, IndexInfo, RecoveryInfo
from ._result import Row
from ._rounds import Rounds
from ._searching import check_page
from ._shards import ShardMissing, Stale, State, Version
from ._view import View

#: A question is asked anew if shards have changed under it. So often only if they change faster than they answer.
_RESTARTS = 20
_PAUSE = 0.01

T = TypeVar("T")


class ShardedSearchable:
    """The part of ShardedIndex that reads."""

    _make_engine: Callable[[Sequence[str]], Engine]
    _engine: Engine
    _is_writable: bool
    _view: View
    _failure: str  # why it stays at the versions that it shows: others have a part of a batch
    _rounds: Rounds
    _path: str

    def _listed(self) -> list[dict[str, Any]]:
        return _core.listed_shards(os.fsencode(self._path))

    def _directories_of(self, listed: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        return tuple(os.path.join(self._path, shard["directory"]) for shard in listed)

    def _serve(self, listed: Sequence[Mapping[str, Any]]) -> None:
        self._engine = self._make_engine(self._directories_of(listed))
        self._engine.is_writing = self._is_writable
        self._rounds = Rounds(len(listed))

    def _looked(self) -> View:
        """Asks all shards what they are. One that does not answer is what the manifest says."""
        listed = self._listed()
        if self._directories_of(listed) != self._engine.directories:
            self._serve(listed)  # built again; questions that have begun keep the shards that they know
        states, faults = [], {}
        known = [Version(shard["uuid"], shard["version"], is_listed=True) for shard in listed]
        seen: View | None = getattr(self, "_view", None)
        histories = {version.uuid: version.history for version in seen.versions} if seen else {}
        answers = self._engine.ask({s: ("state", v, histories.get(v.uuid, "")) for s, v in enumerate(known)})
        for number, answer in sorted(answers.items()):
            if isinstance(answer, InvalidArgument):
                raise answer  # of the call, not of the shard
            if isinstance(answer, Exception):
                faults[number] = answer
                answer = State(known[number], listed[number]["statistics"], None, 0)
            states.append(answer)
        if len(faults) < len(states):
            return View.of(self._engine, states, faults)
        if self._is_served():
            raise faults[0]
        return self._looked()

    def _is_served(self) -> bool:
        """Whether the shards that the manifest lists are those of the engine, still."""
        return self._directories_of(self._listed()) == self._engine.directories

    def _to_all(self, method: str, *arguments: Any) -> dict[int, tuple[Any, ...]]:
        return dict.fromkeys(range(self.num_shards), (method, *arguments))

    # ---- queries

    def search(
        self,
        weights: Any,
        k: KOrEach = TEN_OR_ALL,
        *,
        where: WhereOrEach = None,
        min_score: ScoreOrEach = None,
        scale: str = "none",
        missing: str = "skip",
        terms: str = "",
        engine: str = "auto",
        threads: int = ALL_CORES,
        allow_partial: bool = False,
        timeout: float | None = None,
        progress: Progress | bool | None = None,
        after: tuple[float, int | str] | None = None,
        per: Mapping[str, int] | None = None,
    ) -> ShardedResult | ShardedBatchResult:
        """As Index.search: the k rows with the highest weighted sums of all shards, exactly. A matrix of queries is one
        message a shard, or a few, of up to 16,384 queries.

        Args:
            threads: of each shard that is asked, for a scan or the queries of a matrix. Default: those of its worker.
            allow_partial: whether an answer may lack shards that cannot be asked: `missing_shards` names them, and
                the rows of all others are there. Without it, that is an error.
            timeout: seconds after which a shard counts as one that cannot be asked.
            progress: as of Index.search. Where shards are in other processes, or there is a timeout, it is told after
                each message to all of them.
            after, per: as of Index.search. Pages whose `versions` are the same, joined, are the one long answer. With
                both, a page costs as much as one answer from the first row on.

        Raises:
            InvalidArgument: as Index.search.
            ShardUnavailable: for shards whose workers died again and again, or did not answer in time.
            FormatError, IoError: for a shard that is missing, damaged, or cannot be read.
        """
        rest = (where, min_score, scale, missing, terms, engine, threads)
        check_page(weights, after, per, is_of_many=bool(progress))
        if progress is not None and progress is not False and not is_matrix(weights):
            raise InvalidArgument("progress is of a matrix of weights; these are of one query")
        with shown(progress) as report:
            question = Question(weights, k, rest, self._rounds, self._rows, allow_partial, timeout, report, after, per)
            found = self._at_one_version(question.answered)
            if report is not None:
                report("searching", 1.0)
        return found

    def search_many(
        self,
        questions: Any,
        k: int | None = TEN_OR_ALL,
        *,
        where: Where = None,
        min_score: float | None = None,
        scale: str = "none",
        missing: str = "skip",
        terms: str = "",
        engine: str = "auto",
        threads: int = ALL_CORES,
    ) -> Any:
        """Answers tables of questions that need not fit into memory. Needs pyarrow.

        Args:
            questions: a table whose columns with the names of attributes are weights, or an iterable of such tables,
                like a pyarrow.RecordBatchReader.

        The other arguments are those of search.

        Returns:
            An iterator over tables of pyarrow: all columns of the questions, `ids` and `scores`. A table is answered
            when it is asked for.
        """
        k, rest = in_numbers(k, (where, min_score, scale, missing, terms, engine, threads))
        check_types(k, *rest)
        return self._search_many(questions, k, rest)

    def _search_many(self, questions: Any, k: int | None, rest: tuple[Any, ...]) -> Any:
        return (self._answered(table, k, rest) for table in tables_of(questions))

    def _answered(self, table: Any, k: int | None, rest: tuple[Any, ...]) -> Any:
        """With the answers to its questions."""
        weights = weights_of(table, self.attributes)
        question = Question(weights, k, rest, self._rounds, self._rows, allow_partial=False, timeout=None)
        found = self._at_one_version(question.answered)
        assert isinstance(found, ShardedBatchResult)
        ids = found.ids
        is_row = np.arange(ids.shape[1]) < found.counts[:, None]
        return with_answers(table, lists_of(found.counts, ids[is_row], found.scores[is_row]))

    def rank_of(
        self,
        weights: Mapping[str, float] | Sequence[float] | np.ndarray,
        id: int | str,
        *,
        where: Where = None,
        scale: str = "none",
        missing: str = "skip",
        terms: str = "",
    ) -> RowRank | None:
        """As Index.rank_of, among the rows of all shards. Two rounds of messages: the row's shard, then the others. A
        shard that does not answer is an error, here and in count_above and why."""
        query = RowsQuery(weights, where, scale, missing, terms)

        def ask(view: View) -> RowRank | None:
            number = any_id_of(id, view.schema.id_type)
            message = query.message(view)
            own = _shard_of(view, number)
            found = _all_answers(view.engine, {own: ("rank_of", view.versions[own], *message, number)})[own]
            if found is None:
                return None
            rank, score = found
            others = [shard for shard in range(len(view.versions)) if shard != own]
            return RowRank(rank + _count_before(view, others, message, score, number), score)

        return self._at_one_version(ask)

    def count_above(
        self,
        weights: Mapping[str, float] | Sequence[float] | np.ndarray,
        score: float,
        *,
        where: Where = None,
        scale: str = "none",
        missing: str = "skip",
        terms: str = "",
    ) -> int:
        """As Index.count_above: how many rows of all shards score more than this."""
        query = RowsQuery(weights, where, scale, missing, terms)
        least = real_number("score", score)
        return self._at_one_version(
            lambda view: _count_before(view, range(len(view.versions)), query.message(view), least, None)
        )

    def why(
        self,
        weights: Mapping[str, float] | Sequence[float] | np.ndarray,
        id: int | str,
        other: int | str | None = None,
        *,
        scale: str = "none",
        missing: str = "skip",
    ) -> Reasons:
        """As Index.why. The rows may be in different shards."""
        check_types(1, None, None, scale, missing, "", "auto")
        given_weights = by_name(weights)
        given = [id] if other is None else [id, other]

        def ask(view: View) -> Any:
            checked = _core.weights_of(view.names, given_weights)
            ids: Any = [any_id_of(one, view.schema.id_type) for one in given]
            rows, is_there = _looked_up(view, ids if view.schema.has_text_ids else np.array(ids, dtype=np.int64))
            if not is_there.all():
                return None
            return _core.reasons(view.names, view.statistics_for(scale), checked, scale, missing, rows[0])

        found = self._at_one_version(ask)
        if found is None:
            raise no_row(given, self)
        return Reasons.of(found)

    def _at_one_version(self, ask: Callable[[View], T]) -> T:
        """Asks again, about newer versions, if a shard has moved on."""
        pause = _PAUSE
        for _ in range(_RESTARTS):
            try:
                return ask(self._view)
            except (Stale, ShardMissing) as error:
                if isinstance(error, ShardMissing) and self._is_served():
                    raise
                if self._failure:
                    raise IoError(self._failure) from error
                self.refresh()
                time.sleep(pause)
                pause = min(1.0, 2 * pause)
        return ask(self._view)

    @overload
    def get(self, id: int | str | uuid.UUID) -> Row | None: ...  # type: ignore[overload-overlap]
    @overload
    def get(self, id: Ids, *, allow_missing: Literal[False] = False) -> list[Row]: ...
    @overload
    def get(self, id: Ids, *, allow_missing: bool) -> list[Row | None]: ...
    def get(self, id: Any, *, allow_missing: bool = False) -> Any:
        """The row with this id, or a list of the rows with several, as Index.get."""
        if isinstance(id, Iterator):
            id = list(id)  # it may be asked for twice
        return self._at_one_version(
            lambda view: _lookups.get(id, view.schema, lambda ids: _looked_up(view, ids), allow_missing)
        )

    def __contains__(self, id: object) -> bool:
        number = possible_id(id, self._view.schema.id_type)
        if number is None:
            return False

        def ask(view: View) -> bool:
            shard = _shard_of(view, number)
            return bool(_all_answers(view.engine, {shard: ("contains", view.versions[shard], number)})[shard])

        return self._at_one_version(ask)

    @staticmethod
    def _are_there(view: View, ids: np.ndarray | list[str]) -> np.ndarray:
        """Of ids as the extension has them."""
        return _looked_up(view, ids)[1]

    @staticmethod
    def _rows(view: View, ids: Mapping[int, Any]) -> Mapping[int, Any]:
        kinds = view.schema.field_kinds
        return _all_answers(view.engine, {s: ("get", view.versions[s], of_shard, kinds) for s, of_shard in ids.items()})

    # ---- what it is

    def refresh(self) -> str:
        """Loads what the writers of the shards have published since. Returns "unchanged", "advanced", or "replaced" if
        the directory now holds other shards, or older files of a shard. After a batch that not all shards could write,
        the index that wrote it stays as it was before; so it does where a shard refuses."""
        if self._failure:
            return "unchanged"
        old = self._view.versions
        self._view = self._looked()
        if len(old) != len(self._view.versions) or any(map(Version.is_other_index, old, self._view.versions)):
            return "replaced"
        return "unchanged" if old == self._view.versions else "advanced"

    def verify(self, deep: bool = True) -> list[str]:
        """The faults of all shards, one line each, which names the shard. As Index.verify."""
        view = self._view
        answers = view.engine.ask({s: ("verify", version, deep) for s, version in enumerate(view.versions)})
        faults = []
        for shard, answer in sorted(answers.items()):
            if isinstance(answer, InvalidArgument):
                raise answer  # of the call, not of the shard: there is a limit of memory
            found = [str(answer)] if isinstance(answer, Exception) else answer
            faults += [f"{os.path.basename(view.engine.directories[shard])}: {fault}" for fault in found]
        return faults

    @property
    def info(self) -> IndexInfo:
        """As Index.info, of all rows: counts and bytes are sums over the shards."""
        return IndexInfo.of_shards(self.shard_infos, _core.statistics_report(self._view.statistics))

    @property
    def shard_infos(self) -> tuple[IndexInfo, ...]:
        """What each shard is, and how large."""

        def ask(view: View) -> tuple[IndexInfo, ...]:
            found = _all_answers(view.engine, {s: ("info", version) for s, version in enumerate(view.versions)})
            return tuple(IndexInfo.of(report) for _, report in sorted(found.items()))

        return self._at_one_version(ask)

    @property
    def recovery(self) -> RecoveryInfo:
        """What opening the shards found in their logs."""
        reports = _all_answers(self._engine, self._to_all("recovery"))
        found = [RecoveryInfo(**report) for _, report in sorted(reports.items())]
        return RecoveryInfo(
            sum(part.num_batches for part in found),
            sum(part.dropped_bytes for part in found),
            next((part.dropped_from for part in found if part.dropped_from), ""),
        )

    @property
    def num_shards(self) -> int:
        return len(self._engine.directories)

    @property
    def num_workers(self) -> int:
        """How many of its shards can work at the same time."""
        return self._engine.num_workers

    @property
    def version(self) -> int:
        """The sum of `versions`."""
        return sum(self.versions)

    @property
    def versions(self) -> tuple[int, ...]:
        """The version of each shard that questions are about."""
        return self._view.numbers

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names, in the order of weights that are given without names."""
        return self._view.schema.names

    @property
    def schema(self) -> tuple[ColumnInfo, ...]:
        """All columns, as of Index.schema."""
        return self._view.schema.columns()

    def process_of(self, shard: int) -> int:
        """The number of the process that serves a shard now."""
        check_integer("shard", shard, 0, self.num_shards - 1)
        return int(_all_answers(self._engine, {shard: ("ping",)})[shard])

    @property
    def call_costs(self) -> tuple[float, float]:
        """Seconds of an empty call to one shard, and to all at once, as measured now or when it was last asked for."""
        costs = self._engine.costs()
        if costs is None:
            raise ShardUnavailable("not all shards answer")
        return costs

    def __len__(self) -> int:
        return self._view.num_rows

    def __repr__(self) -> str:
        names = ", ".join(self.attributes[:8]) + (", ..." if len(self.attributes) > 8 else "")
        module = type(self).__module__.removesuffix("._sharded")
        return f"<{module}.ShardedIndex: {len(self)} rows in {self.num_shards} shards, {names}>"

    def _repr_html_(self) -> str:
        """Its columns, for notebooks."""
        return _html.index(repr(self), self.schema)


def _shards_of(view: View, ids: np.ndarray | list[str]) -> np.ndarray:
    if isinstance(ids, list):
        return _core.shards_of_texts(text_column(ids), len(view.versions))
    return _core.shards_of(ids, len(view.versions))


def _shard_of(view: View, id: int | str) -> int:
    return int(_shards_of(view, [id] if isinstance(id, str) else np.array([id]))[0])


def _count_before(
    view: View, shards: Iterable[int], message: tuple[bytes, bytes], score: float, id: int | str | None
) -> int:
    """As Shard.count_before, in these shards together."""
    requests = {shard: ("count_before", view.versions[shard], *message, score, id) for shard in shards}
    return sum(_all_answers(view.engine, requests).values())


def _looked_up(view: View, ids: np.ndarray | list[str]) -> tuple[Any, np.ndarray]:
    """As the extension's Index.look_up."""
    is_there = np.zeros(len(ids), dtype=bool)
    places = {int(s): np.flatnonzero(shards == s) for shards in [_shards_of(view, ids)] for s in np.unique(shards)}
    given = {s: [ids[i] for i in of] if isinstance(ids, list) else ids[of] for s, of in places.items()}
    kinds = view.schema.field_kinds
    asked = {s: ("look_up", view.versions[s], of_shard, kinds) for s, of_shard in given.items()}
    answers = _all_answers(view.engine, asked)
    if not answers:
        return no_rows(len(view.schema.attributes), kinds), is_there
    found = []
    for shard, (_, there) in answers.items():
        is_there[places[shard]] = there
        found.append(places[shard][there])
    rows = joined_rows([taken for taken, _ in answers.values()])
    return selected_rows(rows, np.argsort(np.concatenate(found), kind="stable")), is_there


def _all_answers(engine: Engine, requests: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
    answers = engine.ask(requests)
    for _, answer in sorted(answers.items()):
        if isinstance(answer, Exception):
            raise answer
    return answers
