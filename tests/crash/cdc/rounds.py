"""Captures a table that is changed all the time, kills processes of the job and the server, compares at the end.

    python tests/crash/cdc/rounds.py --database mariadb --rows 1000000 --rate 2000 --kills 30 --seed 7

The last line has what was done and how far the copy was behind while nothing had been killed for a while.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

import psutil
from tests.crash.cdc.databases import DATABASES, Copied
from tests.crash.points import _owners, _workers

from millrace.testing.services.server import watch

ROOT = Path(__file__).parents[3]
JOB = Path(__file__).with_name("job.py")
DEADLINE_SECONDS = 300.0
QUIET_SECONDS = 15.0
"""after a kill, from which on the lag counts"""
AT_ONCE = 20
"""changes of a transaction"""
KINDS = ("worker", "owner", "driver", "server")
CONFIGURATION = {
    "execution.checkpointing.interval": "1 s",
    "millrace.epoch.interval-ms": "100",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000000",
    "restart-strategy.fixed-delay.delay": "100 ms",
}


class Writer(threading.Thread):
    """Changes the table at a rate; pauses while the server is away."""

    def __init__(self, database: Copied, rows: int, rate: float, seed: int) -> None:
        super().__init__(daemon=True)
        self._database, self._rows, self._rate = database, rows, rate
        self._dice = random.Random(seed)
        self.stop = threading.Event()
        self.changes = 0

    def run(self) -> None:
        while not self.stop.is_set():
            try:
                with self._database.connected() as connection:
                    self._write(connection)
            except self._database.errors:
                time.sleep(0.2)

    def _write(self, connection: Any) -> None:
        begin, done = time.monotonic(), 0
        cursor = connection.cursor()
        while not self.stop.is_set():
            ids = self._dice.sample(range(1, int(self._rows * 1.1)), AT_ONCE)
            try:
                cursor.execute(self._database.change(self._dice.random(), ids))
                done += cursor.rowcount
                connection.commit()
            except self._database.taken:
                connection.rollback()
            self.changes += AT_ONCE
            ahead = done / self._rate - (time.monotonic() - begin)
            if ahead > 0:
                time.sleep(ahead)


class Crashes:
    """One job and its server."""

    def __init__(self, database: Copied, folder: Path, seed: int) -> None:
        self._server, self._dice = database.server, random.Random(seed)
        self._out, self._order = folder / "said", folder / "order"
        given = {"captured": database.captured(), "copied": database.copy(), "order": str(self._order)}
        configuration = {**CONFIGURATION, "execution.checkpointing.dir": str(folder / "checkpoints")}
        command = [
            *(sys.executable, "-m", "millrace", "run", "-p", "2"),
            *(part for key, value in configuration.items() for part in ("-D", f"{key}={value}")),
            *(str(JOB), json.dumps(given)),
        ]
        around = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
        with self._out.open("ab") as out:
            self._run = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=around, start_new_session=True
            )
        watch(self._run.pid)

    def kill(self, kind: str) -> None:
        if kind == "server":
            self._server.crash()
            time.sleep(self._dice.uniform(0.2, 3))
            self._server.start_again()
        elif kind == "driver":
            self._driver().kill()
        else:
            self._one_of(_workers if kind == "worker" else _owners, kind).kill()

    def _one_of(self, find: Callable[[psutil.Process], list[psutil.Process]], kind: str) -> psutil.Process:
        until = time.monotonic() + DEADLINE_SECONDS
        while True:
            with suppress(psutil.NoSuchProcess):  # they come and go while we look
                found = find(self._driver())
                if found:
                    return self._dice.choice(found)
            assert time.monotonic() < until, f"no {kind}\n{self.said()}"
            time.sleep(0.1)

    def _driver(self) -> psutil.Process:
        until = time.monotonic() + DEADLINE_SECONDS
        while True:
            with suppress(psutil.NoSuchProcess):
                for each in psutil.Process(self._run.pid).children():
                    if any("java" in child.name() for child in each.children()):
                        return each
            assert time.monotonic() < until, f"no driver\n{self.said()}"
            time.sleep(0.1)

    def finish(self) -> None:
        self._order.touch()
        assert self._run.wait(DEADLINE_SECONDS) == 0, self.said()

    def close(self) -> None:
        if self._run.poll() is None:
            os.killpg(self._run.pid, signal.SIGKILL)
            self._run.wait()

    def said(self) -> str:
        return self._out.read_text()[-6000:]

    @property
    def ended(self) -> bool:
        return self._run.poll() is not None


def run(rows: int, rate: float, kills: int, seed: int, folder: Path, kind: str = "postgres") -> dict[str, Any]:
    """:param kind: of ``DATABASES``."""
    dice = random.Random(seed)
    database = DATABASES[kind]()
    database.server.start()
    job: Crashes | None = None
    try:
        database.fill(rows)
        writers = [Writer(database, rows, rate / 2, seed + number) for number in (1, 2)]
        for writer in writers:
            writer.start()
        began = time.monotonic()
        job = Crashes(database, folder, seed)
        # A server that dies while a job is submitted is an error of the submission.
        while not (database.asked("SELECT EXISTS (SELECT 1 FROM copied)") or (False,))[0]:
            assert not job.ended, job.said()
            assert time.monotonic() < began + DEADLINE_SECONDS, job.said()
            time.sleep(0.1)
        lags, done = [], dict.fromkeys(KINDS, 0)
        full, last = False, time.monotonic()
        left = kills
        pause = dice.uniform(3, 12)
        while left or time.monotonic() - last < QUIET_SECONDS + 10:
            assert not job.ended, job.said()
            if left and time.monotonic() - last > pause:
                victim = dice.choice(KINDS)
                job.kill(victim)
                done[victim] += 1
                left -= 1
                # Now and then the job has time enough to get somewhere.
                last, pause = time.monotonic(), dice.choice([3.0, 8.0, QUIET_SECONDS + 10])
                print(f"{kills - left} {victim}, {sum(writer.changes for writer in writers)} changes", flush=True)
            time.sleep(0.2)
            if time.monotonic() - last < QUIET_SECONDS:
                continue
            seen = database.asked(database.lag)
            count = database.asked("SELECT count(*) FROM copied") if not full else None
            full = full or bool(count and count[0] > rows * 0.5)
            if full and seen and seen[0] is not None:
                lags.append(float(seen[0]))
        for writer in writers:
            writer.stop.set()
            writer.join()
        until = time.monotonic() + DEADLINE_SECONDS
        while (found := database.asked(database.differences)) is None or found[:2] != (0, 0):
            assert not job.ended, job.said()
            assert time.monotonic() < until, f"(missing, more, rows) = {found}\n{job.said()}"
            time.sleep(1)
        job.finish()
        return {
            "database": kind, "rows": rows, "rows at the end": found[2],
            "changes": sum(writer.changes for writer in writers), "kills": done,
            "seconds": round(time.monotonic() - began), "lag p50 s": _round(lags, 0.5),
            "lag p99 s": _round(lags, 0.99), "samples": len(lags), "seed": seed, "missing": found[0], "more": found[1],
        }  # fmt: skip
    finally:
        if job is not None:
            job.close()
        database.server.stop()


def _round(values: list[float], share: float) -> float | None:
    if not values:
        return None
    return round(statistics.quantiles(values, n=100)[round(share * 100) - 1] if len(values) > 1 else values[0], 2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=list(DATABASES), default="postgres")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=2_000, help="changes per second")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="millrace-crashes-") as folder:
        os.chmod(folder, 0o755)
        print(json.dumps(run(given.rows, given.rate, given.kills, given.seed, Path(folder), given.database)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
