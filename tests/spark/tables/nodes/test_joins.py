"""Joins in time, joins that Python has a part in, look-ups, UNNEST: compared with their definition in plain Python."""

from __future__ import annotations

import dataclasses as dc
import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from tests.spark.tables.conftest import Run
from tests.spark.tables.plans import INT, STRING, TIMESTAMP, at, fn, lit, values

from millrace.common.types import Row
from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.rex import TRUE, Rex, UdfCall
from millrace.relational.sources import LookupTableSource
from millrace.table.udf import udf

LTZ = t.LocalZonedTimestampType(3)
KINDS = ("INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI")


def second(value: int) -> dt.datetime:
    return dt.datetime(1970, 1, 1) + dt.timedelta(seconds=value)


LEFT_ROWS = [("a", 1, second(-5)), ("a", 2, second(0)), ("b", 3, second(7)), (None, 4, second(1)), ("c", 5, None)]
RIGHT_ROWS = [
    ("a", 10, second(-5)),
    ("a", 20, second(4)),
    ("b", 30, second(8)),
    ("d", 40, second(0)),
    (None, 50, second(1)),
]
LEFT = values({"k": STRING, "v": INT, "ts": TIMESTAMP}, *LEFT_ROWS)
RIGHT = values({"k": STRING, "w": INT, "ts": TIMESTAMP}, *RIGHT_ROWS)
SAME_KEY = fn("=", at(LEFT, "k"), at(RIGHT, "k", 3))


def nested_loop(kind: str, holds: Callable[[Any, Any], bool]) -> list[tuple[Any, ...]]:
    """A join by its definition."""
    pairs = [(left, right) for left in LEFT_ROWS for right in RIGHT_ROWS if holds(left, right)]
    lonely_left = [left for left in LEFT_ROWS if left not in [pair[0] for pair in pairs]]
    lonely_right = [right for right in RIGHT_ROWS if right not in [pair[1] for pair in pairs]]
    if kind == "SEMI":
        return sorted((left for left in LEFT_ROWS if left not in lonely_left), key=repr)
    if kind == "ANTI":
        return sorted(lonely_left, key=repr)
    found: list[tuple[Any, ...]] = [(*left, *right) for left, right in pairs]
    if kind in ("LEFT", "FULL"):
        found += [(*left, None, None, None) for left in lonely_left]
    if kind in ("RIGHT", "FULL"):
        found += [(None, None, None, *right) for right in lonely_right]
    return sorted(found, key=repr)


def keys_match(left: Any, right: Any) -> bool:
    return left[0] is not None and left[0] == right[0]


@pytest.mark.parametrize("kind", KINDS)
def test_interval_join(run: Run, kind: str) -> None:
    def holds(left: Any, right: Any) -> bool:
        near = None not in (left[2], right[2]) and -1000 <= (right[2] - left[2]).total_seconds() * 1000 <= 4000
        return keys_match(left, right) and near

    assert run(n.IntervalJoin(LEFT, RIGHT, kind, SAME_KEY, 2, 2, -1000, 4000)) == nested_loop(kind, holds)


@pytest.mark.parametrize("kind", KINDS)
def test_window_join(run: Run, kind: str) -> None:
    """The times stand for windows here: equal or not is all that counts."""

    def holds(left: Any, right: Any) -> bool:
        return keys_match(left, right) and left[2] is not None and left[2] == right[2]

    assert run(n.WindowJoin(LEFT, RIGHT, kind, SAME_KEY, (2, 2), (2, 2))) == nested_loop(kind, holds)


def minute(time: Rex) -> UdfCall:
    return UdfCall(INT, udf(lambda value: value and value.minute, result_type=INT), "minute", (time,))


IN_PYTHON = fn("=", minute(at(LEFT, "ts")), minute(at(RIGHT, "ts", 3)))


def same_minute(left: Any, right: Any) -> bool:
    return None not in (left[2], right[2]) and left[2].minute == right[2].minute


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "FULL"])
@pytest.mark.parametrize("keyed", [True, False])
def test_a_condition_that_python_checks(run: Run, kind: str, keyed: bool) -> None:
    condition: Rex = fn("AND", SAME_KEY, IN_PYTHON) if keyed else IN_PYTHON
    expected = nested_loop(kind, lambda a, b: (not keyed or keys_match(a, b)) and same_minute(a, b))
    assert run(n.Join(LEFT, RIGHT, kind, condition)) == expected


