"""What Millrace relies on in PySpark's worker and daemon, as a command: it prints what it has seen as JSON.

A job with state runs in owners, while somebody else's pandas function runs in the same session, and a worker is killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import pandas_udf

from millrace.common import Configuration, Types
from millrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor
from millrace.spark.sessions.session import local_session
from millrace.spark.workers.frames import Call

COUNT, KEYS = 200, 10


class Counting(KeyedProcessFunction):
    """(key, how often it came so far, process, whether that has the worker's connection); waits at an element for a
    file, once."""

    def __init__(self, folder: str, waits_at: int) -> None:
        self.folder = Path(folder)
        self.waits_at = waits_at

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[Any, ...]]:
        if value == self.waits_at and not (self.folder / "go").exists():
            (self.folder / "waits").touch()
            wait_for((self.folder / "go").exists)
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value(), os.getpid(), handed_over()


def handed_over() -> bool:
    """In an owner: whether it works on the connection of Spark's worker to the JVM."""
    frame = sys._getframe()
    while frame.f_back is not None:
        call = frame.f_locals.get("call")
        if isinstance(call, Call):
            return call.wrapped
        frame = frame.f_back
    return False


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until, "it does not come"
        time.sleep(0.02)


def counts(session: SparkSession, folder: Path, waits_at: int = -1) -> list[tuple[Any, ...]]:
    """What the job collects: in ten epochs and two stages."""
    settings = {
        "millrace.epoch.max-records": str(COUNT // 10),
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "3",
        "restart-strategy.fixed-delay.delay": "10 ms",
    }
    configuration = Configuration()
    configuration.set_string("millrace.epoch.execution", "spark-jobs")
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration, session).set_parallelism(2)
    numbers = env.from_sequence(0, COUNT - 1).set_parallelism(1)
    found = numbers.key_by(lambda value: value % KEYS).process(Counting(str(folder), waits_at))
    return list(found.execute_and_collect())


def are_right(found: list[tuple[Any, ...]]) -> bool:
    """Whether every element was counted once, in order."""
    return all(
        [count for found_key, count, *_ in found if found_key == key] == list(range(1, COUNT // KEYS + 1))
        for key in range(KEYS)
    )


def workers(session: SparkSession) -> set[int]:
    """The processes in which ordinary Python functions run now: two at a time."""

    def processes(batches: Any) -> Any:
        for _ in batches:
            time.sleep(1.0)  # so that both are needed
            yield pd.DataFrame({"process": [os.getpid()]})

    frame: DataFrame = session.range(0, 2, 1, 2).mapInPandas(processes, "process long")
    return {row.process for row in frame.collect()}


def beside(session: SparkSession) -> tuple[bool, set[int]]:
    """Somebody else's pandas function: whether it is right, and its processes."""

    @pandas_udf("long")  # type: ignore[call-overload, untyped-decorator, unused-ignore]
    def doubled(column: pd.Series) -> pd.Series:
        return column * 2

    @pandas_udf("long")  # type: ignore[call-overload, untyped-decorator, unused-ignore]
    def process(column: pd.Series) -> pd.Series:
        return column * 0 + os.getpid()

    rows = session.range(0, 1_000, 1, 2).select(doubled("id").alias("twice"), process("id").alias("process")).collect()
    return sorted(row.twice for row in rows) == list(range(0, 2_000, 2)), {row.process for row in rows}


def main() -> dict[str, Any]:
    session = local_session(2)
    folder = Path(tempfile.mkdtemp())
    before = workers(session)
    quiet = counts(session, folder)
    after = workers(session)

    others: list[tuple[bool, set[int]]] = []
    over = threading.Event()

    def run_beside() -> None:
        while not over.is_set():
            others.append(beside(session))

    thread = threading.Thread(target=run_beside)
    thread.start()
    mixed = counts(session, folder)
    over.set()
    thread.join()

    known = workers(session)

    def kill() -> None:
        wait_for((folder / "waits").exists)
        for process in known:
            os.kill(process, signal.SIGKILL)
        (folder / "go").touch()

    killer = threading.Thread(target=kill)
    killer.start()
    killed = counts(session, folder, waits_at=COUNT // 2)
    killer.join()
    owners = {process for *_, process, _ in (*quiet, *mixed, *killed)}
    return {
        "version": pyspark.__version__,
        "right": [are_right(found) for found in (quiet, mixed, killed)],
        "handed_over": sorted({handed for *_, handed in (*quiet, *mixed, *killed)}),
        "owners": [len({process for *_, process, _ in found}) for found in (quiet, mixed, killed)],
        "workers_are_used_again": after == before,
        "others_are_right": [right for right, _ in others],
        "others_meet_owners": bool(owners & set().union(*(processes for _, processes in others))),
        "new_workers_after_the_kill": not workers(session) & known,
    }


if __name__ == "__main__":
    print(json.dumps(main()))
