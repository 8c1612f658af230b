"""Loops on the driver: what counts goes back once, and every loop ends when nothing can come back any more."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from typing import Any

import pytest
from tests.runtime.jobs import Engine, job_of, numbers

from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.runtime.bases.epoch_protocol import EpochPlan
from millrace.runtime.coordination.coordinator import EpochResult, JobFailedError
from millrace.runtime.operators.iteration import has_loops
from millrace.runtime.operators.job_graph import JobGraph


def decrement(stream: DataStream, **options: Any) -> DataStream:
    """Counts every element down to 0; gives all that comes by."""
    loop = stream.iterate(**options)
    smaller = loop.map(lambda value: value - 1)
    loop.close_with(smaller.filter(lambda value: value > 0))
    return smaller


def heads(job: JobGraph) -> list[int]:
    return [info.id for info in job.operators if info.name == "Iterate"]


def values(result: EpochResult) -> list[Any]:
    return [value for part in result.collected for value in pickle.loads(part)]


def run(engine: Engine) -> list[list[Any]]:
    """The elements of every epoch, sorted."""
    found = []
    while not engine.coordinator.finished:
        found.append(sorted(values(engine.epoch())))
        assert len(found) < 50, "a loop does not end"
    return found


# -- rounds -----------------------------------------------------------------------------------------------------------


def test_a_round_is_an_epoch_and_two_more_end_the_loop() -> None:
    engine = Engine(job_of(lambda env: decrement(numbers(env, [3, 1, 2]))))
    assert run(engine) == [[0, 1, 2], [0, 1], [0], [], []]


def test_rounds_and_input_share_epochs() -> None:
    engine = Engine(job_of(lambda env: decrement(numbers(env, [3, 1, 2])), epoch_records=1))
    assert run(engine) == [[2], [0, 1], [0, 1], [0], [], []]


def test_what_is_fed_back_is_not_counted_as_read() -> None:
    engine = Engine(job_of(lambda env: decrement(numbers(env, [2, 3]))))
    assert [engine.epoch().records, engine.epoch().records] == [2, 0]


def test_an_empty_input_ends_the_loop() -> None:
    assert run(Engine(job_of(lambda env: decrement(numbers(env, []))))) == [[], [], []]


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        (1, [[2, 4], [1, 3]]),
        (2, [[2, 4], [1, 3], [0, 2]]),
        (4, [[2, 4], [1, 3], [0, 2], [1], [0]]),
        (5, [[2, 4], [1, 3], [0, 2], [1], [0], [], []]),
    ],
)
def test_the_limit_of_rounds(rounds: int, expected: list[list[int]]) -> None:
    """The last round ends the loop at once: nothing could come back. Where it is not reached it changes nothing."""
    engine = Engine(job_of(lambda env: decrement(numbers(env, [3, 5]), max_rounds=rounds)))
    assert run(engine) == expected


def test_rounds_count_from_the_end_of_the_input() -> None:
    engine = Engine(job_of(lambda env: decrement(numbers(env, [9, 9, 9]), max_rounds=1), epoch_records=1))
    found = run(engine)
    assert found == [[8], [7, 8], [6, 7, 8], [5, 6, 7], [4, 5, 6]], "the fourth epoch finds the end, the fifth is fed"


def test_the_last_order_keeps_no_state_if_no_other_can_follow() -> None:
    engine = Engine(job_of(lambda env: decrement(numbers(env, [3, 5]), max_rounds=2)))
    kept, found = [], []
    while not engine.coordinator.finished:
        order = engine.coordinator.plan(keep_state=False)
        kept.append(order.order.keep_state)
        found.append(sorted(values(engine.coordinator.complete(order, engine.tasks(order)[0]))))
    assert kept == [True, True, False]
    assert found == [[2, 4], [1, 3], [0, 2]]


def test_only_jobs_with_loops_have_loops() -> None:
    assert has_loops(job_of(lambda env: decrement(numbers(env, [1]))))
    assert not has_loops(job_of(lambda env: numbers(env, [1])))


# -- failures ---------------------------------------------------------------------------------------------------------


def splits(engine: Engine) -> list[bytes]:
    """What the loop's head will read next; a look at it plans an epoch that never runs."""
    [head] = heads(engine.job)
    orders = [own.sources[head] for own in engine.coordinator.plan().tasks.values() if head in own.sources]
    return [packet for order in orders for packet in order.splits]


