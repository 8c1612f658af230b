"""PostgreSQL: upserts, appends, a scan and look-ups, by Millrace, by Flink's JDBC connector, and written by hand.

    python -m benchmarks.jdbc [--flink-python /path/to/python] [--rows 1000000] [--keys 100000] [--scan 5000000]

One server, two subtasks, checkpoints every second. Flink's side needs an interpreter that has PyFlink; its jars come
from Maven Central. Each side runs on four times the rows, too; speeds are from the differences, so that none pays for
its start, each the median of as many rounds as asked for, in which the sides take turns. Wanted: upserts at twice
Flink's speed and 0.6 of a COPY with a merge of the last row per key in each batch; appends at three times, a scan at
twice, look-ups at five times Flink's speed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np
import psycopg

from millrace.testing.services import PostgreSQL
from millrace.testing.services.downloads import jars

PROGRAM = Path(__file__).with_name("jdbc_program.py")
FLINK = (
    "org.apache.flink:flink-connector-jdbc-core:4.0.0-2.0",
    "org.apache.flink:flink-connector-jdbc-postgres:4.0.0-2.0",
    "org.postgresql:postgresql:42.7.4",
)
BATCH = 50_000
GROWTH = 4


def prepare(server: PostgreSQL, scanned: int, keys: int, filled: bool) -> None:
    columns = "name TEXT, price DOUBLE PRECISION"
    with psycopg.connect(server.url, autocommit=True) as client:
        client.execute("DROP TABLE IF EXISTS keyed, plain, big")
        client.execute(f"CREATE TABLE keyed (id BIGINT PRIMARY KEY, {columns})")
        client.execute(f"CREATE TABLE plain (id BIGINT, {columns})")
        client.execute(f"CREATE TABLE big (id BIGINT PRIMARY KEY, {columns})")
        made = "SELECT g, 'name ' || g, g * 0.5 FROM generate_series(1, {}) AS g"
        client.execute(f"INSERT INTO big {made.format(scanned)}")
        if filled:
            client.execute(f"INSERT INTO keyed {made.format(keys)}")
        client.execute("VACUUM ANALYZE")
        client.execute("CHECKPOINT")


def by_hand(server: PostgreSQL, mode: str, rows: int, keys: int) -> float:
    """Seconds for COPY, with a merge for upserts."""
    random = np.random.default_rng(1)
    ids = random.integers(1, keys, rows, endpoint=True)
    lines = [f"{id},name {id},{id * 0.5}\n".encode() for id in ids.tolist()]
    began = time.perf_counter()
    with psycopg.connect(server.url) as client:
        client.execute("CREATE TEMP TABLE staged (LIKE plain, at SERIAL) ON COMMIT DELETE ROWS")
        for begin in range(0, rows, BATCH):
            into = "plain" if mode == "append" else "staged"
            with client.cursor().copy(f"COPY {into} (id, name, price) FROM STDIN (FORMAT csv)") as copy:
                copy.write(b"".join(lines[begin : begin + BATCH]))
            if mode == "upsert":
                client.execute(
                    "INSERT INTO keyed SELECT DISTINCT ON (id) id, name, price FROM staged ORDER BY id, at DESC "
                    "ON CONFLICT (id) DO UPDATE SET name = excluded.name, price = excluded.price"
                )
            client.commit()
    return time.perf_counter() - began


def program(python: list[str], mode: str, server: PostgreSQL, rows: int, keys: int, more: list[str]) -> float:
    command = [*python, str(PROGRAM), mode, server.jdbc_url, str(rows), str(keys), *more]
    path = os.pathsep.join([os.path.dirname(os.path.abspath(command[0])), os.environ["PATH"]])
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})
    found = re.search(r"took ([\d.]+) s", done.stdout)
    if done.returncode or found is None:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return float(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flink-python")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--scan", type=int, default=5_000_000)
    parser.add_argument("--lookups", type=int, default=200_000)
    parser.add_argument("--modes", default="upsert,append,scan,lookup")
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    sides = {"Millrace": ([sys.executable, "-m", "millrace", "run", "--pyflink"], [])}
    if given.flink_python:
        files = sorted(jars("flink-jdbc", *FLINK).glob("*.jar"))
        sides["Flink"] = ([given.flink_python], [";".join(each.as_uri() for each in files)])
    sizes = {"upsert": given.rows, "append": given.rows, "scan": given.scan, "lookup": given.lookups}
    with PostgreSQL({"max_wal_size": "4GB"}) as server:
        for mode in given.modes.split(","):
            size = sizes[mode]
            rates: dict[str, list[float]] = {}
            for _ in range(given.rounds):
                for name, (python, more) in sides.items():
                    seconds = []
                    for rows in (size, size * GROWTH):
                        prepare(server, rows if mode == "scan" else 1, given.keys, mode == "lookup")
                        seconds.append(program(python, mode, server, rows, given.keys, more))
                    rate = size * (GROWTH - 1) / (seconds[1] - seconds[0])
                    rates.setdefault(name, []).append(rate)
                    print(f"{mode}: {name} {rate:,.0f} rows/s ({seconds[0]:.1f} and {seconds[1]:.1f} s)", flush=True)
                if mode in ("upsert", "append"):
                    prepare(server, 1, given.keys, False)
                    rate = size * GROWTH / by_hand(server, mode, size * GROWTH, given.keys)
                    rates.setdefault("by hand", []).append(rate)
                    print(f"{mode}: by hand {rate:,.0f} rows/s", flush=True)
            middle = {name: median(each) for name, each in rates.items()}
            own = middle.pop("Millrace")
            ratios = (f"{own / rate:.2f} of {name}" for name, rate in middle.items())
            print(f"{mode}: {', '.join(ratios)}", flush=True)


if __name__ == "__main__":
    main()
