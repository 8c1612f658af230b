"""``UpdatingOver`` against a loop over the rows that are left, from the beginning."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rings import examples
from tests.runtime.tables.media import NEVER
from tests.runtime.tables.table_runs import Change, changes_of, check_table, element, few, harness, rows_of, run

from millrace.datastream.state_backend import EmbeddedRocksDBStateBackend, HashMapStateBackend
from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.nodes import Field
from millrace.relational.rex import AggCall, Call, Frame, Literal, Ref, SortKey
from millrace.relational.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from millrace.runtime.state.figures import ROWS_READ
from millrace.runtime.tables.over.updating_over import UpdatingOver
from millrace.table.udf import AggregateFunction, udaf
from millrace.testing import EndInput, EpochEnd, ProcessingTime, Record, Step

TYPES = (t.VarCharType(2), t.IntType(), t.BigIntType(), t.IntType())
"""partition, order, number, which row it is"""
INPUT = tuple(Field(f"f{index}", each) for index, each in enumerate(TYPES))
ORDER, NUMBER = Ref(TYPES[1], 1), Ref(TYPES[2], 2)
Row = tuple[Any, ...]
Seen = list[Row]

EVENTS = st.lists(
    st.tuples(st.sampled_from([None, "a"]), st.none() | st.integers(0, 4), st.none() | st.integers(0, 3)), max_size=8
)


class Longest(AggregateFunction):  # type: ignore[type-arg]
    """How many rows, of whatever value."""

    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += 1

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def get_result_type(self) -> str:
        return "BIGINT"

    def get_accumulator_type(self) -> str:
        return "ARRAY<BIGINT>"


def numbers(rows: Seen) -> list[int]:
    return [row[2] for row in rows if row[2] is not None]


def user_call() -> AggCall:
    wrapper: Any = udaf(Longest())
    return AggCall(wrapper.name, (NUMBER,), wrapper.result_type, udf=wrapper)


AGGREGATES: dict[str, tuple[AggCall, Callable[[Seen], Any]]] = {
    "count": (aggregate_call("COUNT", []), len),
    "sum": (aggregate_call("SUM", [NUMBER]), lambda rows: sum(numbers(rows)) if numbers(rows) else None),
    "min": (aggregate_call("MIN", [NUMBER]), lambda rows: min(numbers(rows), default=None)),
    "first": (aggregate_call("FIRST_VALUE", [NUMBER]), lambda rows: (numbers(rows) or [None])[0]),
    "distinct": (aggregate_call("COUNT", [NUMBER], distinct=True), lambda rows: len(set(numbers(rows)))),
    "filtered": (
        aggregate_call("COUNT", [NUMBER], filter=Call(t.BooleanType(), "<", (NUMBER, Literal(t.BigIntType(), 2)))),
        lambda rows: sum(each < 2 for each in numbers(rows)),
    ),
    "array": (aggregate_call("ARRAY_AGG", [NUMBER]), lambda rows: tuple(row[2] for row in rows) or None),
    "user": (user_call(), len),
}
FRAMES = {
    "rows to here": Frame(True, None),
    "rows 2": Frame(True, 2),
    "rows around": Frame(True, 1, 1),
    "rows ahead": Frame(True, -1, 2),
    "rows behind": Frame(True, 3, -2),
    "rows to the end": Frame(True, 0, None),
    "range to here": Frame(False, None),
    "range 1": Frame(False, 1),
    "range around": Frame(False, 1, 2),
    "range ahead": Frame(False, -1, 2),
    "peers": Frame(False, 0),
    "all": Frame(False, None, None),
}


def sort_key(row: Row, descending: bool) -> Any:
    if descending:
        return row[1] is None, -(row[1] or 0)
    return row[1] is not None, row[1] or 0


def seen_by(row: Row, rows: Seen, frame: Frame, descending: bool) -> Seen:
    """The rows that a row sees; ``rows`` are those of its partition in order."""
    here = rows.index(row)
    if frame.rows:
        low = 0 if frame.preceding is None else here - frame.preceding
        high = len(rows) - 1 if frame.following is None else here + frame.following
        return [each for place, each in enumerate(rows) if low <= place <= high]
    peers = [place for place, each in enumerate(rows) if each[1] == row[1]]

    def inside(place: int) -> bool:
        value = rows[place][1]
        if row[1] is None:
            after, before = place >= peers[0], place <= peers[-1]
        elif value is None:
            after, before = place > here, place < here
        else:
            distance = (value - row[1]) * (-1 if descending else 1)
            after, before = distance >= -(frame.preceding or 0), distance <= (frame.following or 0)
        return (frame.preceding is None or after) and (frame.following is None or before)

    return [each for place, each in enumerate(rows) if inside(place)]


def partition_of(row: Row, rows: Seen, descending: bool = False) -> Seen:
    return sorted((each for each in rows if each[0] == row[0]), key=lambda each: sort_key(each, descending))


def over(*calls: tuple[AggCall, Frame], descending: bool = False, **more: Any) -> UpdatingOver:
    order = (SortKey(ORDER, descending, nulls_first=not descending),)
    return UpdatingOver(**({"input": INPUT, "partition": (0,), "order": order, "calls": calls} | more))


def script_of(data: st.DataObject) -> tuple[list[Step], Seen]:
    """Insertions and deletions, and the rows that are left in the order of their arrival."""
    script: list[Step] = []
    left: Seen = []
    for which, event in enumerate(data.draw(EVENTS)):
        row = (*event, which)
        script.append(element(row, TYPES))
        left.append(row)
        if data.draw(st.integers(0, 3)) == 0:
            gone = left.pop(left.index(data.draw(st.sampled_from(left))))
            script.append(element(gone, TYPES, DELETE))
    return [*script, EndInput()], left


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("descending", [False, True])
@few
@given(st.lists(st.sampled_from(list(AGGREGATES)), min_size=1, max_size=3, unique=True), st.data())
def test_frames(frame: str, descending: bool, names: list[str], data: st.DataObject) -> None:
    script, left = script_of(data)
    config = over(*((AGGREGATES[name][0], FRAMES[frame]) for name in names), descending=descending)
    expected = []
    for row in left:
        seen = seen_by(row, partition_of(row, left, descending), FRAMES[frame], descending)
        expected.append((*row, *(AGGREGATES[name][1](seen) for name in names)))
    check_table(config, script, expected)


@few
@given(st.data())
def test_places_in_the_partition(data: st.DataObject) -> None:
    names = {"ROW_NUMBER": t.BigIntType(), "RANK": t.BigIntType(), "DENSE_RANK": t.BigIntType()}
    shares = {"PERCENT_RANK": t.DoubleType(), "CUME_DIST": t.DoubleType()}
    calls = [AggCall(name, (), kind) for name, kind in (names | shares).items()]
    calls.append(AggCall("NTILE", (Literal(t.IntType(), 3),), t.IntType()))
    for name in ("LAG", "LEAD"):
        calls.append(AggCall(name, (NUMBER, Literal(t.IntType(), 2), Literal(t.BigIntType(), -1)), t.BigIntType()))
    script, left = script_of(data)
    expected = []
    for row in left:
        rows = partition_of(row, left)
        here, count = rows.index(row), len(rows)
        smaller = [each for each in rows if sort_key(each, False) < sort_key(row, False)]
        not_larger = [each for each in rows if sort_key(each, False) <= sort_key(row, False)]
        buckets = [bucket for bucket in range(3) for _ in range(count // 3 + (bucket < count % 3))]
        expected.append(
            (
                *row,
                here + 1,
                len(smaller) + 1,
                len({each[1] for each in smaller}) + 1,
                len(smaller) / (count - 1) if count > 1 else 0.0,
                len(not_larger) / count,
                buckets[here] + 1,
                rows[here - 2][2] if here >= 2 else -1,
                rows[here + 2][2] if here + 2 < count else -1,
            )
        )
    check_table(over(*((call, Frame(True, None)) for call in calls)), script, expected)


@few
@given(st.data())
def test_rows_by_key_need_no_old_ones(data: st.DataObject) -> None:
    """A consumer that knows rows by their key gets no -U, and a key is deleted before it comes again."""
    script, left = script_of(data)
    config = over((AGGREGATES["sum"][0], FRAMES["rows 2"]), before=False)
    expected = [
        (*row, AGGREGATES["sum"][1](seen_by(row, partition_of(row, left), FRAMES["rows 2"], False))) for row in left
    ]
    check_table(config, script, expected, keys=(3,))


def test_on_disk() -> None:
    rows = [("a", (7 * which) % 5, which, which) for which in range(8)]
    script = [*(element(row, TYPES) for row in rows), element(rows[2], TYPES, DELETE), EndInput()]
    left = [row for row in rows if row[3] != 2]
    config = over((AGGREGATES["sum"][0], FRAMES["rows around"]))
    expected = [
        (*row, sum(numbers(seen_by(row, partition_of(row, left), FRAMES["rows around"], False)))) for row in left
    ]
    check_table(config, script, expected, disk=True)


def test_only_rows_with_other_results_are_updated() -> None:
    """A row in the middle: the one before it has the result that it had."""
    config = over((AGGREGATES["sum"][0], FRAMES["rows 2"]))
    first, last, middle = ("a", 1, 1, 1), ("a", 3, 3, 3), ("a", 2, 2, 2)
    script = [element(first, TYPES), element(last, TYPES), EpochEnd(), element(middle, TYPES), EndInput()]
    assert run(config, script) == [
        (INSERT, (*first, 1)),
        (INSERT, (*last, 4)),
        (INSERT, (*middle, 3)),
        (UPDATE_BEFORE, (*last, 4)),
        (UPDATE_AFTER, (*last, 6)),
    ]


def test_other_partitions_stay_as_they_are() -> None:
    config = over((AGGREGATES["count"][0], FRAMES["all"]))
    script = [element(("a", 1, 1, 1), TYPES), EpochEnd(), element(("b", 1, 1, 2), TYPES), EndInput()]
    assert [kind for kind, _ in run(config, script)] == [INSERT, INSERT]


def test_a_row_that_is_not_there_is_not_taken_back() -> None:
    config = over((AGGREGATES["count"][0], FRAMES["all"]))
    assert run(config, [element(("a", 1, 1, 1), TYPES, DELETE), EndInput()]) == []


def test_rows_expire() -> None:
    """What has expired is seen by no row any more; nobody is told."""
    config = over((AGGREGATES["sum"][0], FRAMES["rows to here"]), state_ttl=100)
    script = [
        ProcessingTime(0),
        element(("a", 1, 1, 1), TYPES),
        EpochEnd(),
        ProcessingTime(1_000),
        element(("a", 2, 2, 2), TYPES),
        EndInput(),
    ]
    assert run(config, script) == [(INSERT, ("a", 1, 1, 1, 1)), (INSERT, ("a", 2, 2, 2, 2))]


NEAR = {"rows 2", "rows around", "rows ahead", "rows behind"}
"""frames that reach so many rows: only rows that near a change get new results"""
TTL = 6
ANY_ROW = st.tuples(
    st.sampled_from([None, "a", "b"]), st.none() | st.integers(0, 2), st.none() | st.integers(0, 1), st.integers(0, 1)
)
SLICES = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.lists(st.tuples(ANY_ROW, st.sampled_from([INSERT, INSERT, DELETE])), min_size=1, max_size=6),
    ),
    min_size=1,
    max_size=5,
)
"""(time that passes before it in ms, changes) of each slice; rows may be equal, and those that go may not be there"""


class Stored:
    """A row with its result, () before it has one, and when that was written (ms)."""

    def __init__(self, row: Row, arrival: int, written: int) -> None:
        self.row, self.arrival, self.written = row, arrival, written
        self.result: Row = ()


class Naive:
    """Each slice by hand: rows one after the other, then each changed partition as a whole."""

    def __init__(self, name: str, frame: Frame, before: bool, ttl: int) -> None:
        self._aggregate, self._frame, self._before, self._ttl = AGGREGATES[name][1], frame, before, ttl
        self._stored: dict[Any, list[Stored]] = {}
        self._arrivals = 0

    def slice(self, changes: list[Any], now: int) -> list[Change]:
        gone: dict[Any, list[Stored]] = {}
        for row, kind in changes:
            live = [each for each in self._stored.get(row[0], []) if not self._ttl or each.written > now - self._ttl]
            self._stored[row[0]] = live
            out = gone.setdefault(row[0], [])
            if kind == INSERT:
                self._arrivals += 1
                live.append(Stored(row, self._arrivals, now))
            elif (oldest := next((each for each in live if each.row == row), None)) is not None:
                live.remove(oldest)
                out += [oldest] if oldest.result else []
        ends = [each for out in gone.values() for each in sorted(out, key=lambda each: each.arrival)]
        deleted = [(DELETE, (*each.row, *each.result)) for each in ends]
        return deleted + [change for key in gone for change in self._changed(self._stored[key], now)]

    def _changed(self, live: list[Stored], now: int) -> list[Change]:
        line = sorted(live, key=lambda each: sort_key(each.row, False))
        named = [(*each.row[:3], place) for place, each in enumerate(line)]
        found: list[Change] = []
        for each, row in zip(line, named):
            new = (self._aggregate(seen_by(row, named, self._frame, False)),)
            if new == each.result:
                continue
            if each.result and self._before:
                found.append((UPDATE_BEFORE, (*each.row, *each.result)))
            found.append((UPDATE_AFTER if each.result else INSERT, (*each.row, *new)))
            each.result, each.written = new, now
        return found


@pytest.mark.parametrize("disk", [False, True], ids=["in memory", "on disk"])
@pytest.mark.parametrize("ttl", [0, TTL, NEVER], ids=["for ever", "expiring", "never expiring"])
@settings(max_examples=examples(20), deadline=None)
@given(
    name=st.sampled_from(["sum", "min", "first", "filtered"]),
    frame=st.sampled_from(list(FRAMES)),
    before=st.booleans(),
    restored=st.booleans(),
    slices=SLICES,
)
def test_changes_are_those_by_hand(
    disk: bool, ttl: int, name: str, frame: str, before: bool, restored: bool, slices: list[Any]
) -> None:
    """To the row and in their order: those that go come first, by arrival; then partitions in their order."""
    if ttl == TTL and frame in NEAR:
        frame = "rows to here"  # that a row of a frame has expired changes nothing unless a change comes near
    config = over((AGGREGATES[name][0], FRAMES[frame]), before=before, state_ttl=ttl)
    naive, now = Naive(name, FRAMES[frame], before, ttl), 0
    task = harness(config, state_backend=EmbeddedRocksDBStateBackend() if disk else HashMapStateBackend()).open()
    try:
        for pause, changes in slices:
            now += pause
            task.set_processing_time(now)
            task.process_elements([(rows_of([(kind, row)], TYPES), None) for row, kind in changes])
            task.end_epoch()
            found = changes_of([item.value for item in task.take_output() if isinstance(item, Record)])
            assert found == naive.slice(changes, now)
            if restored:
                snapshot = task.snapshot()
                task.close()
                task = task.fresh().restore(snapshot).open()
    finally:
        task.close()


def test_a_savepoint_has_rows_with_names_and_types() -> None:
    """As before there were columns, so that savepoints of then are read."""
    names = (("who", "at", "n", "id"),)
    config = over(
        (AGGREGATES["sum"][0], FRAMES["rows 2"]),
        state_ttl=1_000,
        meaning=("over",),
        call_texts=("SUM(n)",),
        input_columns=names,
        input_names=names,
    )
    first, second = ("a", 1, 1, 1), ("a", 2, 2, 2)
    with harness(config) as task:
        for time, row in ((70, first), (80, second)):
            task.set_processing_time(time)
            task.process_element(element(row, TYPES).value)
            task.end_epoch()
        state = task.operator.keyed_state().full()
    assert state["rows"] == ("TTL map", {("a",): (True, {1: (70, (first, (1,))), 2: (80, (second, (3,)))}, [])})
    (table,) = config.state_tables()
    assert table.names == ("who", "at", "n", "id", "SUM(n)")
    assert table.types == ("VARCHAR(2)", "INT", "BIGINT", "INT", "BIGINT")


def test_only_partitions_with_changes_are_read() -> None:
    config = over((AGGREGATES["sum"][0], FRAMES["rows 2"]))
    with harness(config, state_backend=EmbeddedRocksDBStateBackend()) as task:
        rows = [(INSERT, (f"{number:02}", 1, 1, number)) for number in range(100)]
        task.process_elements([(rows_of(rows, TYPES), None)])
        task.end_epoch()
        with task.fresh().restore(task.snapshot()).open() as again:
            again.process_element(element(("07", 2, 5, 100), TYPES).value)
            again.end_epoch()
            assert changes_of(again.values) == [(INSERT, ("07", 2, 5, 100, 6))]
            figures = again.operator.keyed_state().table("rows")._disk.figures()
            assert figures[ROWS_READ] <= 1


DISTANCES: dict[str, tuple[t.DataType, list[Any], int]] = {
    "double": (t.DoubleType(), [0.5, 1.0, 1.5, 2.5, float("nan")], 1),
    "decimal": (t.DecimalType(5, 2), [Decimal("0.50"), Decimal("1.00"), Decimal("1.50"), Decimal("2.50"), None], 1),
    "date": (t.DateType(), [date(2026, 1, 1) + timedelta(days=each) for each in (0, 1, 1, 2, 9)], 86_400_000),
    "timestamp": (
        t.TimestampType(6),
        [datetime(2026, 1, 1) + timedelta(microseconds=each) for each in (0, 900, 1_000, 2_001, 9_000)],
        1,
    ),
    "large": (t.BigIntType(), [2**63 - 3, 2**63 - 2, 2**63 - 2, 2**63 - 1, -(2**63)], 1),
}


@pytest.mark.parametrize("kind", DISTANCES)
def test_distances(kind: str) -> None:
    """RANGE BETWEEN distance PRECEDING AND distance FOLLOWING of every type that can be measured."""
    data_type, values, distance = DISTANCES[kind]
    types = (data_type, t.IntType())
    fields = tuple(Field(f"f{index}", each) for index, each in enumerate(types))
    config = UpdatingOver(
        input=fields,
        partition=(),
        order=(SortKey(Ref(data_type, 0)),),
        calls=((aggregate_call("COUNT", []), Frame(False, distance, distance)),),
    )
    reach = {"date": timedelta(days=1), "timestamp": timedelta(milliseconds=1)}.get(kind, 1)

    def near(one: Any, other: Any) -> bool:
        if one is None or other is None or one != one or other != other:
            return one is other
        return bool(abs(one - other) <= reach)

    expected = [(which, sum(near(value, other) for other in values)) for which, value in enumerate(values)]
    script = [*(element((value, which), types) for which, value in enumerate(values)), EndInput()]
    check_table(config, script, [(None, *each) for each in expected], view=lambda row: (None, *row[1:]))


def test_a_distance_needs_something_to_measure() -> None:
    fields = (Field("f0", t.string()),)
    config = UpdatingOver(
        input=fields,
        partition=(),
        order=(SortKey(Ref(t.string(), 0)),),
        calls=((aggregate_call("COUNT", []), Frame(False, 1)),),
    )
    script = [element(("x",), (t.string(),)), EndInput()]
    with pytest.raises(Exception, match="one column, a number or a time"):
        run(config, script)


def test_nothing_is_emitted_without_a_difference() -> None:
    """A row that goes and comes again in one epoch leaves the others as they are."""
    config = over((AGGREGATES["count"][0], FRAMES["rows to here"]))
    low, high = ("a", 1, 1, 1), ("a", 2, 2, 2)
    script = [element(low, TYPES), element(high, TYPES), EpochEnd(), element(high, TYPES, DELETE), element(high, TYPES)]
    found: list[Change] = run(config, [*script, EndInput()])
    assert found[2:] == [(DELETE, (*high, 2)), (INSERT, (*high, 2))]
