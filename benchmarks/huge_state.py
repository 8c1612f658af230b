"""Very many keys on disk, over three executors of one machine: one load, then epochs that touch some of them.

Each key has 8 bytes, and so has its value. The load sets every key once; each later epoch reads and updates one in a
hundred. Told are the time, the most disk that state and local stores took together, and the most memory of all
processes of Spark (RssAnon: pages of mapped files can be dropped at any time).

    python -m benchmarks.huge_state --keys 1000000
    python -m benchmarks.huge_state --keys 100000000
    python -m benchmarks.huge_state --keys 1000000 --profile      # one task, in this process: what costs the time
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import shutil
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.state_backends import PeakAnonymous, run_epochs
from millrace.checkpoint.folder import open_folder
from millrace.checkpoint.task_storage import FolderStorage
from millrace.common.configuration import Configuration
from millrace.common.typeinfo import Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.datastream import EmbeddedRocksDBStateBackend, KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.connectors.datagen import DataGeneratorSource
from millrace.datastream.state import ValueStateDescriptor
from millrace.runtime.coordination.coordinator import Coordinator
from millrace.spark.jobs.listeners import EpochDone, PlainListener, set_listener
from millrace.testing.local import LocalEngine

EXECUTORS, SUBTASKS = 3, 12
EPOCHS, TOUCHED = 5, 100
"""epochs after the load, and which part of the keys (one in so many) each touches; one of the load sets as many"""
MOST_MINUTES, MOST_DISK_GB, MOST_MEMORY_GB = 90.0, 40.0, 6.0


class Count(KeyedProcessFunction):
    """Sets a key that is new, and counts the touches of one that is known."""

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> None:
        _, is_new = value
        self.state.update(1 << 40 if is_new else self.state.value() + 1)


def program(env: StreamExecutionEnvironment, keys: int, subtasks: int, local: str) -> int:
    """Each subtask of the source loads its part of the keys, then touches some of them. Gives the events of an epoch
    and subtask."""
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths(local)
    env.set_state_backend(backend)

    touched = max(keys // subtasks // TOUCHED, 1)
    own = touched * TOUCHED
    """keys of a subtask"""
    events_of_one = own + EPOCHS * touched

    def event(index: int) -> tuple[int, bool]:
        part, place = divmod(index, events_of_one)
        number = part * own + (place if place < own else place * 7_919 % own)
        return (number * 1_000_003 + (1 << 40), place < own)

    source = DataGeneratorSource(event, subtasks * events_of_one)
    events = env.from_source(source, WatermarkStrategy.no_watermarks(), "events")
    events.key_by(lambda event: event[0]).process(Count()).print()
    return touched


class Watch(threading.Thread):
    """The most memory of this process and all below it, and the most disk of some directories."""

    def __init__(self, *directories: str) -> None:
        super().__init__(daemon=True)
        self._directories = directories
        self._stopped = threading.Event()
        self.memory = self.disk = 0

    def run(self) -> None:
        while not self._stopped.wait(1.0):
            self.memory = max(self.memory, sum(map(_anonymous, _family(os.getpid()))))
            self.disk = max(self.disk, sum(map(_used, self._directories)))

    def stop(self) -> None:
        self._stopped.set()
        self.join()


def _family(process: int) -> list[int]:
    """A process and all that it has started."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [process]
    while waiting:
        found.append(waiting.pop())
        waiting += parents.get(found[-1], [])
    return found


def _anonymous(process: int) -> int:
    """Bytes of memory that are not pages of files."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


def _used(directory: str) -> int:
    """Bytes on disk, which are fewer than the sizes where files have holes."""
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.stat(os.path.join(folder, name)).st_blocks * 512
            except OSError:
                continue
    return total


class Epochs(PlainListener):
    def epoch(self, epoch: EpochDone) -> None:
        seconds, records = max(epoch.duration_ms, 1) / 1000, epoch.result.records
        print(f"  epoch of {records:,} events: {seconds:.1f} s, {records / seconds:,.0f}/s", flush=True)


def on_spark(keys: int, directory: str) -> None:
    configuration = Configuration()
    cores = max(1, (os.cpu_count() or 2) // EXECUTORS)
    configuration.set_string("millrace.master", f"local-cluster[{EXECUTORS},{cores},1024]")
    configuration.set_string("millrace.state.directory", os.path.join(directory, "files"))
    configuration.set_string("millrace.epoch.max-records", str(max(keys // SUBTASKS // TOUCHED, 1)))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(SUBTASKS)
    program(env, keys, SUBTASKS, os.path.join(directory, "local"))
    set_listener(Epochs())
    env.execute(f"state of {keys:,} keys")


def profiled(keys: int, directory: str) -> None:
    """One task after the other in this process, without Spark."""
    env = StreamExecutionEnvironment()
    env.set_parallelism(1)
    events_of_one = program(env, keys, 1, os.path.join(directory, "local"))
    job = replace(env.job_graph(), epoch_records=events_of_one)
    engine = LocalEngine(job, lambda: 0)
    engine.storage = storage = FolderStorage(  # type: ignore[assignment]
        open_folder(os.path.join(directory, "files")), job.key_groups
    )
    engine.coordinator = Coordinator(job, lambda: 0, storage)
    memory = PeakAnonymous()
    profile = cProfile.Profile()
    began, events = time.process_time(), keys + EPOCHS * (keys // TOUCHED)
    profile.enable()
    while not engine.coordinator.finished:
        run_epochs(engine, 1)
    profile.disable()
    print(f"{events / (time.process_time() - began):,.0f} events per s of processor time, under a profiler")
    pstats.Stats(profile).sort_stats("tottime").print_stats(18)
    print(f"memory: {memory.stop():,.0f} MB; disk: {_used(directory) / keys:.0f} bytes a key")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=100_000_000)
    parser.add_argument("--profile", action="store_true", help="one task in this process, with what costs its time")
    given = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="millrace-benchmark-", dir="/var/tmp")
    try:
        if given.profile:
            profiled(given.keys, directory)
            return
        watch = Watch(directory)
        watch.start()
        began = time.monotonic()
        on_spark(given.keys, directory)
        minutes = (time.monotonic() - began) / 60
        watch.stop()
        disk, memory = watch.disk / 1e9, watch.memory / 1e9
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print(
        f"{given.keys:,} keys: {minutes:.1f} minutes (to reach: {MOST_MINUTES:.0f}), {disk:.1f} GB of disk "
        f"({MOST_DISK_GB:.0f}), {memory:.1f} GB of memory ({MOST_MEMORY_GB:.0f}) ({os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f})"
    )
    sys.exit(minutes > MOST_MINUTES or disk > MOST_DISK_GB or memory > MOST_MEMORY_GB)


if __name__ == "__main__":
    main()
