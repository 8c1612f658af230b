"""Runs a job with other sources and with sinks that keep what they get, in one of the ways in which an engine may."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from millrace.common.source import Source
from millrace.connectors.collection import CollectionSource
from millrace.runtime.clocks import now_millis
from millrace.runtime.jobs import specs
from millrace.runtime.jobs.job import JobGraph, OperatorInfo
from millrace.runtime.tables.exchange import ByColumns
from millrace.testing.local import LocalEngine, LocalRun, run_job
from millrace.testing.recording.player import OneByOne, PlayedSource
from millrace.testing.recording.recorder import RecordingSource
from millrace.testing.recording.results import KeptSink, changes_of, left_over

_PAUSE = 0.02
"""Seconds between two looks at sources that had nothing."""
_EPOCH_MILLIS = 200


@dataclass(frozen=True)
class Variant:
    """How a job is run: none of this may show in its results."""

    name: str
    epoch_records: int | None = None
    """most records of a subtask in an epoch; None: all in one epoch"""
    workers: int = 1
    """among which tasks move between epochs, and are restored from their state"""
    seed: int = 0


ALL_AT_ONCE = Variant("all at once")


def variants(seed: int) -> list[Variant]:
    """The others. Each says by which seed it comes first again."""
    return [
        Variant("one by one", 1),
        *(Variant(f"random epochs, seed {each}", random.Random(each).randint(2, 9)) for each in (seed, seed + 1)),
        Variant(f"moved and restored, seed {seed}", random.Random(seed).randint(1, 3), workers=3, seed=seed),
    ]


@dataclass(frozen=True)
class Played:
    """What came of it."""

    run: LocalRun
    results: dict[str, list[str]]
    """name of each sink -> what ``left_over`` says it was given"""


def sources_of(job: JobGraph) -> dict[str, OperatorInfo]:
    """The sources that have to be recorded, by a name that each has for itself. Lists are not among them, since they
    come with the program."""
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
    """Let some sources of a job give what they have, each into its file; nothing else of the job runs.

    :param records: of each subtask of a source, at most; None: all until their end.
    :param seconds: after so long it ends; None: when all sources have given enough.
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
    """Run a job to the end of what was recorded of its sources.

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
    """The columns by which a table's sink knows rows: by them changes come to it."""
    ways: Iterator[Any] = (edge.partitioner for edge in job.edges if edge.target == sink.id)
    return next((each.columns for each in ways if isinstance(each, ByColumns)), None)
