"""Key selectors and partitioners are functions, too: opened and closed in every copy of the task that sends."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.jobs import Engine, job_of, numbers

from millrace.common import Types
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.functions import KeySelector, MapFunction, Partitioner, RuntimeContext
from millrace.datastream.state import ValueStateDescriptor
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.testing import OperatorHarness, run_locally

events: list[str] = []


@pytest.fixture(autouse=True)
def _no_events() -> None:
    events.clear()


class Modulo(KeySelector):
    """Works only while it is open."""

    def __init__(self, divisor: int) -> None:
        self.wanted = divisor
        self.divisor: int | None = None

    def open(self, runtime_context: RuntimeContext) -> None:
        events.append(f"open {runtime_context.get_index_of_this_subtask()}")
        self.divisor = self.wanted
        self.counter = runtime_context.get_metrics_group().counter("keys")

    def close(self) -> None:
        events.append("close")
        self.divisor = None

    def get_key(self, value: int) -> int:
        assert self.divisor is not None
        self.counter.inc()
        return value % self.divisor


class ToLast(Partitioner):
    def open(self, runtime_context: RuntimeContext) -> None:
        events.append("open partitioner")
        self.is_open = True

    def close(self) -> None:
        events.append("close partitioner")
        self.is_open = False

    def partition(self, key: int, num_partitions: int) -> int:
        assert self.is_open
        return num_partitions - 1


class Where(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: int) -> tuple[int, int]:
        return value, self.subtask


def test_a_key_selector_is_opened_and_closed_once_in_every_copy() -> None:
    env = StreamExecutionEnvironment().set_parallelism(2)
    keyed = numbers(env, range(8)).key_by(Modulo(3))
    # Two readers, so two edges with the same selector.
    both = keyed.sum().union(keyed.max())
    run = run_locally(both)
    sums, largest = {0: 0 + 3 + 6, 1: 1 + 4 + 7, 2: 2 + 5}, {0: 6, 1: 7, 2: 5}
    assert set(sums.values()) | set(largest.values()) <= set(run.collected)
    assert events == ["open 0", "close"]
    assert run.metrics.counter("Source: Numbers", "keys") == 2 * 8


def test_every_new_copy_opens_its_selector() -> None:
    engine = Engine(job_of(lambda env: numbers(env, range(6)).key_by(Modulo(3)).sum(), epoch_records=2))
    for worker in (0, 0, 1, 0):
        engine.epoch(worker)
    assert events == ["open 0", "open 0", "close", "open 0", "close"][: len(events)]
    assert events.count("open 0") == 3


def test_a_partitioner_and_its_key_selector() -> None:
    env = StreamExecutionEnvironment().set_parallelism(2)
    run = run_locally(numbers(env, range(4)).partition_custom(ToLast(), Modulo(2)).map(Where()))
    assert sorted(run.collected) == [(value, 1) for value in range(4)]
    assert sorted(events) == ["close", "close partitioner", "open 0", "open partitioner"]


def test_an_error_in_open_names_the_selector() -> None:
    class Broken(Modulo):
        def open(self, runtime_context: RuntimeContext) -> None:
            raise ValueError("no divisor")

    env = StreamExecutionEnvironment().set_parallelism(1)
    stream = numbers(env, [1]).map(Where()).key_by(Broken(1)).max(0)
    with pytest.raises(JobFailedError, match=r"(?s)operator 'Map'.*in open\(\) of its Broken.*no divisor"):
        run_locally(stream)


def test_a_selector_has_no_keyed_state_of_the_operator_before_it() -> None:
    class Stateful(Modulo):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_state(ValueStateDescriptor("s", Types.INT()))

    env = StreamExecutionEnvironment().set_parallelism(1)
    stream = numbers(env, [1]).key_by(lambda value: value).sum().key_by(Stateful(1)).sum()
    with pytest.raises(JobFailedError, match="can only be used on a keyed stream"):
        run_locally(stream)


def test_the_harness_opens_selectors() -> None:
    class Identity(MapFunction):
        def map(self, value: int) -> int:
            return value

    selector = Modulo(2)
    with OperatorHarness.for_function(Identity(), key_selector=selector) as harness:
        harness.process_element(3)
        assert harness.values == [3]
        assert harness.counter("keys") == 1
        with harness.restored() as other:
            other.process_element(5)
            assert other.counter("keys") == 2
    assert events == ["open 0", "open 0", "close", "close"]
    assert selector.divisor is None, "every harness has a copy of its own"


def test_plain_callables_need_no_opening() -> None:
    def key(value: Any) -> int:
        return 0

    env = StreamExecutionEnvironment().set_parallelism(1)
    assert run_locally(numbers(env, [1, 2]).key_by(key).sum()).collected == [1, 3]
