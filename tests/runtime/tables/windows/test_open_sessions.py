"""Open sessions in columns as a table of state, and on the way to a task that has them as objects."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pyarrow as pa
from tests.runtime.tables.table_runs import changes_of, element, harness

from millrace.datastream.state_backend import EmbeddedRocksDBStateBackend
from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call, counting
from millrace.relational.nodes import WindowSpec
from millrace.relational.rows import record_batch
from millrace.runtime.state.tables import ValueTable
from millrace.runtime.tables.aggregates.partials import PartialColumns
from millrace.runtime.tables.columns.window_times import WallClock
from millrace.runtime.tables.windows.open_sessions import OpenSessions
from millrace.runtime.tables.windows.window_config import WindowAggregate

START = datetime(1970, 1, 1)
TYPES = (t.VarCharType(2), t.TimestampType(3))


def table() -> OpenSessions:
    return OpenSessions(PartialColumns([pa.int64()], [counting()]), WallClock(None))


def test_copies_follow_by_changes() -> None:
    draw = random.Random(4)
    leader, copy, plain = table(), table(), ValueTable()
    for start in range(200):
        keys = draw.sample([None, 1, 2, 3], draw.randrange(1, 4))
        starts = [start] * len(keys)
        leader.add(
            record_batch(
                [pa.array(keys, pa.int64()), *(pa.array(each) for each in (starts, starts, [start + 5] * len(keys)))],
                len(keys),
            )
        )
        if draw.random() < 0.5:
            leader.remove(leader.due(start - draw.randrange(8)))
        if draw.random() < 0.4:
            changes = leader.delta()
            copy.apply(changes)
            plain.apply(changes)
            assert copy.entries() == plain.entries() == leader.entries()
    assert leader.entries() and leader.next_due() is not None


def test_from_memory_to_disk() -> None:
    """Sessions in columns have no timers: a task that takes them over plans anew."""
    config = WindowAggregate(
        window=WindowSpec("SESSION", 10),
        time=1,
        zoned=False,
        keys=(0,),
        key_types=TYPES[:1],
        calls=(aggregate_call("COUNT", ()),),
        properties=("END",),
    )
    with harness(config) as columns:
        for ms in (1, 5):
            columns.process_element(element(("a", START + timedelta(milliseconds=ms)), TYPES).value)
        with columns.fresh(state_backend=EmbeddedRocksDBStateBackend()).restore(columns.snapshot()).open() as objects:
            objects.process_watermark(13)
            assert objects.values == []
            objects.process_watermark(14)
            assert changes_of(objects.values) == [(0, ("a", 2, START + timedelta(milliseconds=15)))]
            assert objects.keys("sessions") == []
