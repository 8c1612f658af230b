"""Runs a job with other sources, and with sinks that collect their input, in one of the ways an engine may choose.

The collected results have a form in which runs can be compared.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from millrace.common.sink import Committer, Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.common.source import Source
from millrace.common.types import Row, RowKind
from millrace.connectors.generated_sources import CollectionSource
from millrace.relational.rows import Rows
from millrace.runtime.clocks import now_millis
from millrace.runtime.operators import specs
from millrace.runtime.operators.job_graph import JobGraph, OperatorInfo
from millrace.runtime.tables.exchange import ByColumns
from millrace.testing.local import LocalEngine, LocalRun, run_job
from millrace.testing.recording.events import KINDS, cells, encode
from millrace.testing.recording.sources import OneByOne, PlayedSource, RecordingSource

_ADDS = frozenset({str(RowKind.INSERT), str(RowKind.UPDATE_AFTER)})


@dataclass(frozen=True)
class Change:
    """An element of a stream, or a change of a table."""

    text: str
    """the element as JSON, without its kind"""
    kind: str = KINDS[0]
    key: str | None = None
    """key of the changed row, if a later change of the same key replaces this one"""


def changes_of(element: Any, key: Sequence[int] | None = None) -> Iterator[Change]:
    """An element as changes: a batch of rows has several.

    :param key: the columns by which changes of a table know their rows; None: by all columns.
    :raises RecordingError: a value that can't be recorded.
    """
    if isinstance(element, Rows):
        for kind, values in cells(element):
            known = None if key is None else _json([values[column] for column in key])
            yield Change(_json(values), kind, known)
    elif isinstance(element, Row) and element.get_row_kind() is not RowKind.INSERT:
        plain = Row(*element._values)
        if element._fields is not None:
            plain.set_field_names(element._fields)
        yield Change(_json(encode(plain)), str(element.get_row_kind()))
    else:
        yield Change(_json(encode(element)))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def left_over(changes: Iterable[Change]) -> list[str]:
    """The elements, or the table's rows after all changes: sorted, since the order across epochs and subtasks is
    arbitrary."""
    rows: Counter[str] = Counter()
    by_key: dict[str, str] = {}
    for change in changes:
        if change.key is None:
            rows[change.text] += 1 if change.kind in _ADDS else -1
        elif change.kind in _ADDS:
            by_key[change.key] = change.text
        elif change.kind != str(RowKind.UPDATE_BEFORE):
            by_key.pop(change.key, None)
    # A row that was taken back more often than given shows: it must not be lost.
    missing = [f"-{text}" for text, count in rows.items() for _ in range(-count)]
    return sorted([*(+rows).elements(), *by_key.values(), *missing])


class KeptSink(Sink[Any]):
    """Collects its input in the process of the program.

    :param key: see ``changes_of``.
    """

    def __init__(self, key: Sequence[int] | None) -> None:
        self._key = key
        self.changes: list[Change] = []
        """collected changes, in the order in which their epochs were committed"""

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        return _Writer(self._key)

    def create_committer(self) -> Committer[Any]:
        return _Committer(self.changes)


class _Writer(SinkWriter[Any]):
    def __init__(self, key: Sequence[int] | None) -> None:
        self._key = key
        self._changes: list[Change] = []

    def write(self, element: Any, context: SinkWriterContext) -> None:
        self._changes += changes_of(element, self._key)

    def prepare_commit(self) -> list[Any]:
        changes, self._changes = self._changes, []
        return [changes] if changes else []


class _Committer(Committer[list[Change]]):
    def __init__(self, kept: list[Change]) -> None:
        self._kept = kept

    def commit(self, committables: Sequence[list[Change]]) -> None:
        for changes in committables:
            self._kept += changes


_PAUSE = 0.02
"""Pause between two polls of sources that had no records (s)."""
_EPOCH_MILLIS = 200


@dataclass(frozen=True)
class Variant:
    """A way to run a job. Its results must be the same in all variants."""

    name: str
    epoch_records: int | None = None
    """largest number of records of a subtask in an epoch; None: everything is one epoch"""
    workers: int = 1
    """number of workers between which tasks move after an epoch, restored from their state"""
    seed: int = 0


ALL_AT_ONCE = Variant("all at once")


def variants(seed: int) -> list[Variant]:
    """The variants besides ``ALL_AT_ONCE``. The name of each contains the seed that reproduces it."""
    return [
        Variant("one by one", 1),
        *(Variant(f"random epochs, seed {each}", random.Random(each).randint(2, 9)) for each in (seed, seed + 1)),
        Variant(f"moved and restored, seed {seed}", random.Random(seed).randint(1, 3), workers=3, seed=seed),
    ]


@dataclass(frozen=True)
class Played:
    """The result of playing a recording."""

    run: LocalRun
    results: dict[str, list[str]]
    """name of each sink -> its results, as ``left_over`` gives them"""


def sources_of(job: JobGraph) -> dict[str, OperatorInfo]:
    """The sources to be recorded, by unique names. Lists are not among them, since the program contains them."""
    found = [info for info in job.operators if isinstance(info.spec, specs.Source)]
    return _named([info for info in found if not isinstance(_source(info), CollectionSource)])


def _source(info: OperatorInfo) -> Source[Any, Any]:
    assert isinstance(info.spec, specs.Source)
    return info.spec.source


def _named(infos: list[OperatorInfo]) -> dict[str, OperatorInfo]:
    named: dict[str, OperatorInfo] = {}
    for info in infos:
        twins = sum(each.name == info.name for each in named.values())
        named[f"{info.name} ({twins + 1})" if twins else info.name] = info
    return named


def record(
    job: JobGraph, infos: Mapping[Path, OperatorInfo], records: int | None = None, seconds: float | None = None
) -> None:
    """Record the elements of a job's sources, each into its file; the rest of the job does not run.

    :param records: largest number for each subtask of a source; None: all until their end.
    :param seconds: time limit; None: until all sources have emitted enough.
    """
    recording = []
    for path, info in infos.items():
        path.touch()
        recording.append(_with_source(info, RecordingSource(_source(info), str(path), records)))
    alone = replace(
        job, operators=tuple(recording), edges=(), leading_edges=0, partitions=job.partitions[:1], batch=False,
        epoch_records=records, epoch_millis=_EPOCH_MILLIS,
    )  # fmt: skip
    ends = None if seconds is None else time.monotonic() + seconds
    epochs = LocalEngine(alone, now_millis).epochs()
    for epoch in epochs:
        if ends is not None and time.monotonic() >= ends:
            epochs.close()
        elif not epoch.records:
            time.sleep(_PAUSE)


def _with_source(info: OperatorInfo, source: Source[Any, Any]) -> OperatorInfo:
    assert isinstance(info.spec, specs.Source)
    return replace(info, spec=replace(info.spec, source=source))


def play(job: JobGraph, recorded: Mapping[int, Path], variant: Variant) -> Played:
    """Run a job on recorded sources to their end.

    :param recorded: id of each source -> its file.
    :raises JobFailedError: a function failed.
    """
    kept = {info.id: KeptSink(_key(job, info)) for info in job.operators if _is_sink(info)}
    operators = tuple(_played(info, recorded, kept) for info in job.operators)
    draw = random.Random(variant.seed)
    records = None if job.batch else variant.epoch_records
    changed = replace(job, operators=operators, epoch_records=records, epoch_millis=None)
    run = run_job(changed, workers=variant.workers, pick=draw.randrange)
    names = {name: info.id for name, info in _named([info for info in job.operators if info.id in kept]).items()}
    results = {name: left_over(kept[id].changes) for name, id in names.items()}
    if any(isinstance(info.spec, specs.Collect) for info in job.operators):
        results["collected"] = left_over(change for element in run.collected for change in changes_of(element))
    return Played(run, results)


def _is_sink(info: OperatorInfo) -> bool:
    return isinstance(info.spec, (specs.Sink, specs.StatefulSink, specs.Print))


def _played(info: OperatorInfo, recorded: Mapping[int, Path], kept: Mapping[int, KeptSink]) -> OperatorInfo:
    if isinstance(info.spec, specs.Source) and isinstance(info.spec.source, CollectionSource):
        return _with_source(info, OneByOne(info.spec.source))
    if info.id in recorded:
        return _with_source(info, PlayedSource(recorded[info.id], _source(info).get_produced_type()))
    if info.id in kept:
        return replace(info, spec=specs.Sink(kept[info.id]))
    return info


def _key(job: JobGraph, sink: OperatorInfo) -> tuple[int, ...] | None:
    """The columns by which a table sink identifies rows, and by which changes are distributed to it."""
    ways: Iterator[Any] = (edge.partitioner for edge in job.edges if edge.target == sink.id)
    return next((each.columns for each in ways if isinstance(each, ByColumns)), None)
