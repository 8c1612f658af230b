"""Captures a table that is changed all the time, kills processes of the job and the server, compares at the end.

    python tests/crash/cdc/rounds.py --rows 1000000 --rate 2000 --kills 30 --seed 7

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
import psycopg
from tests.crash.points import _owners, _workers

from millrace.testing.services import PostgreSQL
from millrace.testing.services.watcher import watch

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
_TABLE = "(id INT PRIMARY KEY, v TEXT, n NUMERIC(12, 2), changed TIMESTAMPTZ)"


class Writer(threading.Thread):
    """Changes the table at a rate; pauses while the server is away."""

    def __init__(self, url: str, rows: int, rate: float, seed: int) -> None:
        super().__init__(daemon=True)
        self._url, self._rows, self._rate = url, rows, rate
        self._dice = random.Random(seed)
        self.stop = threading.Event()
        self.changes = 0

    def run(self) -> None:
        while not self.stop.is_set():
            try:
                with psycopg.connect(self._url) as connection:
                    self._write(connection)
            except psycopg.Error:
                time.sleep(0.2)

    def _write(self, connection: Any) -> None:
        begin, done = time.monotonic(), 0
        while not self.stop.is_set():
            ids = self._dice.sample(range(1, int(self._rows * 1.1)), AT_ONCE)
            kind = self._dice.random()
            if kind < 0.6:
                statement = "UPDATE t SET v = v || '.', n = n + 1, changed = clock_timestamp() WHERE id = ANY(%s)"
            elif kind < 0.8:
                statement = (
                    "INSERT INTO t SELECT i, 'new', i, clock_timestamp() FROM unnest(%s::int[]) AS i "
                    "ON CONFLICT (id) DO UPDATE SET v = 'again', changed = excluded.changed"
                )
            elif kind < 0.95:
                statement = "DELETE FROM t WHERE id = ANY(%s)"
            else:
                statement = "UPDATE t SET id = -id, changed = clock_timestamp() WHERE id = ANY(%s)"
            try:
                done += connection.execute(statement, [ids]).rowcount
                connection.commit()
            except psycopg.errors.UniqueViolation:
                connection.rollback()
            self.changes += AT_ONCE
            ahead = done / self._rate - (time.monotonic() - begin)
            if ahead > 0:
                time.sleep(ahead)


class Crashes:
    """One job and its server."""

    def __init__(self, server: PostgreSQL, folder: Path, seed: int) -> None:
        self._server, self._dice = server, random.Random(seed)
        self._out, self._order = folder / "said", folder / "order"
        given = {"port": server.port, "user": server.user, "password": server.password, "order": str(self._order)}
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


def asked(url: str, query: str) -> Any:
    """The first row, None while the server is away."""
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            return connection.execute(query).fetchone()  # type: ignore[arg-type]
    except psycopg.Error:
        return None


def run(rows: int, rate: float, kills: int, seed: int, folder: Path) -> dict[str, Any]:
    dice = random.Random(seed)
    server = PostgreSQL()
    server.start()
    job: Crashes | None = None
    try:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute(f"CREATE TABLE t {_TABLE}")
            connection.execute(f"CREATE TABLE copied {_TABLE}")
            connection.execute(
                "INSERT INTO t SELECT i, 'v' || i, i / 100.0, clock_timestamp() FROM generate_series(1, %s) AS i",
                [rows],
            )
        writers = [Writer(server.url, rows, rate / 2, seed + number) for number in (1, 2)]
        for writer in writers:
            writer.start()
        began = time.monotonic()
        job = Crashes(server, folder, seed)
        # A server that dies while a job is submitted is an error of the submission.
        while not (asked(server.url, "SELECT EXISTS (SELECT FROM copied)") or (False,))[0]:
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
                kind = dice.choice(KINDS)
                job.kill(kind)
                done[kind] += 1
                left -= 1
                # Now and then the job has time enough to get somewhere.
                last, pause = time.monotonic(), dice.choice([3.0, 8.0, QUIET_SECONDS + 10])
                print(f"{kills - left} {kind}, {sum(writer.changes for writer in writers)} changes", flush=True)
            time.sleep(0.2)
            if time.monotonic() - last < QUIET_SECONDS:
                continue
            seen = asked(server.url, "SELECT extract(epoch FROM clock_timestamp() - max(changed)) FROM copied")
            count = asked(server.url, "SELECT count(*) FROM copied") if not full else None
            full = full or bool(count and count[0] > rows * 0.5)
            if full and seen and seen[0] is not None:
                lags.append(float(seen[0]))
        for writer in writers:
            writer.stop.set()
            writer.join()
        until = time.monotonic() + DEADLINE_SECONDS
        query = (
            "SELECT (SELECT count(*) FROM (SELECT * FROM t EXCEPT SELECT * FROM copied) AS missing), "
            "(SELECT count(*) FROM (SELECT * FROM copied EXCEPT SELECT * FROM t) AS more), (SELECT count(*) FROM t)"
        )
        while (found := asked(server.url, query)) is None or found[:2] != (0, 0):
            assert not job.ended, job.said()
            assert time.monotonic() < until, f"(missing, more, rows) = {found}\n{job.said()}"
            time.sleep(1)
        job.finish()
        return {
            "rows": rows, "rows at the end": found[2], "changes": sum(writer.changes for writer in writers),
            "kills": done, "seconds": round(time.monotonic() - began), "lag p50 s": _round(lags, 0.5),
            "lag p99 s": _round(lags, 0.99), "samples": len(lags), "seed": seed, "missing": found[0], "more": found[1],
        }  # fmt: skip
    finally:
        if job is not None:
            job.close()
        server.stop()


def _round(values: list[float], share: float) -> float | None:
    if not values:
        return None
    return round(statistics.quantiles(values, n=100)[round(share * 100) - 1] if len(values) > 1 else values[0], 2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=2_000, help="changes per second")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="millrace-crashes-") as folder:
        os.chmod(folder, 0o755)
        print(json.dumps(run(given.rows, given.rate, given.kills, given.seed, Path(folder))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
