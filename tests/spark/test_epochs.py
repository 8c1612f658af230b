"""A bounded job in many epochs: each of its subtasks lives in one process, with its state."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

from tests.spark.conftest import MakeEnvironment, Watch

from millrace.common import Types
from millrace.datastream import KeyedProcessFunction, RuntimeContext
from millrace.datastream.state import ListStateDescriptor, ValueStateDescriptor

COUNT, KEYS = 300, 7


class Running(KeyedProcessFunction):
    """The running sum, with the process that computed it; all values of the key at the end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[object, ...]]:
        self.sum.update((self.sum.value() or 0) + value)
        self.seen.add(value)
        ctx.timer_service().register_event_time_timer(2**63 - 1)
        yield "running", ctx.get_current_key(), self.sum.value(), self.subtask, os.getpid()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[tuple[object, ...]]:
        yield "end", ctx.get_current_key(), list(self.seen.get())


def test_state_goes_from_epoch_to_epoch(environment: MakeEnvironment, watch: Watch) -> None:
    env = environment(2, **{"millrace.epoch.max-records": 20})
    numbers = env.from_sequence(0, COUNT - 1).set_parallelism(1)
    found = list(numbers.key_by(lambda value: value % KEYS).process(Running()).execute_and_collect())

    running: dict[int, list[int]] = {key: [] for key in range(KEYS)}
    workers: dict[int, set[int]] = {0: set(), 1: set()}
    for kind, key, *rest in found:
        if kind == "running":
            running[key].append(rest[0])
            workers[rest[1]].add(rest[2])
    for key, sums in running.items():
        values = range(key, COUNT, KEYS)
        assert sums == [sum(values[: place + 1]) for place in range(len(values))]
    ends = {key: values for kind, key, values, *_ in found if kind == "end"}
    assert ends == {key: list(range(key, COUNT, KEYS)) for key in range(KEYS)}

    epochs = len(watch.epochs)
    assert epochs >= COUNT // 20
    # A task lives in one process, which has what it needs: nothing is read back from the files.
    assert [len(processes) for processes in workers.values()] == [1, 1]
    assert sum(result.replayed for result in watch.epochs) == 0


def test_a_reduce_in_epochs_emits_every_update_once(environment: MakeEnvironment, watch: Watch) -> None:
    env = environment(2, **{"millrace.epoch.max-records": 50})
    pairs = env.from_sequence(1, 300).map(lambda value: (value % 3, 1))
    sums = Counter(pairs.key_by(lambda pair: pair[0]).sum(1).execute_and_collect())
    assert sums == Counter((key, count) for key in range(3) for count in range(1, 101))
    assert len(watch.epochs) >= 3
