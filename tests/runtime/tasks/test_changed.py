"""An epoch in flow ends when it has changed much of its state."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.runtime.jobs import numbers

from millrace.common.typeinfo import Types
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from millrace.runtime.bases.epoch_protocol import parts_of
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.state.working import InMemory
from millrace.runtime.tasks import flow_lanes
from millrace.testing.flow import FlowEngine
from millrace.testing.local import job_of

VALUES = range(60)


class Kept(KeyedProcessFunction):
    """Emits how many values of its key there were."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def open(self, context: RuntimeContext) -> None:
        self.value = context.get_state(ValueStateDescriptor("value", Types.INT()))
        self.list = context.get_list_state(ListStateDescriptor("list", Types.INT()))
        self.map = context.get_map_state(MapStateDescriptor("map", Types.INT(), Types.INT()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if self.kind == "value":
            self.value.update((self.value.value() or 0) + 1)
            yield value, self.value.value()
        elif self.kind == "list":
            self.list.add(value)
            yield value, len(list(self.list.get()))
        else:
            self.map.put(value, value)
            yield value, len(list(self.map.keys()))


def keyed(kind: str, keys: int) -> DataStream:
    env = StreamExecutionEnvironment().set_parallelism(2)
    return numbers(env, VALUES).key_by(lambda value: value % keys).process(Kept(kind))


def epochs(stream: DataStream, disk: Path | None = None) -> list[list[Any]]:
    """What each epoch gave."""
    job = replace(job_of(stream), state=InMemory() if disk is None else OnDisk((str(disk),)))
    engine = FlowEngine(job, lambda: 0, Random(1), aligned=False, most=4)  # much is not under way
    return [[value for part in parts_of(epoch.collected) for value in pickle.loads(part)] for epoch in engine.epochs()]


@pytest.mark.parametrize("disk", [False, True])
@pytest.mark.parametrize("kind", ["value", "list", "map"])
def test_many_changed_entries_end_the_epoch(
    kind: str, disk: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(flow_lanes, "LOOK_NANOSECONDS", 0)
    usual = epochs(keyed(kind, 30), tmp_path / "a" if disk else None)
    monkeypatch.setattr(flow_lanes, "MOST_ENTRIES", 8)
    found = epochs(keyed(kind, 30), tmp_path / "b" if disk else None)
    assert len(found) > len(usual) + 1
    assert len(found) < len(VALUES), "an epoch that has changed little goes on"
    assert sorted(value for epoch in found for value in epoch) == [(value, value // 30 + 1) for value in VALUES]


def test_the_same_entry_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow_lanes, "LOOK_NANOSECONDS", 0)
    usual = len(epochs(keyed("value", 2)))
    monkeypatch.setattr(flow_lanes, "MOST_ENTRIES", 8)
    assert len(epochs(keyed("value", 2))) == usual


def test_much_that_has_come_ends_the_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow_lanes, "LOOK_NANOSECONDS", 0)
    usual = len(epochs(keyed("list", 1)))
    monkeypatch.setattr(flow_lanes, "MOST_BYTES", 200)
    assert len(epochs(keyed("list", 1))) > usual + 1
