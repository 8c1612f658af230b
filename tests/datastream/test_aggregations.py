"""``sum``, ``min``, ``max``, ``min_by`` and ``max_by`` against plain Python."""

from __future__ import annotations

import copy
from collections import namedtuple
from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.typeinfo import Types
from millrace.common.types import Row, RowKind
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.function_adapters import (
    FieldChoice,
    FieldReduce,
    add,
    check_position,
    greater_than,
    larger,
    less_than,
    smaller,
)
from millrace.datastream.functions import ReduceFunction
from millrace.testing import run_locally


class Point(NamedTuple):
    name: str
    at: int


class Pair(tuple):  # type: ignore[type-arg]
    pass


class Items(list):  # type: ignore[type-arg]
    pass


Loose = namedtuple("Loose", ["name", "at"])

FUNCTIONS: dict[str, Callable[[Any], ReduceFunction]] = {
    "sum": lambda position: FieldReduce(position, add),
    "min": lambda position: FieldReduce(position, smaller),
    "max": lambda position: FieldReduce(position, larger),
    "min_by": lambda position: FieldChoice(position, less_than),
    "max_by": lambda position: FieldChoice(position, greater_than),
}
KINDS: dict[str, Callable[[str, int], Any]] = {
    "tuple": lambda name, at: (name, at),
    "list": lambda name, at: [name, at],
    "named tuple": Point,
    "collections.namedtuple": Loose,
    "subclass of tuple": lambda name, at: Pair((name, at)),
    "subclass of list": lambda name, at: Items((name, at)),
    "row": Row,
    "row with names": lambda name, at: Row(name=name, at=at),
}
BY_NAME = ["named tuple", "collections.namedtuple", "row with names"]
CASES = [(kind, position) for kind in KINDS for position in (1, -1)] + [(kind, "at") for kind in BY_NAME]
NAMES = "abcdefgh"


def expected(function: str, numbers: list[int]) -> tuple[str, int]:
    """(name, number) after all numbers, named a, b, c, ... in their order."""
    if function == "sum":
        return "a", sum(numbers)
    number = min(numbers) if function.startswith("min") else max(numbers)
    return (NAMES[numbers.index(number)] if function.endswith("by") else "a"), number


@pytest.mark.parametrize("function", FUNCTIONS)
@given(case=st.sampled_from(CASES), numbers=st.lists(st.integers(-9, 9), min_size=2, max_size=8))
def test_records(function: str, case: tuple[str, int | str], numbers: list[int]) -> None:
    kind, position = case
    records = [KINDS[kind](name, number) for name, number in zip(NAMES, numbers)]
    before = copy.deepcopy(records)
    result = reduce(FUNCTIONS[function](position).reduce, records)
    assert (result[0], result[1]) == expected(function, numbers)
    plain = {"subclass of tuple": tuple, "subclass of list": list}.get(kind)
    assert type(result) in (type(records[0]), plain)
    assert records == before, "the argument may be state"


@pytest.mark.parametrize("function", FUNCTIONS)
@given(numbers=st.lists(st.integers(-9, 9), min_size=2, max_size=8))
def test_plain_values(function: str, numbers: list[int]) -> None:
    assert reduce(FUNCTIONS[function](0).reduce, numbers) == expected(function, numbers)[1]


@pytest.mark.parametrize("function", ["sum", "min", "max"])
@pytest.mark.parametrize("kind", ["list", "row", "row with names", "subclass of list"])
def test_a_result_is_never_one_of_the_arguments(function: str, kind: str) -> None:
    one, two = KINDS[kind]("a", 1), KINDS[kind]("b", 2)
    result = FUNCTIONS[function](1).reduce(one, two)
    assert result is not one
    assert result is not two


def test_rows_keep_their_names_and_kind() -> None:
    one = Row(name="a", at=1)
    one.set_row_kind(RowKind.UPDATE_AFTER)
    result = FUNCTIONS["sum"]("at").reduce(one, Row(name="b", at=2))
    assert result == Row(name="a", at=3) or result.as_dict() == {"name": "a", "at": 3}
    assert result.get_row_kind() == RowKind.UPDATE_AFTER


@pytest.mark.parametrize("position", [None, 1.0, True, (1,)])
def test_positions_are_int_or_str(position: Any) -> None:
    with pytest.raises(TypeError, match=r"is a position \(int\) or a name \(str\), not "):
        check_position(position)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("position", [1, "at"])
def test_plain_values_have_one_position(function: str, position: Any) -> None:
    with pytest.raises(TypeError, match="has only position 0, not"):
        FUNCTIONS[function](position).reduce(1, 2)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_fields_that_are_not_there(function: str) -> None:
    with pytest.raises(IndexError):
        FUNCTIONS[function](2).reduce(("a", 1), ("b", 2))
    with pytest.raises(TypeError, match=r"^a tuple has no field 'at'; name its position$"):
        FUNCTIONS[function]("at").reduce(("a", 1), ("b", 2))
    with pytest.raises(TypeError, match=r"^a Point has no field 'x'; name its position$"):
        FUNCTIONS[function]("x").reduce(Point("a", 1), Point("b", 2))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("declared", [False, True])
def test_on_keyed_streams(function: str, declared: bool) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    row = Types.ROW_NAMED(["name", "key", "at"], [Types.STRING(), Types.STRING(), Types.INT()])
    data = [("a", "x", 3), ("b", "y", 9), ("c", "x", 1), ("d", "x", 5), ("e", "y", 9)]
    stream = env.from_collection(data, row if declared else None)
    keyed = stream.key_by("key" if declared else 1)
    found = run_locally(getattr(keyed, function)("at" if declared else 2)).collected
    running = []
    for key in "xy":
        seen: list[Any] = []
        for record in data:
            if record[1] == key:
                seen.append(record)
                running.append(reduce(FUNCTIONS[function](2).reduce, seen))
    assert sorted(tuple(record) for record in found) == sorted(running)
    assert all(isinstance(record, Row if declared else tuple) for record in found)


@pytest.mark.parametrize("workers", [1, 3])
def test_running_sums_over_many_epochs(workers: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    lists = env.from_collection([[number % 3, number] for number in range(30)]).key_by(0).sum(1)
    run = run_locally(lists, epoch_records=1, workers=workers, seed=1)
    totals = {key: max(total for k, total in run.collected if k == key) for key in range(3)}
    assert totals == {0: 135, 1: 145, 2: 155}
    assert len(run.collected) == 30