def test_an_epoch_without_an_end_feeds_nothing_back() -> None:
    engine = Engine(job_of(lambda env: decrement(numbers(env, [3, 2]))))
    engine.epoch()
    before = splits(engine)
    assert len(before) == 1
    engine.tasks(engine.coordinator.plan())
    assert splits(engine) == before
    engine.epoch()
    assert len(splits(engine)) == 1 and splits(engine) != before


def test_a_failed_epoch_feeds_nothing_back() -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        loop = numbers(env, [4, 2]).rebalance().iterate()
        loop.close_with(loop.map(lambda value: value - 1))
        return loop.filter(lambda value: 1 / value > 0)

    engine = Engine(job_of(build))
    assert sorted(values(engine.epoch())) == [2, 4]
    assert sorted(values(engine.epoch())) == [1, 3]
    before = splits(engine)
    order = engine.coordinator.plan()
    with pytest.raises(JobFailedError, match="ZeroDivisionError"):
        engine.coordinator.complete(order, engine.tasks(order)[0])
    assert splits(engine) == before


@pytest.mark.parametrize("seed", range(6))
def test_every_element_goes_round_once_though_epochs_are_repeated(seed: int) -> None:
    draw = random.Random(seed)

    def build(env: StreamExecutionEnvironment) -> DataStream:
        env.set_parallelism(3)
        loop = numbers(env, range(1, 9), 2).iterate()
        counted = loop.key_by(lambda value: value % 3).sum()
        loop.close_with(loop.rebalance().map(lambda value: value - 1).set_parallelism(2).filter(lambda v: v > 0))
        counted.print()
        return loop

    engine = Engine(job_of(build, draw.choice([None, 1, 3])), workers=3)
    found: Counter[int] = Counter()
    lines = []
    while not engine.coordinator.finished:
        while draw.random() < 0.4:
            engine.tasks(engine.coordinator.plan(), draw.randrange(3))  # its acknowledgements are lost
        result = engine.epoch(draw.randrange(3))
        found.update(values(result))
        lines += [int(line.partition("> ")[2]) for line in result.printed]
    assert found == Counter(n for value in range(1, 9) for n in range(1, value + 1))
    sums = [sum(n * found[n] for n in found if n % 3 == key) for key in range(3)]
    assert set(sums) <= set(lines) and max(lines) == max(sums), "the last sums, which state of all epochs is in"


def reads(plan: EpochPlan, operator: int) -> bool:
    return any(operator in own.sources for own in plan.tasks.values())


# -- several loops ----------------------------------------------------------------------------------------------------


def test_a_loop_ends_after_the_one_that_it_reads() -> None:
    engine = Engine(job_of(lambda env: decrement(decrement(numbers(env, [4])).map(lambda value: value + 1))))
    first, second = heads(engine.job)
    open_heads = []
    while not engine.coordinator.finished:
        order = engine.coordinator.plan()
        open_heads.append([head for head in (first, second) if reads(order, head)])
        engine.coordinator.complete(order, engine.tasks(order)[0])
    both = open_heads.index([second])
    assert set(map(tuple, open_heads[:both])) == {(first, second)}
    assert set(map(tuple, open_heads[both:])) == {(second,)}
    assert len(open_heads) - both == 2, "one epoch for the last watermark, one for the end"


def test_loops_side_by_side_end_on_their_own() -> None:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        return decrement(numbers(env, [1])).union(decrement(numbers(env, [5])))

    engine = Engine(job_of(build))
    short, long = heads(engine.job)
    last = {}
    while not engine.coordinator.finished:
        order = engine.coordinator.plan()
        last.update({head: order.epoch for head in (short, long) if reads(order, head)})
        engine.coordinator.complete(order, engine.tasks(order)[0])
    assert last == {short: 3, long: 7}