def test_a_full_join_that_python_checks_is_refused(run: Run) -> None:
    with pytest.raises(NotImplementedError, match="FULL OUTER JOIN with a function in its condition"):
        run(n.Join(LEFT, RIGHT, "FULL", IN_PYTHON))


@pytest.mark.parametrize("kind", ["INNER", "LEFT"])
@pytest.mark.parametrize("time", [TIMESTAMP, LTZ], ids=str)
def test_the_version_that_was_valid(run: Run, kind: str, time: t.DataType) -> None:
    def moment(value: int) -> dt.datetime:
        return second(value).replace(tzinfo=dt.timezone.utc if time == LTZ else None)

    orders = [("EUR", moment(s)) for s in (-11, -10, 0, 4, 5, 100)] + [("USD", moment(0)), (None, moment(0))]
    rates = [("EUR", 1, moment(-10)), ("EUR", 2, moment(5)), ("USD", 7, moment(1)), ("YEN", 9, moment(-50))]
    left = values({"currency": STRING, "ts": time}, *orders)
    right = values({"currency": STRING, "rate": INT, "ts": time}, *rates)

    def version(currency: str | None, at_time: dt.datetime) -> tuple[Any, ...] | None:
        known = [rate for rate in rates if rate[0] == currency and rate[2] <= at_time]
        return max(known, key=lambda rate: rate[2], default=None)

    expected = [(*order, *(version(*order) or (None, None, None))) for order in orders]
    if kind == "INNER":
        expected = [row for row in expected if row[2] is not None]
    plan = n.TemporalJoin(left, right, kind, fn("=", at(left, "currency"), at(right, "currency", 2)), 1, 2, (0,))
    assert run(plan) == sorted(expected, key=repr)


def test_the_newest_version(run: Run) -> None:
    plan = n.TemporalJoin(LEFT, RIGHT, "INNER", SAME_KEY, 2, None, (0,))
    assert run(plan) == nested_loop("INNER", keys_match)


class Customers(LookupTableSource):
    """Knows ids from 1 to 3; id 2 twice. Refuses NULL and keys that it was asked for already in the same call."""

    def open(self) -> None:
        self.opened = True

    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> Iterable[Sequence[tuple[Any, ...]]]:
        assert self.opened and len(set(keys)) == len(keys) and all(None not in key for key in keys)
        table = {1: [(1, "Ann")], 2: [(2, "Bob"), (2, "Bea")], 3: [(3, None)]}
        return [table.get(key[0], []) for key in keys]


ORDERS = values({"id": INT, "x": STRING}, (2, "p"), (1, "q"), (2, "r"), (9, "s"), (None, "t"), (3, "u"))


def lookup(kind: str, condition: Rex | None = None) -> n.LookupJoin:
    table = (n.Field("id", INT), n.Field("name", STRING))
    return n.LookupJoin(ORDERS, Customers(), ("c", "d", "customers"), table, kind, ((0, at(ORDERS, "id")),), condition)


FOUND = sorted(
    [(1, "q", 1, "Ann"), (3, "u", 3, None), *((2, x, 2, name) for x in "pr" for name in ("Bea", "Bob"))], key=repr
)


def test_lookup_join(run: Run) -> None:
    assert run(lookup("INNER")) == FOUND
    missing = [(9, "s", None, None), (None, "t", None, None)]
    assert run(lookup("LEFT")) == sorted([*FOUND, *missing], key=repr)


def test_a_left_lookup_join_keeps_rows_whose_condition_fails(run: Run) -> None:
    condition = fn("=", at(lookup("LEFT"), "name"), lit("Bob"))
    bobs = [row for row in FOUND if row[3] == "Bob"]
    rest = [(1, "q"), (3, "u"), (9, "s"), (None, "t")]
    assert run(lookup("LEFT", condition)) == sorted([*bobs, *((*row, None, None) for row in rest)], key=repr)
    assert run(lookup("INNER", condition)) == bobs


