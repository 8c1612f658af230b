"""Driver and tasks of a job with three sinks, in a process that ``test_ledger`` kills: ``ledger_job DIRECTORY``.

What must outlive it lies in the directory: a checkpoint of all three, replaced at once. Prints ``recovering`` when it
begins, and ``finished`` if there is nothing left to do and all is right.
"""

from __future__ import annotations

import os
import pickle
import random
import sqlite3
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from millrace.common.serialization import Encoder
from millrace.common.sink import Sink
from millrace.connectors.dbapi import DbApiExactlyOnceSink, DbApiInsert
from millrace.connectors.file_system import BucketAssigner, FileSink, RollingPolicy
from millrace.testing import LedgerSink, read_ledger
from millrace.testing.connectors.sinks import Driver, Metadata, Point, by_chance

RECORDS = 4_000
PER_EPOCH = 20


def sinks(directory: Path) -> dict[str, Sink[Any]]:
    lines = FileSink.for_row_format(str(directory / "files"), Encoder.simple_string_encoder())
    lines.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    lines.with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=300))
    insert = DbApiInsert[int]("INSERT INTO numbers VALUES (?)")
    return {
        "ledger": LedgerSink(directory / "ledger"),
        "files": lines.build(),
        "database": DbApiExactlyOnceSink(
            partial(sqlite3.connect, directory / "database"), insert, str(directory / "log"), inline_bytes=100
        ),
    }


def written(directory: Path) -> dict[str, list[int]]:
    connection = sqlite3.connect(directory / "database")
    files = [path for path in (directory / "files").iterdir() if not path.name.startswith(".")]
    rows = connection.execute("SELECT number FROM numbers").fetchall()
    connection.close()
    return {
        "ledger": read_ledger(directory / "ledger").records,
        "files": [int(line) for path in files for line in path.read_text().split()],
        "database": [row[0] for row in rows],
    }


def left_over(directory: Path) -> list[Path]:
    waiting = ("files/.*", "ledger/*.prepared", "ledger/*.tmp", "log/*/*.log")
    return [path for pattern in waiting for path in directory.glob(pattern)]


def main(directory: Path) -> None:
    with sqlite3.connect(directory / "database") as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS numbers (number INTEGER)")
    connection.close()
    file = directory / "checkpoint"
    checkpoints: dict[str, bytes | None] = pickle.loads(file.read_bytes()) if file.exists() else {}
    print("recovering", flush=True)
    dice = random.Random()
    drivers = {
        name: Driver(
            sink.for_operator(name),
            list(range(RECORDS)),
            parallelism=2,
            route=by_chance(dice.randrange(1000)),
            checkpointed=checkpoints.get(name),
        )
        for name, sink in sinks(directory).items()
    }
    for driver in drivers.values():
        if driver.checkpointed is None:
            driver.recover()  # a first driver may have died before its first checkpoint
    if all(driver.position == RECORDS for driver in drivers.values()):
        for name, found in written(directory).items():
            assert sorted(found) == list(range(RECORDS)), name
        assert not left_over(directory)
        print("finished", flush=True)
        return
    while any(driver.position < RECORDS for driver in drivers.values()):
        for driver in drivers.values():
            if dice.random() < 0.2:
                driver.epoch(PER_EPOCH, fail=(dice.choice(list(Point)), 0))
                driver.recover()
            last = driver.position + PER_EPOCH >= RECORDS
            driver.epoch(PER_EPOCH, end=last)
        if dice.random() < 0.3 or last:
            checkpoint(drivers, file)
        time.sleep(0.002)
    os._exit(0)  # or Python would now write out what writers of killed tasks have in their buffers


def checkpoint(drivers: dict[str, Driver], file: Path) -> None:
    """One file for all, since they are sinks of one job."""
    for driver in drivers.values():
        driver.checkpointed = pickle.dumps(
            Metadata(driver.job_id, driver.epochs, driver.position, driver.states, driver.pending)
        )
        driver.to_commit = len(driver.pending)
    aside = file.with_suffix(".tmp")
    aside.write_bytes(pickle.dumps({name: driver.checkpointed for name, driver in drivers.items()}))
    os.replace(aside, file)
    for driver in drivers.values():
        driver.commit()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