def nested(env: StreamExecutionEnvironment) -> DataStream:
    """(outer, inner): the inner loop counts ``inner`` down, the outer one begins it anew with ``outer - 1``."""
    outer = numbers(env, [3]).map(lambda value: (value, value)).iterate()
    inner = outer.iterate()
    smaller = inner.map(lambda pair: (pair[0], pair[1] - 1))
    inner.close_with(smaller.filter(lambda pair: pair[1] > 0))
    through = smaller.filter(lambda pair: pair[1] == 0)
    outer.close_with(through.map(lambda pair: (pair[0] - 1, pair[0] - 1)).filter(lambda pair: pair[0] > 0))
    return smaller


def test_a_loop_inside_a_loop() -> None:
    expected = [(outer, inner) for outer in (3, 2, 1) for inner in reversed(range(outer))]
    assert [pair for epoch in run(Engine(job_of(nested))) for pair in epoch] == expected


def test_loops_that_feed_each_other() -> None:
    """Neither can end while the other one has something: 4 goes left, 3 right, 2 left, 1 right."""

    def build(env: StreamExecutionEnvironment) -> DataStream:
        left, right = numbers(env, [4, 1]).iterate(), numbers(env, [2]).iterate()
        smaller = left.union(right).map(lambda value: value - 1).filter(lambda value: value > 0)
        left.close_with(smaller.filter(lambda value: value % 2 == 0))
        right.close_with(smaller.filter(lambda value: value % 2 == 1))
        return left.map(lambda v: f"left {v}").union(right.map(lambda v: f"right {v}"))

    found = run(Engine(job_of(build)))
    assert found == [["left 1", "left 4", "right 2"], ["right 1", "right 3"], ["left 2"], ["right 1"], [], []]


def test_loops_that_feed_each_other_in_a_circle() -> None:
    """None of them has anything of the one that it feeds, but of that one's other side."""

    def build(env: StreamExecutionEnvironment) -> DataStream:
        loops = [numbers(env, start).iterate() for start in ([7], [], [])]
        for place, loop in enumerate(loops):
            smaller = loops[place - 1].map(lambda value: value - 1).filter(lambda value: value > 0)
            loop.close_with(smaller.union(loop.filter(lambda value: False)))
        named = [loop.map(lambda value, name=name: f"{name}{value}") for name, loop in zip("abc", loops)]
        return named[0].union(*named[1:])

    assert run(Engine(job_of(build))) == [["a7"], ["b6"], ["c5"], ["a4"], ["b3"], ["c2"], ["a1"], [], []]


def test_a_loop_at_its_limit_waits_for_those_that_it_feeds() -> None:
    """Nothing goes round in it any more, but what others send it still goes through."""

    def build(env: StreamExecutionEnvironment) -> DataStream:
        outer = numbers(env, [1]).iterate()
        inner = outer.map(lambda value: value * 10).iterate(max_rounds=2)
        inner.close_with(inner.map(lambda value: value + 1))
        again = inner.map(lambda value: value // 10 + 1).filter(lambda value: value < 5)
        outer.close_with(again.filter(lambda value: value % 2 == 0).union(again.filter(lambda value: value == 3)))
        return inner

    found = run(Engine(job_of(build)))
    assert found == [[10], [11, 20], [12, 20, 21, 30], [20, 30, 30, 40], [30, 40, 40], [40], [], []]


# -- stopping ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epochs", [0, 1, 2])
def test_stopping_ends_the_input_and_what_is_in_the_loop_goes_on(epochs: int) -> None:
    engine = Engine(job_of(lambda env: decrement(numbers(env, [3, 9, 9])), epoch_records=1))
    read = [3, 9][:epochs]
    found = [value for _ in range(epochs) for value in values(engine.epoch())]
    engine.coordinator.stop()
    found += [value for epoch in run(engine) for value in epoch]
    assert Counter(found) == Counter(n for value in read for n in range(value))
