"""Rows of SQL in memory and on disk: processor time of epochs, memory and disk, without operators and Spark.

    python -m benchmarks.rows_on_disk [--keys 2000000] [--touched 10000] [--epochs 60] [--memory-mb 64]

Each of these tables gets a row for each key (BIGINT), and then epochs touch random keys: ``groups`` are the
accumulators of GROUP BY (two BIGINTs), ``latest`` is a deduplication's last row (BIGINT and VARCHAR(20)), and ``side``
is one side of a join of insertions, with a row added to each touched key after its rows were read; ``changing`` is one
side of a join whose rows are replaced (removed and added again). ``windows`` are the accumulators of a window
aggregate: a row is added to a long window, which does not end, and to a short one, which ends in the next epoch. With
``--memory-mb`` the rows on disk may have that much in memory. Deltas are taken as in a job, but written nowhere. Each
side runs in a process of its own, one after the other; prints processor time of the load (s), of an epoch (ms, p50 and
the largest) and the process's anonymous memory (MB), and the bytes of a row on disk.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational.functions.aggregates.registry import choosing, counting
from millrace.relational.rows import record_batch
from millrace.runtime.state.disk.plan import OnDisk
from millrace.runtime.state.state_time import NO_TIME
from millrace.runtime.state.working import InMemory, StatePlan
from millrace.runtime.storage import NO_PAST, MemoryStorage, version_of
from millrace.runtime.tables.aggregates.partials import PartialColumns
from millrace.runtime.tables.columns.key_hashes import key_hashes
from millrace.runtime.tables.counted_rows import CountedRows
from millrace.runtime.tables.group_table import GroupTable
from millrace.runtime.tables.indexed_rows import at_positions
from millrace.runtime.tables.joins.inserted_rows import IndexedRows
from millrace.runtime.tables.ordering.latest_rows import RowOfKey
from millrace.runtime.tables.windows.slice_table import SliceTable

LOAD = 100_000
"""The number of keys in an epoch of the load."""
TEXTS = pa.array([f"a text of {number:08d}!!" for number in range(1_000)])


def touch_groups(table: GroupTable, keys: pa.Array) -> None:
    numbers, known = table.place([keys], len(keys))
    ones = np.ones(len(keys), np.int64)
    table.write(numbers[~known], [pa.array(ones[~known])] * 2)
    table.write(numbers[known], [pa.array(slot.to_numpy() + 1) for slot in table.slots(numbers[known])])
    table.settle()


def touch_latest(table: RowOfKey, keys: pa.Array) -> None:
    hashes = key_hashes([keys], len(keys))
    table.remove(table.find(hashes, at_positions([keys]))[1])
    table.add(_rows(keys), hashes)
    table.settle()


def touch_side(table: IndexedRows, keys: pa.Array) -> None:
    hashes = key_hashes([keys], len(keys))
    table.take(table.find(hashes, at_positions([keys]))[1])
    table.add(_rows(keys), hashes)
    table.settle()


def touch_changing(table: CountedRows, keys: pa.Array) -> None:
    hashes = key_hashes([keys], len(keys))
    _, numbers = table.of_keys(hashes, at_positions([keys]))
    old = table.take(numbers)
    ones = np.ones(len(keys), np.int64)
    table.count(old, -ones[: len(numbers)], [np.zeros(len(numbers), np.int64)])
    table.count(_rows(keys).columns, ones, [ones])
    table.settle()


def _rows(keys: pa.Array) -> pa.RecordBatch:
    return record_batch([keys, TEXTS.take(pa.array(keys.to_numpy() % len(TEXTS)))], len(keys))


def touch_windows(table: SliceTable, keys: pa.Array) -> None:
    short = [end for end in table.ends() if end != LONG]
    for end in short:
        table.batches(end)
        table.drop(end)
    ones = pa.array(np.ones(len(keys), np.int64))
    rows = table.partials.batch([keys], [ones, ones], len(keys))
    table.add(LONG, rows)
    table.add(max(short, default=0) + 1, rows)


LONG = 2**40
"""The end of the long window (ms)."""
SLOTS = (counting(), choosing(pa.int64(), "max"))
TABLES: dict[str, tuple[Callable[[], Any], Callable[[Any, pa.Array], None]]] = {
    "groups": (lambda: GroupTable([pa.int64()], [pa.int64(), pa.int64()], [False, True]), touch_groups),
    "latest": (lambda: RowOfKey([pa.int64(), pa.string()], (0,), None), touch_latest),
    "side": (lambda: IndexedRows([pa.int64(), pa.string()], (0,)), touch_side),
    "changing": (lambda: CountedRows([pa.int64(), pa.string()], (0,), None, 2), touch_changing),
    "windows": (lambda: SliceTable(PartialColumns([pa.int64()], SLOTS)), touch_windows),
}


def measure(name: str, on_disk: bool, keys: int, touched: int, epochs: int, memory: int) -> dict[str, float]:
    """The figures of one table on one side."""
    make, touch = TABLES[name]
    folder = tempfile.mkdtemp(prefix="millrace-rows-")
    plan: StatePlan = OnDisk((folder,), memory) if on_disk else InMemory()
    working = plan.state_of("benchmark", (0, 0), dict)
    backend = working.backend("operator", NO_TIME)
    table = backend.use("rows", make())
    list(working.load((0, 0), NO_PAST, MemoryStorage()))
    draw, count = np.random.default_rng(1), 0

    def epoch(of: Any) -> float:
        nonlocal count
        begin = time.process_time()
        working.goes_on()
        touch(table, pa.array(of))
        count += 1
        working.finish(version_of(count, 0), {"operator": (backend.delta(), None, None, None, None)})
        return time.process_time() - begin

    order = draw.permutation(keys)
    load = sum(epoch(order[start : start + LOAD]) for start in range(0, keys, LOAD))
    took = [epoch(draw.choice(keys, touched, False)) for _ in range(epochs)]
    stored = sum(path.stat().st_size for path in Path(folder).rglob("*.run"))
    found = {
        "load": load,
        "p50": statistics.median(took) * 1_000,
        "most": max(took) * 1_000,
        "memory": _anonymous_mb(),
        "row": stored / keys,
    }
    working.close()
    shutil.rmtree(folder)
    return found


def _anonymous_mb() -> float:
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) / 1_024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--keys", type=int, default=2_000_000)
    parser.add_argument("--touched", type=int, default=10_000)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--memory-mb", type=int, default=64)
    parser.add_argument("--side", help=argparse.SUPPRESS)
    own = parser.parse_args()
    if own.side:
        name, where = own.side.split("-")
        figures = measure(name, where == "disk", own.keys, own.touched, own.epochs, own.memory_mb << 20)
        print(json.dumps(figures))
        return
    print(f"{own.keys:,} keys, {own.touched:,} touched in each of {own.epochs} epochs, {own.memory_mb} MB in memory")
    for name in TABLES:
        sides = {where: _in_a_process(f"{name}-{where}") for where in ("memory", "disk")}
        for where, found in sides.items():
            print(
                f"{name:7} {where:7} load {found['load']:6.2f} s   epoch p50 {found['p50']:7.1f}, most"
                f" {found['most']:7.1f} ms   {found['memory']:6.0f} MB   {found['row']:5.1f} bytes a row"
            )
        ratios = [sides["disk"][figure] / sides["memory"][figure] for figure in ("load", "p50")]
        print(f"{name:7} disk / memory: load {ratios[0]:.2f}, epoch {ratios[1]:.2f}")


def _in_a_process(side: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.rows_on_disk", *sys.argv[1:], "--side", side]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


if __name__ == "__main__":
    main()
