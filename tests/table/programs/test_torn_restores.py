"""A changed query that is killed while its state is restored, or in its first epoch, begins once more: it gives what it
would have given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import pytest
from tests.checkpoint.flow_jobs import Fate, FlowJob, KilledError
from tests.checkpoint.jobs import SavedJob, collecting
from tests.programs import ListSource
from tests.table.programs.test_changed_queries import table
from tests.table.programs.test_mapped_rows import MAPPED, given, job_of, saved, whole

from millrace.checkpoint.folder import RestoreError
from millrace.common import Row, Types, WatermarkStrategy
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.runtime.operators.job_graph import JobGraph
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.tasks.worker import TaskCache
from millrace.table import Schema, StreamTableEnvironment

pytestmark = pytest.mark.draw(18)


class TornJob(SavedJob):
    """Its driver dies before the task of that number runs, counted over all epochs."""

    def __init__(self, job: JobGraph, directory: Path, dies_at: int) -> None:
        super().__init__(job, directory, checkpoint_every=1)
        self._left = dies_at

    def _next_worker(self, partitions: int) -> TaskCache:
        if not self._left:
            raise KilledError
        self._left -= 1
        return super()._next_worker(partitions)


def begun(job: SavedJob, path: str) -> None:
    """As a new driver does: from its own last checkpoint, else from the savepoint."""
    if job.directory.listing().usable:
        job.go_on()
    else:
        job.restore(path)


def life(job: SavedJob, path: str) -> list[Row]:
    """What it gives in epochs that are complete."""
    try:
        begun(job, path)
        job.finish()
    except KilledError:
        pass
    return job.collected


TORN = ["a full join of groups", "a left interval join", "a join of windows", "OVER with LAG", "Top-N over groups",
        "a session", "beside functions of the user", "a temporal join"]  # fmt: skip


@pytest.mark.parametrize("parallelism", [2, 3])
@pytest.mark.parametrize("what", TORN)
def test_it_begins_once_more(what: str, parallelism: int, disk: Path | None, tmp_path: Path) -> None:
    before, after, places = MAPPED[what]
    first, path = saved(tmp_path, job_of(before, disk), "savepoint")
    expected = whole(tmp_path, after)
    job = job_of(after, disk, parallelism=parallelism)
    tasks = sum(job.partitions)
    # In the middle of the restore, at the first task of the epoch behind it, in the middle of that, and at its end.
    for dies_at in (1, tasks - 1, tasks, tasks + tasks // 2, 2 * tasks - 1, 2 * tasks):
        directory, found = tmp_path / f"dies at {dies_at}", given(first, places)
        same = replace(job, job_id=f"{dies_at:032x}")
        found += life(TornJob(same, directory, dies_at), path)
        found += life(TornJob(same, directory, dies_at), path)  # and once more, at the same place of its second life
        found += life(SavedJob(same, directory, 1), path)
        assert table(found) == expected, dies_at


OF_ANY_ORDER = ["a full join of groups", "Top-N over groups", "beside functions of the user"]
"""With more subtasks than their source has, rows come in any order in flow, so those of other queries may be late."""
IN_FLOW = [*((what, 2) for what in TORN), *((what, 3) for what in OF_ANY_ORDER)]


def begins_once_more_in_flow(what: str, parallelism: int, disk: Path | None, directory: Path, points: int) -> None:
    """At some points of the restore, and at half as many of what is behind it."""
    before, after, places = MAPPED[what]
    first, path = saved(directory, job_of(before, disk), "savepoint")
    expected, draw = whole(directory, after), Random(f"{what} {parallelism} {disk is None}")
    job = job_of(after, disk, parallelism=parallelism)
    restoring = 2 * sum(job.partitions)  # before and after each task
    within = draw.sample(range(restoring + 1), min(points, restoring + 1))
    for dies_at in [*within, *(restoring + further for further in draw.sample(range(1, 60), points // 2))]:
        torn, found = directory / f"dies at {dies_at}", given(first, places)
        same = replace(job, job_id=f"{dies_at:032x}")
        for fate in (Fate(dies_at), Fate(dies_at), Fate()):  # twice at the same point, of a second life, too
            flowing = FlowJob(same, torn, draw, fate)
            found += flowing.live(partial(flowing.restore, path))
        assert table(found) == expected, dies_at


@pytest.mark.parametrize(("what", "parallelism"), IN_FLOW)
def test_it_begins_once_more_in_flow(what: str, parallelism: int, disk: Path | None, tmp_path: Path) -> None:
    begins_once_more_in_flow(what, parallelism, disk, tmp_path, points=4)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("what", "parallelism"), IN_FLOW)
def test_it_begins_once_more_in_flow_at_each_point(
    what: str, parallelism: int, disk: Path | None, tmp_path: Path
) -> None:
    begins_once_more_in_flow(what, parallelism, disk, tmp_path, points=40)


KEYS = 1_000
TIMED = Types.ROW_NAMED(["k", "x", "at"], [Types.INT(), Types.LONG(), Types.LONG()])
EVENTS = [
    (at, Row(key, (key * 7 + n * 5) % 9, at)) for n in range(6) for key in range(KEYS) for at in [n * 1000 + key % 10]
]  # fmt: skip
MATCH = (
    "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.x AS a, B.x AS b, C.x AS c "
    "AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C) DEFINE A AS A.x < 5, B AS B.x > {}, C AS C.x < 8) AS m"
)


def matching(query: str, disk: Path | None, parallelism: int = 2, records: int | None = 1_500) -> JobGraph:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        tables = StreamTableEnvironment.create(env)
        schema = Schema.new_builder().column_by_expression("ts", "TO_TIMESTAMP_LTZ(`at`, 3)")
        source = env.from_source(ListSource(EVENTS), WatermarkStrategy.no_watermarks(), "t", TIMED)
        made = schema.watermark("ts", "ts - INTERVAL '4' SECOND").build()
        tables.create_temporary_view("t", source.uid("source").set_parallelism(2), made)
        return tables.to_changelog_stream(tables.sql_query(query))

    job = collecting(build, parallelism, epoch_records=records)
    return job if disk is None else replace(job, state=OnDisk((str(disk),)))


def matches(rows: Sequence[int]) -> list[tuple[int, int, int]]:
    """A B+ C of the values of a key, found by trying: B takes as many as it can."""
    found, start = [], 0
    while start < len(rows):
        end = next((end for end in range(len(rows), start + 2, -1) if _is_match(rows[start:end])), None)
        if end is None:
            start += 1
            continue
        found.append((rows[start], rows[end - 2], rows[end - 1]))
        start = end
    return found


def _is_match(rows: Sequence[int]) -> bool:
    return rows[0] < 5 and all(x > 3 for x in rows[1:-1]) and rows[-1] < 8


@pytest.mark.parametrize("source", ["savepoint", "checkpoint"])
@pytest.mark.parametrize("parallelism", [2, 3])
def test_patterns_of_many_partitions_go_on(source: str, parallelism: int, disk: Path | None, tmp_path: Path) -> None:
    first = SavedJob(matching(MATCH.format(3), disk), tmp_path / "first", 1)
    checkpoint = first.epoch(tmp_path / "saved").checkpoint
    path = str(tmp_path / "saved") if source == "savepoint" else str(checkpoint)
    second = SavedJob(matching(MATCH.format(3), disk, parallelism), tmp_path / "second")
    second.restore(path)
    of_key: dict[int, list[tuple[int, int]]] = {}
    for at, row in EVENTS:
        of_key.setdefault(row[0], []).append((at, row[1]))
    expected = Counter((key, *match) for key, rows in of_key.items() for match in matches([x for _, x in sorted(rows)]))
    assert sum(expected.values()) > KEYS // 2
    assert table([*first.collected, *second.finish()]) == expected


def test_another_pattern_of_many_partitions_is_refused(disk: Path | None, tmp_path: Path) -> None:
    first = SavedJob(matching(MATCH.format(3), disk), tmp_path / "first", 1)
    first.epoch(tmp_path / "saved")
    before = MATCH.format(3)
    for query in (MATCH.format(4), before.replace("B+", "B*"), before.replace("B.x AS b", "A.x AS b")):
        second = SavedJob(matching(query, disk), tmp_path / "second")
        with pytest.raises(RestoreError, match=r"(?s)nothing has run.*'Match'.*its query has changed: what was"):
            second.restore(str(tmp_path / "saved"))
        assert second.collected == []
