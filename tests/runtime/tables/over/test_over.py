"""OVER windows against a loop over the rows that each row sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.tables.media import NEVER
from tests.runtime.tables.tabular import check, harness, less, schema

from millrace.datastream.state_backend import EmbeddedRocksDBStateBackend
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.rex import AggCall, Frame, Literal, Ref, SortKey
from millrace.relational.types import BigIntType, TimestampType, string
from millrace.runtime.tables.over.over import Over
from millrace.table.udf import AggregateFunction, udaf
from millrace.testing import (
    Element,
    EndInput,
    EpochEnd,
    OperatorHarness,
    Outcome,
    ProcessingTime,
    WatermarkStep,
)
from millrace.testing.variants import _on_disk, _variants

INPUT = schema(BigIntType(), BigIntType(), TimestampType(3), BigIntType())
"""key, number, time, which row it is"""
NUMBER, TIME = Ref(BigIntType(), 1), Ref(TimestampType(3), 2)
START = datetime(2026, 5, 1)
ORIGIN = int((START - datetime(1970, 1, 1)) / timedelta(milliseconds=1))
ORDER = (SortKey(TIME),)
Rows = list[tuple[Any, ...]]
"""(number, time in ms) of rows"""


class Product(AggregateFunction):  # type: ignore[type-arg]
    def create_accumulator(self) -> list[int]:
        return [1]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] *= args[0] or 1

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def get_result_type(self) -> str:
        return "BIGINT"

    def get_accumulator_type(self) -> str:
        return "ARRAY<BIGINT>"


def user(wrapper: Any) -> AggCall:
    return AggCall(wrapper.name, (NUMBER,), wrapper.result_type, udf=wrapper)


def numbering(name: str) -> AggCall:
    return AggCall(name, (), BigIntType(False))


def known(rows: Rows) -> list[int]:
    return [row[0] for row in rows if row[0] is not None]


def product(rows: Rows) -> int:
    found = 1
    for number in known(rows):
        found *= number or 1
    return found


AGGREGATES: dict[str, tuple[AggCall, Callable[[Rows], Any]]] = {
    "count": (aggregate_call("COUNT", []), len),
    "sum": (aggregate_call("SUM", [NUMBER]), lambda rows: sum(known(rows)) if known(rows) else None),
    "max": (aggregate_call("MAX", [NUMBER]), lambda rows: max(known(rows), default=None)),
    "last": (aggregate_call("LAST_VALUE", [NUMBER]), lambda rows: (known(rows) or [None])[-1]),
    "filtered": (
        aggregate_call("COUNT", [NUMBER], filter=less(NUMBER, Literal(BigIntType(), 2))),
        lambda rows: sum(number < 2 for number in known(rows)),
    ),
    "distinct": (aggregate_call("COUNT", [NUMBER], distinct=True), lambda rows: len(set(known(rows)))),
    "array": (aggregate_call("ARRAY_AGG", [NUMBER]), lambda rows: [row[0] for row in rows]),
    "user": (user(udaf(Product())), product),
    "pandas": (
        user(udaf(lambda series: int(series.count()), result_type="BIGINT", func_type="pandas", name="counted")),
        lambda rows: len(known(rows)),
    ),
}
FRAMES = {
    "rows unbounded": Frame(True, None),
    "range unbounded": Frame(False, None),
    "rows 2": Frame(True, 2),
    "range 3 ms": Frame(False, 3),
    "range 0": Frame(False, 0),
}

events = st.lists(
    st.tuples(st.none() | st.integers(0, 1), st.none() | st.integers(0, 3), st.integers(0, 12)) | st.integers(0, 12),
    max_size=12,
)


def row(key: Any, number: Any, time: int, which: int) -> tuple[Any, ...]:
    return key, number, START + timedelta(milliseconds=time), which


def over(*calls: tuple[AggCall, Frame], event_time: bool = True, **more: Any) -> Over:
    produced = more.pop("partition", (0,))
    return Over(input=INPUT, partition=produced, order=ORDER, calls=calls, event_time=event_time, **more)


def script_of(events: list[Any]) -> tuple[list[Any], list[Any]]:
    """(the script, the rows that are in time: key, number, time, which)"""
    script: list[Any] = []
    rows = []
    watermark = -1
    for which, event in enumerate(events):
        if isinstance(event, int):
            watermark = max(watermark, event)
            script.append(WatermarkStep(ORIGIN + event))
        else:
            script.append(Element(("+I", *row(*event, which))))
            if event[2] > watermark:
                rows.append((*event, which))
    return [*script, EndInput()], rows


def worked_off(events: list[Any], frame: Frame) -> list[tuple[Any, Rows]]:
    """The rows of a bounded frame with what each sees: as in Flink a row is late if a later one of its key was worked
    off, and of keys without a new row for one and a half times the frame nothing is known."""
    watermark = -1
    waiting: list[Any] = []
    done: dict[Any, list[Any]] = {}
    found = []
    for which, event in enumerate([*events, 10**6]):
        if not isinstance(event, int):
            newest = max((each[2] for each in done.get(event[0], [])), default=-1)
            if event[2] > watermark or event[2] > newest:
                waiting.append((*event, which))
            continue
        if event <= watermark:
            continue  # no news
        watermark = event
        due = sorted((each for each in waiting if each[2] <= watermark), key=lambda each: each[2])
        waiting = [each for each in waiting if each[2] > watermark]
        for one in due:
            done.setdefault(one[0], []).append(one)
        found += [(one, seen_by(one, done[one[0]], frame)) for one in due]
        if not frame.rows:
            idle = frame.preceding + frame.preceding // 2
            done = {key: rows for key, rows in done.items() if rows[-1][2] > watermark - idle}
    return found


def seen_by(one: Any, rows: list[Any], frame: Frame, peers: bool = True) -> Rows:
    """The rows that a row sees, in order; ``rows`` are those of its partition in order."""
    place = rows.index(one)
    if frame.rows:
        return [
            each[1:3] for each in rows[0 if frame.preceding is None else max(0, place - frame.preceding) : place + 1]
        ]
    last = max(n for n, each in enumerate(rows) if each[2] <= one[2]) if peers else place
    earliest = -1 if frame.preceding is None else one[2] - frame.preceding
    return [each[1:3] for each in rows[: last + 1] if each[2] >= earliest]


@settings(max_examples=examples(30), suppress_health_check=list(HealthCheck))
@given(
    names=st.lists(st.sampled_from(list(AGGREGATES)), min_size=1, max_size=2, unique=True),
    frame=st.sampled_from(list(FRAMES)),
    events=events,
    ttl=st.sampled_from([0, NEVER]),
)
def test_event_time(names: list[str], frame: str, events: list[Any], ttl: int) -> None:
    script, rows = script_of(events)
    rows.sort(key=lambda each: each[2])
    config = over(*((AGGREGATES[name][0], FRAMES[frame]) for name in names), state_ttl=ttl)
    found = check(config, (INPUT,), script, ordered=False, random_runs=1)
    if FRAMES[frame].preceding:
        pairs = worked_off(events, FRAMES[frame])
    else:
        partitions = {one[0]: [each for each in rows if each[0] == one[0]] for one in rows}
        pairs = [(one, seen_by(one, partitions[one[0]], FRAMES[frame])) for one in rows]
    expected = [("+I", *row(*one), *(AGGREGATES[name][1](seen) for name in names)) for one, seen in pairs]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


@settings(max_examples=examples(10), suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(list(AGGREGATES)),
    frame=st.sampled_from(list(FRAMES)),
    events=st.lists(
        st.tuples(st.integers(0, 1), st.none() | st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=8
    ),
)
def test_processing_time(name: str, frame: str, events: list[Any]) -> None:
    script: list[Any] = []
    rows: list[Any] = []
    now = 0
    for which, (key, number, pause) in enumerate(events):
        now += pause
        script += [ProcessingTime(now), Element(("+I", *row(key, number, 0, which)))]
        rows.append((key, number, now, which))
    call, oracle = AGGREGATES[name]
    found = check(over((call, FRAMES[frame]), event_time=False), (INPUT,), script, random_runs=1)
    expected = []
    for one in rows:
        partition = [each for each in rows if each[0] == one[0]]
        seen = seen_by(one, partition, FRAMES[frame], peers=False)
        expected.append(("+I", *row(one[0], one[1], 0, one[3]), oracle(seen)))
    assert found == expected


@settings(max_examples=examples(10), suppress_health_check=list(HealthCheck))
@given(events=events)
def test_numbers_and_the_row_before(events: list[Any]) -> None:
    lag = AggCall("LAG", (NUMBER, Literal(BigIntType(), 2), Literal(BigIntType(), -1)), BigIntType())
    names = ("ROW_NUMBER", "RANK", "DENSE_RANK")
    frame = FRAMES["rows unbounded"]
    script, rows = script_of(events)
    rows.sort(key=lambda each: each[2])
    config = over(*((numbering(name), frame) for name in names), (lag, frame))
    found = check(config, (INPUT,), script, ordered=False, random_runs=1)
    expected = []
    for one in rows:
        partition = [each for each in rows if each[0] == one[0]]
        place = partition.index(one)
        before = [each for each in partition if each[2] < one[2]]
        numbers = (place + 1, len(before) + 1, len({each[2] for each in before}) + 1)
        expected.append(("+I", *row(*one), *numbers, partition[place - 2][1] if place >= 2 else -1))
    assert Counter(map(repr, found)) == Counter(map(repr, expected))


def test_different_frames_in_one_window() -> None:
    calls = [(AGGREGATES["sum"][0], frame) for frame in FRAMES.values()]
    rows = [(1, n, time, n) for n, time in enumerate([0, 2, 2, 4, 9])]
    script = [*(Element(("+I", *row(*each))) for each in rows), WatermarkStep(ORIGIN + 3), EndInput()]
    found = check(over(*calls), (INPUT,), script)
    assert found == [
        ("+I", *row(*one), *(sum(known(seen_by(one, rows, frame))) for frame in FRAMES.values())) for one in rows
    ]


def test_rows_that_nobody_will_see_are_removed() -> None:
    with harness(over((AGGREGATES["sum"][0], FRAMES["range 3 ms"])), INPUT) as run:
        for time in (1, 2, 5):
            run.process_element(("+I", *row(1, 7, time, time)))
        run.process_watermark(ORIGIN + 5)
        assert [each[0] - ORIGIN for each in run.state_of((1,), "kept").values()] == [5]
        run.process_watermark(ORIGIN + 8)
        assert run.state_of((1,), "kept") is not None, "a row that comes late may see them"
        run.process_watermark(ORIGIN + 9)
        assert run.state_of((1,), "kept") is None
        assert run.num_event_time_timers() == 0


def test_rows_that_nobody_will_see_are_removed_from_disk_after_a_move_from_memory() -> None:
    with harness(over((AGGREGATES["sum"][0], FRAMES["range 3 ms"])), INPUT) as run:
        run.process_element(("+I", *row(1, 7, 5, 5)))
        run.process_watermark(ORIGIN + 5)
        with run.fresh(state_backend=EmbeddedRocksDBStateBackend()).restore(run.snapshot()).open() as on_disk:
            assert on_disk.state_of((1,), "kept") is not None
            on_disk.process_watermark(ORIGIN + 9)
            assert on_disk.state_of((1,), "kept") is None


@settings(max_examples=examples(10), suppress_health_check=list(HealthCheck))
@given(
    frame=st.sampled_from(["rows 2", "range 3 ms"]),
    events=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 1), st.none() | st.integers(0, 3)), min_size=1, max_size=10
    ),
)
def test_rows_expire(frame: str, events: list[Any]) -> None:
    """Each row by itself, by processing time since it was worked off; nobody is told."""
    ttl, now = 5, 0
    script: list[Any] = []
    done: dict[int, list[Any]] = {}
    expected = []
    for which, (pause, key, number) in enumerate(events):
        now += pause
        script += [ProcessingTime(now), Element(("+I", *row(key, number, which, which)))]
        script += [WatermarkStep(ORIGIN + which), EpochEnd()]
        one = (key, number, which, which)
        done.setdefault(key, []).append((now, one))
        there = [each for written, each in done[key] if written > now - ttl]
        expected.append(("+I", *row(*one), AGGREGATES["sum"][1](seen_by(one, there, FRAMES[frame]))))
    config = over((AGGREGATES["sum"][0], FRAMES[frame]), state_ttl=ttl)
    for name, outcome in outcomes(lambda: harness(config, INPUT), [*script, EndInput()]):
        assert outcome.values == expected, name


def outcomes(make: Callable[[], OperatorHarness], script: list[Any]) -> Iterator[tuple[str, Outcome]]:
    """In all variants, in memory and on disk."""
    return ((name, run(make, script)) for name, run in chain(_variants(1, 1), _on_disk(1)))


def test_rows_that_expire_are_columns_in_savepoints_as_before() -> None:
    """With names and types; each with the time of its write, and the partition as a key."""
    names = (("f0", "f1", "f2", "f3"),)
    config = over(
        (AGGREGATES["sum"][0], FRAMES["rows 2"]),
        state_ttl=1_000,
        meaning=("over",),
        input_columns=names,
        input_names=names,
    )
    with harness(config, INPUT) as run:
        run.set_processing_time(70)
        run.process_element(("+I", *row(1, 7, 5, 5)))
        run.process_watermark(ORIGIN + 5)
        kind, entries = run.operator.keyed_state().full()["kept"]
        assert (kind, entries) == ("TTL map", {(1,): (True, {0: (70, (ORIGIN + 5, 7))}, [])})
    (table,) = (each for each in config.state_tables() if each.state == "kept")
    assert (table.key_names, table.names, table.types) == (("f0",), ("the time", "f1"), ("BIGINT", "BIGINT"))


def test_late_rows_are_counted() -> None:
    with harness(over((AGGREGATES["count"][0], FRAMES["rows 2"])), INPUT) as run:
        run.process_elements([(("+I", *row(key, 7, 3, 0)), None) for key in (1, 2)])
        run.process_watermark(ORIGIN + 5)
        run.process_elements([(("+I", *row(1, 7, time, 0)), None) for time in (2, 3, 4, 6)])
        run.process_watermark(ORIGIN + 6)
        assert run.values[2:] == [("+I", *row(1, 7, 4, 0), 2), ("+I", *row(1, 7, 6, 0), 3)]
        assert run.counter("numLateRecordsDropped") == 2


def test_without_a_bound_the_watermark_says_what_is_late() -> None:
    with harness(over((AGGREGATES["count"][0], FRAMES["rows unbounded"])), INPUT) as run:
        run.process_watermark(ORIGIN + 5)
        run.process_elements([(("+I", *row(1, 7, time, 0)), None) for time in (4, 5, 6)])
        run.process_watermark(ORIGIN + 6)
        assert run.values == [("+I", *row(1, 7, 6, 0), 1)]
        assert run.counter("numLateRecordsDropped") == 2


def test_what_only_batch_can_do() -> None:
    lead = AggCall("LEAD", (NUMBER,), BigIntType())
    for call, frame in ((lead, Frame(True, None)), (AGGREGATES["sum"][0], Frame(True, 1, 1))):
        with pytest.raises(NotImplementedError, match="still to come: run it in batch mode"):
            harness(over((call, frame)), INPUT)
    descending = Over(input=INPUT, partition=(), order=(SortKey(TIME, True),), calls=(), event_time=True)
    with pytest.raises(NotImplementedError, match="one time attribute, ascending"):
        harness(descending, INPUT)


def test_text_too() -> None:
    columns = schema(string(), TimestampType(3))
    call = aggregate_call("LISTAGG", [Ref(string(), 0)])
    config = Over(
        input=columns,
        partition=(),
        order=(SortKey(Ref(TimestampType(3), 1)),),
        calls=((call, Frame(True, 1)),),
        event_time=True,
    )
    rows = [(text, START + timedelta(milliseconds=n)) for n, text in enumerate("abc")]
    found = check(config, (columns,), [*(Element(("+I", *each)) for each in rows), EndInput()])
    assert [change[3] for change in found] == ["a", "a,b", "b,c"]
