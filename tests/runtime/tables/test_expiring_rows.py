"""Operators whose rows in columns have a time to live: against dicts with times, in all variants, in memory and on
disk; and their savepoints against those of state with an entry for each key."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.rings import one_of
from tests.runtime.tables.table_runs import changes_of, element, harness, outcomes

from millrace.relational import types as t
from millrace.relational.functions.aggregates.registry import aggregate_call
from millrace.relational.rex import Ref, SortKey
from millrace.relational.rows import INSERT, UPDATE_AFTER, UPDATE_BEFORE
from millrace.runtime.state.backend import KeyedStateBackend
from millrace.runtime.state.state_time import StateTime
from millrace.runtime.tables.aggregates.group_aggregate import GroupAggregate
from millrace.runtime.tables.base import TableConfig
from millrace.runtime.tables.ordering.deduplicate import Deduplicate
from millrace.runtime.tables.ordering.rank import Rank
from millrace.runtime.tables.state import KeyedMap, keyed_map, keyed_value
from millrace.testing import EpochEnd, OperatorHarness, ProcessingTime, Step

TTL = 10
TYPES = (t.VarCharType(3), t.TimestampType(3), t.IntType())
NUMBER = Ref(TYPES[2], 2)
Row = tuple[Any, ...]


def at(time: int) -> datetime:
    """:param time: in ms."""
    return datetime(2024, 1, 1) + timedelta(milliseconds=time)


class Oracle:
    """What the rows of one operator are, row by row.

    :param now: gives the time (ms).
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._entries: dict[Any, tuple[int, Any]] = {}
        self.table: Counter[Row] = Counter()

    def get(self, key: Any) -> Any:
        written, value = self._entries.get(key, (-TTL, None))
        return value if written > self._now() - TTL else None

    def put(self, key: Any, value: Any) -> None:
        self._entries[key] = self._now(), value

    def change(self, old: list[Row], new: list[Row]) -> None:
        self.table.update(new)
        self.table.subtract(old)


def first_key(oracle: Oracle, row: Row) -> None:
    if oracle.get(row[0]) is None:
        oracle.put(row[0], True)
        oracle.change([], [row])


def latest(wins: Callable[[Row, Row], bool]) -> Callable[[Oracle, Row], None]:
    """:param wins: whether a row replaces another one."""

    def act(oracle: Oracle, row: Row) -> None:
        known = oracle.get(row[0])
        if known is None or wins(row, known):
            oracle.put(row[0], row)
            oracle.change([] if known is None else [known], [row])

    return act


def top(oracle: Oracle, row: Row) -> None:
    """The two largest numbers; of equal ones the first to arrive."""
    known: list[Row] = oracle.get(row[0]) or []
    best = sorted([*known, row], key=lambda each: -each[2])[:2]
    if best != known:
        oracle.put(row[0], best)
        oracle.change(known, best)


def top_with_ranks(oracle: Oracle, row: Row) -> None:
    """The rows with ranks 1 and 2: there may be more than two."""
    known: list[Row] = oracle.get(row[0]) or []
    rows = sorted([*known, row], key=lambda each: -each[2])
    ranks = [1 + sum(other[2] > each[2] for other in rows) for each in rows]
    best = [each for each, rank in zip(rows, ranks) if rank <= 2]
    old = [1 + sum(other[2] > each[2] for other in known) for each in known]
    if best != known:
        oracle.put(row[0], best)
        oracle.change([(*each, rank) for each, rank in zip(known, old)], [(*e, r) for e, r in zip(best, ranks)])


def distinct(oracle: Oracle, row: Row) -> None:
    """The rows of each key, and its distinct numbers, all and even ones."""
    key, number = row[0], row[2]
    known: Row | None = oracle.get(key)
    count, every, even = (0, 0, 0) if known is None else known
    seen = oracle.get((key, number)) is not None
    oracle.put((key, number), True)
    new = count + 1, every + (not seen), even + (not seen and number % 2 == 0)
    oracle.put(key, new)
    oracle.change([] if known is None else [(key, *known)], [(key, *new)])


def config_of_distinct() -> GroupAggregate:
    even = Ref(t.BooleanType(), 3)
    calls = (
        aggregate_call("COUNT", ()),
        aggregate_call("COUNT", (NUMBER,), distinct=True),
        aggregate_call("COUNT", (NUMBER,), distinct=True, filter=even),
    )
    return GroupAggregate(keys=(0,), key_types=TYPES[:1], calls=calls, state_ttl=TTL)


