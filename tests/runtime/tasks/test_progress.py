"""How far a task is: what a look from outside finds while an operator is at its piece."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.runtime.jobs import numbers

from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.tasks.waiting import Position, running_on
from millrace.testing import run_locally


def position() -> Position:
    """Without the time: it says nothing here."""
    running = running_on(threading.get_ident())
    assert running is not None
    at = running.position()
    return at._replace(millis=0)


def positions(parallelism: int = 1) -> list[Any]:
    env = StreamExecutionEnvironment().set_parallelism(parallelism)
    stream = numbers(env, range(7)).map(lambda number: (number, position())).name("looks")
    return [at for _, at in sorted(run_locally(stream).collected)]


def test_the_operator_and_its_piece() -> None:
    found = positions()
    assert {(at.operator, at.subtask, at.parallelism) for at in found} == {("looks", 0, 1)}
    # Each element is in the piece that says how many it has.
    assert sum(1 / at.elements for at in found) == len({at.steps for at in found})


def test_steps_change_from_piece_to_piece_only() -> None:
    found = positions()
    for one, next_one in pairwise(found):
        assert (one.steps == next_one.steps) == (one == next_one)
        assert one.steps <= next_one.steps


def test_an_operator_further_down_is_told_while_it_works() -> None:
    def twice(number: int) -> Iterator[Any]:
        yield ("above", position())
        yield ("above", position())

    env = StreamExecutionEnvironment().set_parallelism(1)
    stream = numbers(env, range(3)).flat_map(twice).name("above")
    both = run_locally(stream.map(lambda pair: (pair[1].operator, position().operator)).name("below")).collected
    assert set(both) == {("above", "below")}
    assert running_on(-1) is None
