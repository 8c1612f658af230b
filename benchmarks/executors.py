"""Several executors against one process: a keyed job whose tasks live on three executors, and on ``local[6]``.

Each epoch touches a third of the keys. Both sides run in turn, each in processes of its own, with as many task slots.
Told are the records per second after the warm-up and their ratio; for the cluster also in how many processes each
subtask was seen, the memory of the processes that hold state against those of the other side, and how many bytes of
state were read back after the fifth epoch.

    python -m benchmarks.executors
    python -m benchmarks.executors --keys 100000 --epochs 12 --sides cluster
    python -m benchmarks.executors --master spark://127.0.0.1:7077
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from millrace.checkpoint.task_storage import FolderStorage
from millrace.common.configuration import Configuration
from millrace.common.typeinfo import Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.connectors.datagen import DataGeneratorSource
from millrace.datastream.state import ValueStateDescriptor
from millrace.spark.jobs.listeners import EpochDone, PlainListener, set_listener

SUBTASKS = 12
SIDES = {"cluster": "local-cluster[3,2,1024]", "local": "local[6]"}
WARM_UP = 5
"""epochs that do not count: processes start, and every key is set for the first time"""
LEAST_RATIO, MOST_COPIES = 0.8, 1.3


class Count(KeyedProcessFunction):
    """Counts per key. Notes each process that it comes to, and what is read of the state's files there."""

    def __init__(self, notes: str) -> None:
        self._notes = notes

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        note(self._notes, subtask=runtime_context.get_index_of_this_subtask(), process=os.getpid())
        watch_reads(self._notes)

    def process_element(self, value: Any, ctx: Any) -> None:
        self.state.update((self.state.value() or 0) + 1)


def note(directory: str, **what: Any) -> None:
    with open(os.path.join(directory, f"{os.getpid()}.jsonl"), "a") as file:
        file.write(json.dumps({"time": time.time(), **what}) + "\n")


def notes(directory: str) -> list[dict[str, Any]]:
    return [json.loads(line) for path in Path(directory).glob("*.jsonl") for line in path.read_text().splitlines()]


def watch_reads(directory: str) -> None:
    """From now on this process notes what it reads of state files."""
    if hasattr(FolderStorage, "watched"):
        return
    FolderStorage.watched = True  # type: ignore[attr-defined]
    opened: Callable[..., Any] = FolderStorage._file

    def _file(self: FolderStorage, path: str) -> Any:
        note(directory, read=os.path.getsize(f"{self._folder.uri.removeprefix('file:')}/{path}"))
        return opened(self, path)

    FolderStorage._file = _file  # type: ignore[method-assign]


class Epochs(PlainListener):
    """Notes when each epoch was complete, and what the processes with state weigh by then."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def epoch(self, epoch: EpochDone) -> None:
        processes = {seen["process"] for seen in notes(self._directory) if "process" in seen}
        memory = sum(psutil.Process(process).memory_full_info().pss for process in processes)
        note(self._directory, epoch=epoch.result.records, memory=memory)


def run_side(master: str, keys: int, epochs: int, directory: str) -> None:
    configuration = Configuration()
    configuration.set_string("millrace.master", master)
    configuration.set_string("millrace.state.directory", os.path.join(directory, "state"))
    touched = keys // 3 // SUBTASKS
    configuration.set_integer("millrace.epoch.max-records", touched)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(SUBTASKS)
    # A stride that has no factor in common with the keys comes to all of them in turn.
    source = DataGeneratorSource(lambda index: index * 7_919 % keys, touched * SUBTASKS * epochs)
    events = env.from_source(source, WatermarkStrategy.no_watermarks(), "events")
    events.key_by(lambda key: key, Types.LONG()).process(Count(directory)).print()
    set_listener(Epochs(directory))
    env.execute(f"{keys:,} keys on {master}")


def measured(side: str, given: argparse.Namespace) -> dict[str, Any]:
    """Run a side in a process of its own."""
    master = given.master if side == "cluster" and given.master else SIDES[side]
    with tempfile.TemporaryDirectory(prefix="millrace-benchmark-", dir="/var/tmp") as directory:
        command = [sys.executable, "-m", "benchmarks.executors", "--run", master, directory]
        subprocess.run([*command, "--keys", str(given.keys), "--epochs", str(given.epochs)], check=True)
        noted = notes(directory)
    epochs = sorted((found["time"], found["epoch"], found["memory"]) for found in noted if "epoch" in found)
    seen = collections.defaultdict(set)
    for found in noted:
        if "process" in found:
            seen[found["subtask"]].add(found["process"])
    warm = epochs[WARM_UP - 1][0]
    seconds = [after[0] - before[0] for before, after in zip(epochs[WARM_UP - 1 :], epochs[WARM_UP:])]
    result = {
        "speed": sum(epoch[1] for epoch in epochs[WARM_UP:]) / sum(seconds),
        "median": statistics.median(seconds),
        "processes": max(map(len, seen.values())),
        "memory": epochs[-1][2] / 1e6,
        "read": sum(found["read"] for found in noted if "read" in found and found["time"] > warm),
    }
    print(
        f"{master}: {result['speed']:,.0f} records/s, epochs of {result['median']:.2f} s (median), each subtask in at "
        f"most {result['processes']} processes, {result['memory']:,.0f} MB in {len(set().union(*seen.values()))} "
        f"processes with state, {result['read']:,} bytes of state read after epoch {WARM_UP}",
        flush=True,
    )
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--sides", nargs="*", choices=tuple(SIDES), default=tuple(SIDES))
    parser.add_argument("--master", help="another cluster with three executors of two cores")
    parser.add_argument("--run", nargs=2, metavar=("MASTER", "DIRECTORY"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        run_side(given.run[0], given.keys, given.epochs, given.run[1])
        return
    results: dict[str, list[dict[str, Any]]] = {side: [] for side in given.sides}
    for _ in range(given.turns):
        for side in given.sides:
            results[side].append(measured(side, given))
    if len(results) < 2:
        return
    speed, memory = (
        statistics.median(ours[what] / theirs[what] for ours, theirs in zip(results["cluster"], results["local"]))
        for what in ("speed", "memory")
    )
    read = max(result["read"] for result in results["cluster"])
    processes = max(result["processes"] for result in results["cluster"])
    print(
        f"cluster / local: speed {speed:.2f} (to reach: {LEAST_RATIO}), memory with state {memory:.2f} "
        f"({MOST_COPIES}), processes a subtask {processes} (1), bytes read {read:,} (0) "
        f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})"
    )
    sys.exit(speed < LEAST_RATIO or memory > MOST_COPIES or processes > 1 or read > 0)


if __name__ == "__main__":
    main()
