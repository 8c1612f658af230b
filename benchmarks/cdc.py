"""PostgreSQL: a snapshot of a captured table, by Millrace and by Flink's CDC connector.

    python -m benchmarks.cdc [--flink-python /path/to/python] [--rows 1000000] [--rounds 3]

Two subtasks, chunks of 8,096 rows, checkpoints every second. A query counts the rows and adds up two columns;
each side's sums have to be those of the table. Flink's side needs an interpreter that has PyFlink 1.20: the newest
connector, 3.5.0, wants a class that Flink 2 no longer has (SourceFunction). Each side runs on four times the rows, too:
speeds are from the differences, so that none pays for its start. The median of the rounds counts, in which the sides
take turns.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

import psycopg

from millrace.testing.services import PostgreSQL
from millrace.testing.services.downloads import jars

PROGRAM = Path(__file__).with_name("cdc_program.py")
FLINK = "org.apache.flink:flink-sql-connector-postgres-cdc:3.5.0"
GROWTH = 4
SECONDS = 900


def prepare(server: PostgreSQL, rows: int) -> list[str]:
    """Make the table; what the query has to answer."""
    with psycopg.connect(server.url, autocommit=True) as client:
        client.execute("DROP TABLE IF EXISTS t")
        client.execute("CREATE TABLE t (id INT PRIMARY KEY, v TEXT, n NUMERIC(12, 2), changed TIMESTAMPTZ)")
        client.execute("ALTER TABLE t REPLICA IDENTITY FULL")
        client.execute(
            "INSERT INTO t SELECT i, 'v' || i, i / 100.0, clock_timestamp() FROM generate_series(1, %s) AS i", [rows]
        )
        client.execute("VACUUM ANALYZE t")
        client.execute("CHECKPOINT")
        found = client.execute("SELECT count(changed), sum(n), sum(length(v)) FROM t").fetchone()
        assert found is not None
        return list(map(str, found))


def program(python: list[str], server: PostgreSQL, wanted: list[str], more: list[str]) -> float:
    """Seconds that the query took. :raises RuntimeError: it failed, or its last answer is another one."""
    command = [*python, str(PROGRAM), str(server.port), server.database, *more]
    path = os.pathsep.join([os.path.dirname(os.path.abspath(command[0])), os.environ["PATH"]])
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path}, timeout=SECONDS
    )
    took = re.search(r"took ([\d.]+) s", done.stdout)
    answers = re.findall(r"\+[IU]\[(\d+), ([\d.]+), (\d+)\]", done.stdout)
    if done.returncode or took is None or list(answers[-1:]) != [tuple(wanted)]:
        raise RuntimeError(f"wanted {wanted}, had {answers[-1:]}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return float(took[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flink-python")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    sides = {"Millrace": ([sys.executable, "-m", "millrace", "run", "--pyflink"], list[str]())}
    if given.flink_python:
        files = sorted(jars("flink-cdc", FLINK).glob("*.jar"))
        sides["Flink"] = ([given.flink_python], [";".join(each.as_uri() for each in files)])
    rates: dict[str, list[float]] = {}
    with PostgreSQL({"max_wal_size": "4GB"}) as server:
        for _ in range(given.rounds):
            for name, (python, more) in sides.items():
                seconds = []
                for rows in (given.rows, given.rows * GROWTH):
                    seconds.append(program(python, server, prepare(server, rows), more))
                rate = given.rows * (GROWTH - 1) / (seconds[1] - seconds[0])
                rates.setdefault(name, []).append(rate)
                print(f"{name} {rate:,.0f} rows/s ({seconds[0]:.1f} and {seconds[1]:.1f} s)", flush=True)
    middle = {name: median(each) for name, each in rates.items()}
    own = middle.pop("Millrace")
    print(", ".join(f"{own / rate:.2f} of {name}" for name, rate in middle.items()), flush=True)


if __name__ == "__main__":
    main()
