"""What fault tolerance costs: checkpoints against none, a savepoint and its restore, recovery after workers are killed.

    python -m benchmarks.checkpoints

1. Throughput with a checkpoint after every epoch, and without any, in turns: 100,000 keys of 1,000,000 are touched in
   every epoch.
2. A savepoint of 1,000,000 keys, and a job that begins with it: until its first epoch.
3. The workers of a running job are killed: until the next epoch is complete.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import statistics
import tempfile
import time
from typing import Any

import psutil

from millrace.common import Configuration, Types, WatermarkStrategy
from millrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from millrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from millrace.datastream.state import ValueStateDescriptor
from millrace.spark.jobs.listeners import EpochDone, PlainListener, Restarting, Restored, set_listener
from millrace.spark.sessions.session import local_session

WARM_UP = 2


class Count(KeyedProcessFunction):
    """One update an event."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)


class Watch(PlainListener):
    """Remembers when what happened."""

    def __init__(self) -> None:
        self.epochs: list[EpochDone] = []
        self.ends: list[float] = []
        self.restored_at: float | None = None
        self.restarts: list[Restarting] = []

    def epoch(self, epoch: EpochDone) -> None:
        self.epochs.append(epoch)
        self.ends.append(time.monotonic())

    def restored(self, restored: Restored) -> None:
        self.restored_at = time.monotonic()

    def restarting(self, restarting: Restarting) -> None:
        self.restarts.append(restarting)


class Program:
    """Counts by key; fills ``keys`` keys first, then touches ``touched`` of them in every epoch."""

    def __init__(self, session: Any, directory: str, keys: int, touched: int) -> None:
        self.session = session
        self.directory = directory
        self.keys = keys
        self.touched = touched

    def run(self, name: str, epochs: int, checkpoints: bool, **options: str) -> tuple[Any, Watch]:
        watch = Watch()
        set_listener(watch)
        configuration = Configuration()
        for key, value in {"execution.checkpointing.dir": f"{self.directory}/checkpoints", **options}.items():
            configuration.set_string(key.replace("__", ".").replace("_", "-"), value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration, self.session)
        env.set_parallelism(2)
        if checkpoints:
            env.enable_checkpointing(10)  # less than an epoch takes: every epoch is a checkpoint
        keys, touched = self.keys, self.touched
        filling = keys // touched

        def spread(index: int) -> Any:
            if index < filling:
                return range(index * touched, (index + 1) * touched)
            return range(index * 7919 % keys, index * 7919 % keys + touched)

        one_an_epoch = RateLimiterStrategy.per_checkpoint(1)
        source = DataGeneratorSource(lambda index: index, filling + epochs, one_an_epoch)
        indexes = env.from_source(source, WatermarkStrategy.no_watermarks(), "indexes").set_parallelism(1)
        indexes.uid("indexes").flat_map(spread).key_by(lambda key: key).process(Count()).uid("count").print()
        return env.execute_async(name), watch

    def throughput(self, epochs: int, checkpoints: bool) -> float:
        """Median events/s of the epochs that touch a share of the keys."""
        client, watch = self.run("throughput", epochs, checkpoints)
        client.get_job_execution_result().result()
        last = [epoch for epoch in watch.epochs if epoch.result.records][-epochs + WARM_UP :]
        return self.touched / statistics.median(epoch.duration_ms / 1000 for epoch in last)


def compare_throughput(program: Program, rounds: int, epochs: int) -> None:
    found: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(rounds):
        for checkpoints in (False, True):
            found[checkpoints].append(program.throughput(epochs, checkpoints))
    with_, without = statistics.median(found[True]), statistics.median(found[False])
    print(
        f"throughput: {without:,.0f} events/s without checkpoints, {with_:,.0f} with one after every epoch: "
        f"ratio {with_ / without:.2f}",
        flush=True,
    )


def savepoint_and_restore(program: Program) -> None:
    client, watch = program.run("saved", 5, False)
    while len(watch.epochs) < program.keys // program.touched:
        time.sleep(0.01)
    began = time.monotonic()
    path = client.trigger_savepoint(f"{program.directory}/savepoints").result()
    saved = time.monotonic() - began
    client.cancel().result()
    size = sum(os.path.getsize(os.path.join(folder, f)) for folder, _, files in os.walk(path) for f in files)
    options = {"execution__state_recovery__path": path}
    began = time.monotonic()
    client, watch = program.run("restored", 5, False, **options)
    while not watch.epochs:
        time.sleep(0.01)
    assert watch.restored_at is not None
    print(
        f"savepoint of {program.keys:,} keys: {saved:.2f} s with its epoch, {size / 1e6:.1f} MB; restore "
        f"{watch.restored_at - began:.2f} s, first epoch after {watch.ends[0] - began:.2f} s",
        flush=True,
    )
    client.cancel().result()


def recovery(program: Program) -> None:
    options = {
        "restart_strategy__type": "fixed-delay",
        "restart_strategy__fixed_delay__attempts": "5",
        "restart_strategy__fixed_delay__delay": "0 s",
    }
    client, watch = program.run("recovering", 200, True, **options)
    while len(watch.epochs) < program.keys // program.touched + 5:
        time.sleep(0.01)
    time.sleep(0.1)  # into the middle of an epoch
    for worker in workers():
        worker.kill()  # all of them: one alone may be idle at this moment
    killed = time.monotonic()
    while watch.ends[-1] < killed:
        if time.monotonic() - killed > 60:
            raise TimeoutError("the job did not recover from killed workers within a minute")
        time.sleep(0.001)
    print(
        f"recovery: {watch.ends[-1] - killed:.2f} s from the kill of the workers to the next epoch, "
        f"{len(watch.restarts)} restarts",
        flush=True,
    )
    client.cancel().result()


def workers() -> list[psutil.Process]:
    """Spark's Python workers: the children of their daemon."""
    children = psutil.Process().children(recursive=True)
    found = []
    for process in children:
        with contextlib.suppress(psutil.Error):
            daemon = process.parent()
            if daemon is not None and daemon.cmdline()[1:3] == ["-m", "millrace.spark.workers.daemon"]:
                found.append(process)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--touched", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--only", choices=["throughput", "savepoint", "recovery"])
    given = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="millrace-benchmark-")
    program = Program(local_session(2), directory, given.keys, given.touched)
    try:
        if given.only in (None, "throughput"):
            compare_throughput(program, given.rounds, given.epochs)
        if given.only in (None, "savepoint"):
            savepoint_and_restore(program)
        if given.only in (None, "recovery"):
            recovery(program)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    print(f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")


if __name__ == "__main__":
    main()
