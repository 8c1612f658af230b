"""Jobs in flow on Spark that have much to hold, or are killed while rules lead."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.spark.conftest import MakeEnvironment, Watch
from tests.spark.test_execution import endless
from tests.spark.test_flow import FLOW, RESTARTS

from millrace.common.typeinfo import Types
from millrace.datastream import KeyedProcessFunction, RuntimeContext
from millrace.datastream.functions import BroadcastProcessFunction
from millrace.datastream.state import MapStateDescriptor, ValueStateDescriptor

RULES, TAKEN = 300, 150
KNOWN = MapStateDescriptor("rules", Types.LONG(), Types.LONG())
SHOWN = 1_000
"""Of so many keys one is shown."""
MEMORY = 4 << 30
"""bytes of all processes of this test together, at most"""


class Ruled(BroadcastProcessFunction[Any, Any, Any]):
    """Each element with the number of rules before it. Half-way through the rules its process is killed, once."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def process_element(self, value: int, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        yield value, len(list(ctx.get_broadcast_state(KNOWN)))

    def process_broadcast_element(self, value: int, ctx: BroadcastProcessFunction.Context) -> Iterator[Any]:
        if value == RULES // 2 and not self._marker.exists():
            self._marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        ctx.get_broadcast_state(KNOWN).put(value, value)
        time.sleep(0.001)
        yield from ()


def test_rules_lead_again_when_their_process_was_killed(
    environment: MakeEnvironment, watch: Watch, tmp_path: Path
) -> None:
    env = environment(2, **FLOW, **RESTARTS, **{"millrace.epoch.interval-ms": 8_000})
    data = endless(env, per_second=1_000).rebalance()
    rules = env.from_sequence(0, RULES - 1).set_parallelism(1)
    with data.connect(rules.broadcast(KNOWN)).process(Ruled(tmp_path / "marker")).execute_and_collect() as found:
        taken = [value for value, _ in zip(found, range(TAKEN))]
    assert [count for _, count in taken] == [RULES] * TAKEN
    assert len({value for value, _ in taken}) == TAKEN
    assert len(watch.restarts) == 1


class Twice(KeyedProcessFunction):
    """The key when it comes for the second time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Iterator[int]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count == 2 and ctx.get_current_key() % SHOWN == 0:
            yield ctx.get_current_key()


def many_keys(environment: MakeEnvironment, keys: int, backend: str, folder: Path, most: list[int]) -> list[int]:
    """The keys that came twice, one of a thousand.

    :param most: gets the bytes that all processes had together, now and then.
    """
    options = {"state.backend.type": backend, "state.backend.rocksdb.localdir": str(folder / "local")}
    checkpoints = {"execution.checkpointing.interval": "2 s", "execution.checkpointing.dir": str(folder / "chk")}
    env = environment(2, **FLOW, **options, **checkpoints)
    counted = env.from_sequence(0, 2 * keys - 1).key_by(lambda value: value % keys, Types.LONG()).process(Twice())
    client = counted.execute_and_collect()
    with client as found:
        shown = []
        for key in found:
            most.append(memory())
            shown.append(key)
    return shown


def memory() -> int:
    """Of this process and all below it."""
    total = 0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        try:
            total += process.memory_info().rss - process.memory_info().shared
        except psutil.Error:
            continue
    return total


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_many_keys(environment: MakeEnvironment, watch: Watch, backend: str, tmp_path: Path) -> None:
    assert sorted(many_keys(environment, 20_000, backend, tmp_path, [])) == list(range(0, 20_000, SHOWN))


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_million_keys(environment: MakeEnvironment, watch: Watch, backend: str, tmp_path: Path) -> None:
    """Epochs end while it goes on, and memory has a limit."""
    most: list[int] = []
    before = memory()
    assert sorted(many_keys(environment, 1_000_000, backend, tmp_path, most)) == list(range(0, 1_000_000, SHOWN))
    assert len(watch.epochs) >= 8, "200,000 entries end an epoch"
    print(backend, len(watch.epochs), before >> 20, max(most) >> 20)
    assert max(most) - before < MEMORY