PAIR = t.RowType([t.RowField("x", INT), t.RowField("y", STRING)])
COLLECTIONS = {
    "rows": t.ArrayType(PAIR),
    "ints": t.ArrayType(INT),
    "map": t.MapType(STRING, INT),
    "bag": t.MultisetType(STRING),
}
NESTED = values(
    {"id": INT, **COLLECTIONS},
    (1, [Row(1, "a"), Row(None, "b")], [3, None, 3], {"k": 1, "l": None}, {"m": 2, "o": 1}),
    (2, [], [], {}, {}),
    (3, None, None, None, None),
)
X, Y, PLACE = n.Field("x", INT), n.Field("y", STRING), n.Field("o", INT)
UNNESTED: dict[str, tuple[tuple[n.Field, ...], list[tuple[Any, ...]]]] = {
    "rows": ((X, Y), [(1, "a"), (None, "b")]),
    "ints": ((X,), [(3,), (None,), (3,)]),
    "map": ((Y, X), [("k", 1), ("l", None)]),
    "bag": ((Y,), [("m",), ("m",), ("o",)]),
}


def unnest(column: str, left: bool, ordinality: bool, condition: Rex | None = None) -> n.Correlate:
    produced, _ = UNNESTED[column]
    fields = (*produced, *([PLACE] if ordinality else []))
    options = (("ordinality", True),) if ordinality else ()
    return n.Correlate(NESTED, "UNNEST", (at(NESTED, column),), fields, left, condition, None, options)


@pytest.mark.parametrize("column", UNNESTED)
@pytest.mark.parametrize(("left", "ordinality"), [(False, False), (True, True)])
@pytest.mark.parametrize("in_python", [False, True], ids=["in Spark", "in Python"])
def test_unnest(run: Run, column: str, left: bool, ordinality: bool, in_python: bool) -> None:
    _, rows = UNNESTED[column]
    parts = [(*row, place) for place, row in enumerate(rows, 1)] if ordinality else rows
    width = len(NESTED.schema)
    expected = [(1, *part) for part in parts]
    if left:
        expected += [(2, *(None for _ in parts[0])), (3, *(None for _ in parts[0]))]
    # A condition of a LEFT join is checked in Python.
    plan = unnest(column, left, ordinality, TRUE if in_python else None)
    assert sorted(((row[0], *row[width:]) for row in run(plan)), key=repr) == sorted(expected, key=repr)


def test_a_left_unnest_with_a_condition(run: Run) -> None:
    plan = unnest("ints", True, False)
    kept = unnest("ints", True, False, fn("=", at(plan, "x"), lit(3)))
    assert [(row[0], row[-1]) for row in run(kept)] == [(1, 3), (1, 3), (2, None), (3, None)]
    inner = unnest("ints", False, False, fn("=", at(plan, "x"), lit(3)))
    assert [(row[0], row[-1]) for row in run(inner)] == [(1, 3), (1, 3)]


class Slow(Customers):
    """Has nothing at the first question of a task."""

    options = {"lookup.cache": "PARTIAL", "lookup.partial-cache.max-rows": "100"}

    def open(self) -> None:
        super().open()
        self.asked: list[tuple[Any, ...]] = []

    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> Iterable[Sequence[tuple[Any, ...]]]:
        new = [key for key in keys if key not in self.asked]
        assert len(keys) == len(new) or not new, "a key is asked again only if it had no rows"
        self.asked += new
        found = super().lookup(keys)
        return [[] for _ in keys] if new else found


def test_the_hint_of_a_lookup_join(run: Run) -> None:
    hint = {"retry-predicate": "lookup_miss", "retry-strategy": "fixed_delay", "fixed-delay": "1 ms"}
    plan = dc.replace(lookup("INNER"), source=Slow())
    assert run(plan) == []
    assert run(dc.replace(plan, options=tuple({**hint, "max-attempts": "1"}.items()))) == FOUND
    with pytest.raises(ValueError, match="lookup_miss, not always"):
        run(dc.replace(plan, options=(("retry-predicate", "always"),)))
