"""Global aggregates: what subtasks see, epoch by epoch, and that each complete epoch counts once."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.checkpoint.jobs import SavedJob, collecting

from millrace.datastream import DataStream, ProcessFunction, StreamExecutionEnvironment
from millrace.datastream.functions import AggregateFunction, RuntimeContext
from millrace.runtime.bases.runtime_context import AddedPart, GlobalAggregateError, GlobalAggregates, merged
from millrace.runtime.coordination.coordinator import JobFailedError
from millrace.runtime.storage import dumps
from millrace.testing import OperatorHarness, run_locally


class Gather(AggregateFunction):
    """Keeps the order in which things came together."""

    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: list[Any]) -> tuple[Any, ...]:
        return tuple(accumulator)

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        return acc_a + acc_b


class NoMerge(Gather):
    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        raise NotImplementedError("who needs that?")


class Adds(ProcessFunction):
    """Gives (subtask, value, what it saw)."""

    def __init__(self, function: Any = None) -> None:
        self.function = function or Gather()

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.manager = runtime_context.get_global_aggregate_manager()

    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        yield self.subtask, value, self.manager.update_global_aggregate("all", value, self.function)


def adding(env: StreamExecutionEnvironment, function: Any = None) -> DataStream:
    numbers = env.from_collection(list(range(20))).uid("numbers")
    return numbers.rebalance().process(Adds(function)).uid("adds")


def check(collected: list[Any], epochs: Iterable[Iterable[int]]) -> None:
    """All see the same: what was added in earlier epochs, subtask by subtask."""
    found = {value: (subtask, seen) for subtask, value, seen in collected}
    assert len(found) == len(collected), "nothing came twice"
    known: tuple[int, ...] | None = None
    for values in map(list, epochs):
        assert {found[value][1] for value in values} == {known}
        known = (*(known or ()), *sorted(values, key=lambda value: (found[value][0], value)))


def epochs_of_five() -> list[range]:
    return [range(begin, begin + 5) for begin in range(0, 20, 5)]


@pytest.mark.parametrize(("parallelism", "workers"), [(1, 1), (2, 1), (3, 2), (4, 3)])
def test_all_subtasks_see_the_same_one_epoch_later(parallelism: int, workers: int) -> None:
    env = StreamExecutionEnvironment()
    env.set_parallelism(parallelism)
    run = run_locally(adding(env), epoch_records=5, workers=workers, seed=3)
    check(run.collected, epochs_of_five())


def test_operators_do_not_share() -> None:
    env = StreamExecutionEnvironment()
    env.set_parallelism(1)
    first = env.from_collection([1, 2]).process(Adds())
    run = run_locally(first.map(lambda seen: seen[1] * 10).process(Adds()), epoch_records=1)
    assert run.collected == [(0, 10, None), (0, 20, (10,))]


def test_an_epoch_that_fails_adds_nothing(tmp_path: Path) -> None:
    job = SavedJob(collecting(adding, 2), tmp_path)
    job.epoch()
    lost = job.coordinator.plan()
    job.tasks(lost)  # and nobody hears of it
    job.coordinator.restart()
    check(job.finish(), epochs_of_five())


def test_it_is_part_of_checkpoints(tmp_path: Path) -> None:
    graph = collecting(adding, 2)
    first = SavedJob(graph, tmp_path, checkpoint_every=1)
    for _ in range(2):
        first.epoch()
    second = SavedJob(graph, tmp_path, checkpoint_every=1)
    second.go_on()
    check(first.collected + second.finish(), epochs_of_five())


def test_it_is_part_of_savepoints_also_at_another_parallelism(tmp_path: Path) -> None:
    first = SavedJob(collecting(adding, 2), tmp_path)
    first.epoch()
    first.epoch(savepoint=tmp_path / "saved")
    second = SavedJob(collecting(adding, 3), tmp_path)
    second.restore(str(tmp_path / "saved"))
    first_epochs, later = epochs_of_five()[:2], second.finish()
    seen = {value: seen for _, value, seen in later}
    known = first.coordinator._aggregates.known["adds"]["all"]
    assert seen[10] == tuple(pickle.loads(known))
    assert sorted(seen[10]) == [value for values in first_epochs for value in values]
    assert sorted(seen[15]) == list(range(15))


def test_what_cannot_be_merged_fails_the_job() -> None:
    env = StreamExecutionEnvironment()
    env.set_parallelism(2)
    with pytest.raises(JobFailedError, match=r"global aggregate 'all' could not be merged .*NotImplementedError: who"):
        run_locally(adding(env, NoMerge()), epoch_records=5)


def test_it_needs_a_function() -> None:
    env = StreamExecutionEnvironment()
    with pytest.raises(JobFailedError, match="the global aggregate 'all' needs an AggregateFunction: 5"):
        run_locally(adding(env, 5), epoch_records=5)


def test_what_cannot_be_pickled_names_the_operator() -> None:
    class Open(Gather):
        def create_accumulator(self) -> Any:
            return [threading.Lock()]

    env = StreamExecutionEnvironment()
    with pytest.raises(JobFailedError, match="cannot pickle"):
        run_locally(adding(env, Open()), epoch_records=5)


def test_reading_adds_nothing() -> None:
    class Reads(Adds):
        def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
            if value % 2:
                self.manager.update_global_aggregate("all", value, self.function)
            yield self.manager.get_global_aggregate("all", self.function)

    env = StreamExecutionEnvironment()
    env.set_parallelism(1)
    run = run_locally(env.from_collection([1, 2, 3, 4]).process(Reads()), epoch_records=1)
    assert run.collected == [None, (1,), (1,), (1, 3)]


def test_the_harness_plays_the_driver() -> None:
    with OperatorHarness.for_function(Adds()) as harness:
        harness.process_element(1)
        harness.process_element(2)
        harness.end_epoch()
        harness.process_element(3)
        values = [record.value for record in harness.take_output() if hasattr(record, "value")]
    assert values == [(0, 1, None), (0, 2, None), (0, 3, (1, 2))]


def test_parts_are_merged_in_the_order_of_subtasks() -> None:
    aggregates = GlobalAggregates()
    aggregates.known = {"uid": {"all": dumps([0]), "other": dumps([9])}, "more": {}}
    parts = [("uid", number, {"all": AddedPart(dumps(Gather()), dumps([number]))}) for number in (3, 1, 2)]
    found = aggregates.after(parts)
    assert pickle.loads(found["uid"]["all"]) == [0, 1, 2, 3]
    assert pickle.loads(found["uid"]["other"]) == [9]
    assert pickle.loads(aggregates.known["uid"]["all"]) == [0], "nothing is taken over yet"
    with pytest.raises(GlobalAggregateError, match="'all' could not be merged"):
        merged({}, [{"all": AddedPart(b"no pickle", b"")}])
