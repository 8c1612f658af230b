"""The size of states by a few of their entries is about the size of all of them."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.runtime.rows.test_rows_on_disk import NAME, Groups, RowsCopy
from tests.runtime.state.copies import Machine, Turns

from millrace.common import Types
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.tasks.member import StateSizes, about_bytes
from millrace.testing import run_locally


@pytest.mark.parametrize(
    "value",
    [dict.fromkeys(range(1000), "x" * 50), {n: [n] * 300 for n in range(100)}, ["abc"] * 10_000, (1, "a"), "abc", {}],
)
def test_about_what_a_pickle_takes(value: Any) -> None:
    parts = value.items() if isinstance(value, dict) else value
    alone = list(parts) if isinstance(value, (dict, list)) else [value]
    exact = sum(len(pickle.dumps(part, 5)) for part in alone)
    assert exact / 4 <= about_bytes(value) <= 4 * max(exact, 10)


def test_what_cannot_be_pickled_weighs_nothing() -> None:
    assert about_bytes(threading.Lock()) == 0


class Keeps(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))
        self.all = runtime_context.get_list_state(ListStateDescriptor("all", Types.STRING()))
        self.none = runtime_context.get_map_state(MapStateDescriptor("none", Types.LONG(), Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> None:
        self.last.update(value)
        self.all.add("x" * 100)


def test_the_driver_hears_of_each_state() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.from_sequence(1, 500).key_by(lambda n: n % 50).process(Keeps()).name("keeps").print()
    found = [report.state_sizes for epoch in run_locally(env).epochs for report in epoch.reports if report.state_sizes]
    (sizes,) = found
    assert 500 * 100 <= sizes["all"] < 4 * 500 * 100
    assert 50 < sizes["last"] < 5_000
    assert sizes.get("none", 0) < 100


def grown(turns: Turns[RowsCopy], first: int, count: int) -> None:
    """An epoch that adds this many rows."""
    table, keys = turns.copy.table, pa.array(range(first, first + count), pa.int64())
    numbers, _ = table.place([keys], count)
    table.write(numbers, [keys, keys.cast(pa.string())])
    table.settle()


@pytest.mark.parametrize("on_disk", [False, True], ids=["memory", "disk"])
def test_rows_in_columns_have_a_size(on_disk: bool) -> None:
    machine = Machine(on_disk)
    turns: Turns[RowsCopy] = Turns(machine, lambda working: RowsCopy(working, Groups()), workers=1)
    sizes = StateSizes()
    now = iter(range(0, 100_000, 10_000)).__next__
    told = [sizes.report(turns.copy.backend, now)]
    for epoch in range(2):
        grown(turns, 1_000 * epoch, 1_000)
        told.append(sizes.report(turns.copy.backend, now))
        turns.end_epoch()
        turns.begin_epoch(0)
    empty, one, both = [each[NAME] for each in told if each is not None]
    assert empty == 0
    assert 0 < one < both < 200 * 2_000
    if isinstance(machine.plan, OnDisk):
        # All rows are in runs now, so the size is that of the files.
        files = sum(path.stat().st_size for path in Path(machine.plan.paths[0]).rglob("*.run"))
        found = sizes.report(turns.copy.backend, now)
        assert found is not None and found[NAME] == files
    turns.close()
