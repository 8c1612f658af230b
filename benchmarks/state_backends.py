"""State in memory and on disk: throughput and memory of a keyed job, without Spark.

Fills the state with keys of 100 bytes each, then touches a tenth of them in every epoch: one read and one update an
event. Everything is as in a job but for Spark: source, exchange, deltas and whole states in files. Each side runs in a
process of its own, one after the other. Memory is what a process has for itself (RssAnon): pages of files that are
mapped can be dropped at any time, so they are not counted.

    python -m benchmarks.state_backends
    python -m benchmarks.state_backends --keys 500000 --epochs 6
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, replace
from typing import Any

from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.task_storage import FolderStorage
from millrace.common.typeinfo import Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import EmbeddedRocksDBStateBackend, KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.connectors.datagen import DataGeneratorSource
from millrace.datastream.state import ValueStateDescriptor
from millrace.runtime.coordination.coordinator import Coordinator
from millrace.runtime.tasks.worker import TaskCache
from millrace.testing.local import LocalEngine

BYTES = 100
WARM_UP = 1
SIDES = ("memory", "disk")
LEAST_RATIO, MOST_MB = 0.3, 1_000


class Touch(KeyedProcessFunction):
    """Counts the touches of a key, in a value of 100 bytes."""

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("state", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> None:
        known = self.state.value()
        count = 0 if known is None else int.from_bytes(known[:8], "big")
        self.state.update((count + 1).to_bytes(8, "big") + bytes(BYTES - 8))


@dataclass(frozen=True)
class Measured:
    """One side."""

    filled: float
    """keys per second while the state grows"""
    touched: float
    """events per second"""
    touched_cpu: float
    """events per second of processor time: what other programs on the machine do hardly counts"""
    peak_mb: float
    new_worker_seconds: float
    """an epoch without events, in a worker that knows nothing yet"""


class PeakAnonymous:
    """The most memory that this process had for itself."""

    def __init__(self) -> None:
        self.peak_mb = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            self.peak_mb = max(self.peak_mb, anonymous_mb())

    def stop(self) -> float:
        self._stop.set()
        self._thread.join()
        return self.peak_mb


def anonymous_mb() -> float:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("RssAnon:"))


def run_side(side: str, keys: int, epochs: int, directory: str) -> Measured:
    touched = keys // 10
    env = StreamExecutionEnvironment()
    env.set_parallelism(1)
    if side == "disk":
        backend = EmbeddedRocksDBStateBackend()
        backend.set_db_storage_paths(os.path.join(directory, "local"))
        env.set_state_backend(backend)

    def key(index: int) -> int:
        return index if index < keys else index * 2_654_435_761 % keys

    source = DataGeneratorSource(key, keys + (epochs + WARM_UP) * touched)
    events = env.from_source(source, WatermarkStrategy.no_watermarks(), "events")
    events.key_by(lambda value: value).process(Touch()).print()
    job = replace(env.job_graph(), epoch_records=touched)
    engine = LocalEngine(job, lambda: 0)
    engine.storage = storage = FolderStorage(open_folder(os.path.join(directory, "files")))
    engine.coordinator = Coordinator(job, lambda: 0, storage)
    gc.set_threshold(200_000, 50, 1_000)  # as in a worker of Spark

    memory = PeakAnonymous()
    began = time.perf_counter()
    run_epochs(engine, 10)
    filled = time.perf_counter() - began
    run_epochs(engine, WARM_UP)
    began, began_cpu = time.perf_counter(), time.process_time()
    run_epochs(engine, epochs)
    elapsed, elapsed_cpu = time.perf_counter() - began, time.process_time() - began_cpu
    peak_mb = memory.stop()

    engine._workers[0].close()
    engine._workers[0] = TaskCache()
    gc.collect()
    began = time.perf_counter()
    run_epochs(engine, 1)
    new_worker = time.perf_counter() - began
    count = epochs * touched
    return Measured(keys / filled, count / elapsed, count / elapsed_cpu, peak_mb, new_worker)


def run_epochs(engine: LocalEngine, count: int) -> None:
    for _ in range(count):
        engine.run_epoch(engine.coordinator.plan())


def measure(side: str, keys: int, epochs: int) -> Measured:
    """Run a side in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.state_backends", "--side", side]
    command += ["--keys", str(keys), "--epochs", str(epochs)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def show(side: str, found: Measured) -> None:
    print(
        f"{side:>6}: {found.touched:>9,.0f} events/s ({found.touched_cpu:>9,.0f} per s of processor time), filled with "
        f"{found.filled:,.0f} keys/s, at most {found.peak_mb:,.0f} MB, a new worker is ready after "
        f"{found.new_worker_seconds:.2f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=5_000_000)
    parser.add_argument("--epochs", type=int, default=11, help="epochs that are measured; eleven have one compaction")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side is not None:
        directory = tempfile.mkdtemp(prefix="millrace-benchmark-")
        try:
            print(json.dumps(asdict(run_side(given.side, given.keys, given.epochs, directory))))
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        return
    print(f"{given.keys:,} keys x {BYTES} bytes, {given.keys // 10:,} touched in each of {given.epochs} epochs")
    found = {}
    for side in SIDES:
        found[side] = measure(side, given.keys, given.epochs)
        show(side, found[side])
    memory, disk = found["memory"], found["disk"]
    print(
        f"disk / memory: throughput {disk.touched / memory.touched:.2f} (of processor time "
        f"{disk.touched_cpu / memory.touched_cpu:.2f}; to reach: {LEAST_RATIO}), memory {disk.peak_mb:,.0f} / "
        f"{memory.peak_mb:,.0f} MB (to reach: {MOST_MB:,} MB) ({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})"
    )


if __name__ == "__main__":
    main()