ORDER = (SortKey(NUMBER, descending=True),)
TOP: dict[str, Any] = {"partition": (0,), "order": ORDER, "types": TYPES, "last": 2, "state_ttl": TTL}
SINGLE: dict[str, Any] = {"keys": (0,), "types": TYPES, "state_ttl": TTL}
CASES: dict[str, tuple[TableConfig, Callable[[Oracle, Row], None]]] = {
    "first to arrive": (Deduplicate(last=False, **SINGLE), first_key),
    "last to arrive": (Deduplicate(last=True, **SINGLE), latest(lambda new, old: True)),
    "first by time": (Deduplicate(last=False, time=1, **SINGLE), latest(lambda new, old: new[1] < old[1])),
    "last by time": (Deduplicate(last=True, time=1, **SINGLE), latest(lambda new, old: new[1] >= old[1])),
    "top": (Rank(**TOP), top),
    "ranks": (Rank(function="RANK", number=True, **TOP), top_with_ranks),
    "distinct": (config_of_distinct(), distinct),
}


def some_rows(draw: random.Random, count: int) -> list[Row]:
    return [(draw.choice([None, "a", "b"]), at(draw.randrange(5)), draw.randrange(6)) for _ in range(count)]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", one_of(range(2)))
def test_rows_expire_as_in_a_dict_with_times(case: str, seed: int) -> None:
    config, act = CASES[case]
    types = (*TYPES, t.BooleanType()) if case == "distinct" else TYPES
    draw, now = random.Random(seed), 0
    oracle, script = Oracle(lambda: now), list[Step]()
    for _ in range(12):
        now += draw.randrange(6)
        script.append(ProcessingTime(now))
        for row in some_rows(draw, draw.randrange(4)):
            act(oracle, row)
            script.append(element((*row, row[2] % 2 == 0) if case == "distinct" else row, types))
        script.append(EpochEnd())
    for name, outcome in outcomes(config, script, disk=True):
        found: Counter[Row] = Counter()
        for kind, row in changes_of(outcome.values):
            found[row] += 1 if kind in (INSERT, UPDATE_AFTER) else -1
        assert +found == +oracle.table and not -found, name


@pytest.mark.parametrize("last", [False, True])
def test_a_row_that_replaces_an_equal_one_says_that_the_key_is_alive(last: bool) -> None:
    """Later operators have state with a time to live, too."""
    config = Deduplicate(last=last, time=1, **SINGLE)
    with harness(config) as task:
        for time in (2, 2, 1):
            task.process_element(element(("a", at(time), 7), TYPES).value)
            task.end_epoch()
        kinds = [kind for kind, _ in changes_of(task.values)]
    assert kinds == [INSERT, UPDATE_BEFORE, UPDATE_AFTER]


# -- savepoints --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_a_savepoint_is_that_of_state_with_an_entry_for_each_key(case: str) -> None:
    """State with entries takes it over, with its times, and gives it back."""
    config, act = CASES[case]
    types = (*TYPES, t.BooleanType()) if case == "distinct" else TYPES
    draw, now = random.Random(3), 0
    oracle = Oracle(lambda: now)
    rows = some_rows(draw, 16)
    with harness(config) as first:
        for now in range(8):
            _process(first, act, oracle, rows[now], types, now)
        state = first.operator.keyed_state().full()
        assert all(info.ttl for info in first.operator.keyed_state().described())
        begun = changes_of(first.values)
    entries = KeyedStateBackend(StateTime(lambda: now, lambda: 0, lambda: None))
    held = {
        name: (keyed_map if kind == "TTL map" else keyed_value)(entries, name, TTL) for name, (kind, _) in state.items()
    }
    entries.apply(state)
    back = entries.full()
    assert back == state
    for later in (8, 10, 12, 14):
        now = later
        for key in (None, "a", "b"):
            for each in held.values():
                there = bool(each.items((key,))) if isinstance(each, KeyedMap) else each.get((key,)) is not None
                assert there == (oracle.get(key) is not None), "values of a key expire with it at the latest"
    now = 12
    with harness(config) as second:
        second.set_processing_time(now)
        second.operator.take_over_keyed([back])
        for row in rows[8:]:
            _process(second, act, oracle, row, types, now)
            now += 1
        found: Counter[Row] = Counter()
        for kind, row in [*begun, *changes_of(second.values)]:
            found[row] += 1 if kind in (INSERT, UPDATE_AFTER) else -1
    assert +found == +oracle.table and not -found


def _process(
    task: OperatorHarness, act: Callable[[Oracle, Row], None], oracle: Oracle, row: Row, types: Any, now: int
) -> None:
    """A row in an epoch of its own."""
    task.set_processing_time(now)
    act(oracle, row)
    task.process_element(element((*row, row[2] % 2 == 0) if len(types) > len(row) else row, types).value)
    task.end_epoch()
