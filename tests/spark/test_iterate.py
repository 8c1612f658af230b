"""Loops on Spark: rounds are epochs, also of jobs in batch mode, and state lasts from round to round."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.spark.conftest import MakeEnvironment, Watch
from tests.spark.test_execution import endless

from millrace.common import Types
from millrace.datastream import KeyedProcessFunction, RuntimeContext
from millrace.datastream.state import ValueStateDescriptor
from millrace.spark.workers import orders


class Reached(KeyedProcessFunction):
    """Hands on a number (number, steps) when it is reached for the first time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def process_element(self, value: tuple[int, int], ctx: KeyedProcessFunction.Context) -> Iterator[tuple[int, int]]:
        if not self.seen.value():
            self.seen.update(True)
            yield value


SIZE = 40


def distances() -> dict[int, int]:
    """number -> fewest steps from 1, where a step doubles it or adds 3, modulo SIZE."""
    found, edge = {1: 0}, [1]
    while edge:
        edge = [step for number in edge for step in (number * 2 % SIZE, (number + 3) % SIZE)]
        steps = max(found.values()) + 1
        edge = [number for number in dict.fromkeys(edge) if number not in found]
        found.update(dict.fromkeys(edge, steps))
    return found


def both(element: tuple[int, int]) -> list[tuple[int, int]]:
    number, steps = element
    return [(number * 2 % SIZE, steps + 1), ((number + 3) % SIZE, steps + 1)]


@pytest.mark.parametrize("batch", [False, True], ids=["streaming", "batch"])
def test_a_breadth_first_search(
    environment: MakeEnvironment, watch: Watch, batch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, "INLINE", 700)  # so that some orders travel in a file
    loop = environment(2, batch).from_collection([(1, 0)]).iterate()
    reached = loop.key_by(lambda element: element[0]).process(Reached())
    loop.close_with(reached.flat_map(both))
    assert dict(reached.execute_and_collect("search")) == distances()
    # Every level is a round; the last one finds nothing new, and two epochs end the loop.
    assert len(watch.epochs) == max(distances().values()) + 1 + 1 + 2


def test_a_loop_of_a_job_without_end(environment: MakeEnvironment) -> None:
    env = environment(2)
    loop = endless(env).map(lambda value: (value, 3)).iterate()
    loop.close_with(loop.map(lambda pair: (pair[0], pair[1] - 1)).filter(lambda pair: pair[1] > 0))
    rounds: dict[int, list[int]] = {}
    with loop.execute_and_collect("rounds") as values:
        for value, left in values:
            rounds.setdefault(value, []).append(left)
            if rounds.get(10) == [3, 2, 1]:
                break
    assert all(found == [3, 2, 1][: len(found)] for found in rounds.values())
