"""Parallelism per operator, slot sharing groups, and where partitioners send elements."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from tests.spark.conftest import MakeEnvironment, Watch

from millrace.datastream import DataStream, KeyedProcessFunction, MapFunction, ProcessFunction, RuntimeContext

COUNT = 60


class Where(MapFunction):
    """(label, number of subtasks, subtask, value)."""

    def __init__(self, label: str) -> None:
        self.label = label

    def open(self, runtime_context: RuntimeContext) -> None:
        self.place = (
            self.label,
            runtime_context.get_number_of_parallel_subtasks(),
            runtime_context.get_index_of_this_subtask(),
        )

    def map(self, value: Any) -> tuple[Any, ...]:
        return (*self.place, value)


class SentBy(ProcessFunction):
    """(sending subtask, value)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[tuple[int, int]]:
        yield self.subtask, value


class KeyAt(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: tuple[int, int], ctx: KeyedProcessFunction.Context) -> Iterator[tuple[Any, ...]]:
        yield "key_by", 3, self.subtask, (ctx.get_current_key(), value[1])


def test_all_partitioners(environment: MakeEnvironment) -> None:
    env = environment(2)
    numbers = env.from_sequence(0, COUNT - 1).process(SentBy())
    branches: list[DataStream] = [
        numbers.forward().map(Where("forward")),
        numbers.rebalance().map(Where("rebalance")).set_parallelism(3),
        numbers.rescale().map(Where("rescale")).set_parallelism(4),
        numbers.rescale().map(Where("rescale down")).set_parallelism(1),
        numbers.shuffle().map(Where("shuffle")).set_parallelism(3),
        numbers.broadcast().map(Where("broadcast")).set_parallelism(3),
        numbers.global_().map(Where("global")),
        numbers.partition_custom(lambda key, receivers: key % receivers, lambda value: value[1])
        .map(Where("custom"))
        .set_parallelism(3),
        numbers.key_by(lambda value: value[1] % 7).process(KeyAt()).set_parallelism(3),
        numbers.map(Where("undecided")).set_parallelism(3),
    ]
    at: dict[str, dict[int, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for label, _, subtask, value in branches[0].union(*branches[1:]).execute_and_collect():
        at[label][subtask].append(value)

    everything = sorted(value for values in at["forward"].values() for value in values)
    assert [number for _, number in sorted(everything, key=lambda value: value[1])] == list(range(COUNT))
    for label, places in at.items():
        if label in ("broadcast", "key_by"):
            continue
        assert sorted(value for values in places.values() for value in values) == everything, label

    assert all(sender == subtask for subtask, values in at["forward"].items() for sender, _ in values)
    assert {subtask: len(values) for subtask, values in at["rebalance"].items()} == {0: 20, 1: 20, 2: 20}
    assert {subtask: len(values) for subtask, values in at["undecided"].items()} == {0: 20, 1: 20, 2: 20}
    assert {subtask: len(values) for subtask, values in at["rescale"].items()} == {0: 15, 1: 15, 2: 15, 3: 15}
    assert all(sender == subtask // 2 for subtask, values in at["rescale"].items() for sender, _ in values)
    assert set(at["rescale down"]) == {0}
    assert set(at["shuffle"]) == {0, 1, 2}
    assert set(at["broadcast"]) == {0, 1, 2}
    assert all(sorted(values) == everything for values in at["broadcast"].values())
    assert set(at["global"]) == {0}
    assert all(number % 3 == subtask for subtask, values in at["custom"].items() for _, number in values)
    keys = Counter((key, subtask) for subtask, values in at["key_by"].items() for key, _ in values)
    assert len(keys) == 7, "each key lives in one subtask"
    assert sum(keys.values()) == COUNT


def test_parallelism_per_operator_and_slot_sharing_groups(environment: MakeEnvironment, watch: Watch) -> None:
    env = environment(1)
    numbers = env.from_sequence(0, 19).set_parallelism(2)
    slow = numbers.map(Where("slow")).set_parallelism(3).slot_sharing_group("slow")
    wide = slow.key_by(lambda value: value[3]).map(lambda value: value).set_parallelism(5)
    fast = numbers.map(Where("fast")).set_parallelism(2).slot_sharing_group("fast")
    found = list(wide.union(fast).execute_and_collect())

    assert sorted(value for label, width, _, value in found if (label, width) == ("slow", 3)) == list(range(20))
    assert sorted(value for label, width, _, value in found if (label, width) == ("fast", 2)) == list(range(20))
    subtasks = defaultdict(set)
    for report in watch.epochs[0].reports:
        subtasks[report.operator].add(report.subtask)
    assert sorted(map(len, subtasks.values())) == [1, 2, 2, 3, 5]
    assert all(places == set(range(len(places))) for places in subtasks.values())


def test_a_forward_job_needs_no_exchange(environment: MakeEnvironment) -> None:
    env = environment(2)
    stream = env.from_sequence(0, 9).map(lambda value: value + 1).filter(lambda value: value % 2 == 0)
    stream.print()
    assert len(env.job_graph().partitions) == 1
    assert sorted(stream.execute_and_collect()) == [2, 4, 6, 8, 10]
