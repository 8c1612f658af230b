"""Tables on three executors of which one is killed: what cannot be read is set aside and counted once, what waits for a
slow function is neither lost nor doubled, of rows of one key one stays, windows that change have their last value."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.running import Hit, Run
from tests.cluster.test_cluster import SEED
from tests.cluster.victims import Victim, kill

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

EXECUTORS = "local-cluster[3,1,700]"
HITS = [Hit(Victim.EXECUTOR, kill, 1.0), Hit(Victim.OWNER, kill, 4.0)]
ALL = [Hit(Victim.EXECUTOR, kill, 0.0), *(Hit(Victim.EXECUTOR, kill, 0.2) for _ in range(2))]


class Statements(Run):
    """A job of statements, in which ``{out}`` and ``{inputs}`` are folders."""

    job = Path(__file__).with_name("job.py")
    executors = EXECUTORS

    def __init__(self, directory: Path, *statements: str, **properties: str) -> None:
        super().__init__(directory, self.executors, parallelism=3, **properties)
        self.out, self.inputs = directory / "out", directory / "in"
        self.inputs.mkdir()
        self._statements = statements

    def arguments(self) -> dict[str, Any]:
        places = {"{out}": str(self.out), "{in}": str(self.inputs)}
        given = list(self._statements)
        for name, place in places.items():
            given = [each.replace(name, place) for each in given]
        return {"statements": given}

    def check(self) -> None:
        """Left to the tests."""

    def survives(self, hits: Sequence[Hit] = HITS) -> None:
        """Run to the end, with these hits."""
        self.hit(hits, random.Random(SEED), timeout=700)


FILES = "WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = '{}'{})"
IN = "CREATE TABLE t (id BIGINT) " + FILES.format("{in}", "json", ", 'scan.dead-letter.path' = '{out}/letters'")
OUT = "CREATE TABLE s (id BIGINT) " + FILES.format("{out}/rows", "csv", "")


def test_what_cannot_be_read_is_set_aside_and_counted_once(tmp_path: Path) -> None:
    run = Statements(tmp_path, IN, OUT, "INSERT INTO s SELECT SLOW(id, 15) FROM t")
    lines = [f'{{"id": {at}}}' if at % 7 else f'{{"id": "no number {at}"}}' for at in range(1_200)]
    for part in range(3):
        (run.inputs / f"part-{part}").write_text("\n".join(lines[part::3]) + "\n")
    run.survives(ALL)  # so the first epoch is lost, with all letters that were written in it
    found = run.lines(run.out / "rows", 1)
    assert found == Counter((at,) for at in range(1_200) if at % 7)
    letters = [json.loads(line) for file in (run.out / "letters").iterdir() for line in file.read_text().splitlines()]
    assert {each["message"] for each in letters} == set(lines[::7]), "those of lost epochs are there twice"
    (said,) = set(re.findall(r"is FINISHED(.*)", run.said()))
    assert f"{len(lines[::7])} " in said, said


EVENTS = (
    "CREATE TABLE t (k BIGINT, n BIGINT, `at` BIGINT, ts AS TO_TIMESTAMP_LTZ(`at`, 3), "
    "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) " + FILES.format("{in}", "csv", ", 'scan.parallelism' = '1'")
)
WINDOWS = "CREATE TABLE s (k BIGINT, began BIGINT, c BIGINT, n BIGINT) " + FILES.format("{out}/rows", "csv", "")
FIRST = (
    "CREATE TABLE f (k BIGINT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'jdbc', "
    "'url' = 'jdbc:sqlite:{in}.db', 'table-name' = 'f', 'sink.parallelism' = '1')"
)
SLOWLY = "CREATE VIEW slowly AS SELECT k, SLOW(n, 4) AS n, ts FROM t"
INSERTS = (
    "EXECUTE STATEMENT SET BEGIN "
    "INSERT INTO s SELECT k, UNIX_TIMESTAMP(CAST(window_start AS STRING)), COUNT(*), SUM(n) FROM "
    "TABLE(TUMBLE(TABLE slowly, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end; "
    "INSERT INTO f SELECT k, n FROM t ON CONFLICT DO NOTHING; END"
)
KEYS, SPAN = 120, 10_000


def events() -> list[tuple[int, int, int]]:
    """(key, number, time): in each window all keys come, and half of them once more."""
    found = []
    for window in range(12):
        keys = [*range(KEYS), *range(0, KEYS, 2)]
        found += [(k, window * 1_000 + n, window * SPAN + n * SPAN // len(keys)) for n, k in enumerate(keys)]
    return found


def test_what_waits_is_neither_lost_nor_doubled_and_of_a_key_one_row_stays(tmp_path: Path) -> None:
    zone = "SET 'table.local-time-zone' = 'UTC'"
    run = Statements(tmp_path, zone, EVENTS, WINDOWS, FIRST, SLOWLY, INSERTS)
    with sqlite3.connect(f"{run.inputs}.db") as database:
        database.execute("CREATE TABLE f (k INTEGER PRIMARY KEY, n INTEGER)")
    (run.inputs / "events").write_text("".join("{},{},{}\n".format(*event) for event in events()))
    run.survives()
    sums: Counter[tuple[int, int]] = Counter()
    counts: Counter[tuple[int, int]] = Counter()
    given: dict[int, set[int]] = {}
    for k, n, at in events():
        counts[k, at // SPAN] += 1
        sums[k, at // SPAN] += n
        given.setdefault(k, set()).add(n)
    expected = Counter((k, window * SPAN // 1000, count, sums[k, window]) for (k, window), count in counts.items())
    assert run.lines(run.out / "rows", 4) == expected
    rows = sqlite3.connect(f"{run.inputs}.db").execute("SELECT k, n FROM f").fetchall()
    assert sorted(k for k, _ in rows) == list(range(KEYS))
    assert all(n in given[k] for k, n in rows)


EMITTED = [
    f"SET '{key}' = '{value}'"
    for key, value in {
        "table.local-time-zone": "UTC",
        "table.exec.emit.early-fire.enabled": "true",
        "table.exec.emit.early-fire.delay": "1 s",
        "table.exec.emit.late-fire.enabled": "true",
        "table.exec.emit.late-fire.delay": "0 ms",
        "table.exec.emit.allow-lateness": "1 h",
    }.items()
]
"""Windows give rows before their end, and change them for rows that come after it."""
KEYED = (
    "CREATE TABLE {name} ({columns}, PRIMARY KEY ({key}) NOT ENFORCED) WITH ('connector' = 'jdbc', "
    "'url' = 'jdbc:sqlite:{{in}}.db', 'table-name' = '{name}', 'sink.parallelism' = '1')"
)
CHANGING = (
    "EXECUTE STATEMENT SET BEGIN "
    "INSERT INTO w SELECT k, UNIX_TIMESTAMP(CAST(TUMBLE_START(ts, INTERVAL '10' SECOND) AS STRING)), COUNT(*), SUM(n) "
    "FROM slowly GROUP BY k, TUMBLE(ts, INTERVAL '10' SECOND); "
    "INSERT INTO c SELECT m, n FROM (SELECT k, MOD(k, 40) AS m, MAX(n) AS n FROM slowly GROUP BY k) "
    "ON CONFLICT DO NOTHING; END"
)


class Changing(Statements):
    """Writes into a database."""

    executors = "local-cluster[3,2,700]"  # flow leaves a core of each to others

    @property
    def database(self) -> str:
        return f"{self.inputs}.db"

    def has_begun(self) -> bool:
        with closing(sqlite3.connect(self.database, timeout=60)) as database:
            return bool(database.execute("SELECT COUNT(*) FROM w").fetchone()[0])


@pytest.mark.parametrize("execution", ["spark-jobs", "flow"])
def test_windows_that_change_and_conflicts_of_rows_that_change(execution: str, tmp_path: Path) -> None:
    """A third of the rows come three windows late. Each key of ``c`` is that of three groups, of which one stays."""
    given = events()
    rows = sorted(given, key=lambda row: (row[2] + 3 * SPAN * (row[1] % 3 == 0), row[1]))
    assert rows != given
    tables = [
        KEYED.format(name="w", columns="k BIGINT, began BIGINT, c BIGINT, n BIGINT", key="k, began"),
        KEYED.format(name="c", columns="m BIGINT, n BIGINT", key="m"),
    ]
    run = Changing(tmp_path, *EMITTED, EVENTS, *tables, SLOWLY, CHANGING, **{"millrace.epoch.execution": execution})
    with closing(sqlite3.connect(run.database)) as database:
        database.execute("CREATE TABLE w (k INTEGER, began INTEGER, c INTEGER, n INTEGER, PRIMARY KEY (k, began))")
        database.execute("CREATE TABLE c (m INTEGER PRIMARY KEY, n INTEGER)")
    (run.inputs / "events").write_text("".join("{},{},{}\n".format(*event) for event in rows))
    run.survives()
    windows: dict[tuple[int, int], list[int]] = {}
    largest: dict[int, int] = {}
    for k, n, at in given:
        windows.setdefault((k, at // SPAN * SPAN // 1000), []).append(n)
        largest[k] = max(n, largest.get(k, n))
    with closing(sqlite3.connect(run.database)) as database:
        found = {(k, began): (c, n) for k, began, c, n in database.execute("SELECT k, began, c, n FROM w")}
        stayed = dict(database.execute("SELECT m, n FROM c").fetchall())
    assert found == {window: (len(numbers), sum(numbers)) for window, numbers in windows.items()}
    assert sorted(stayed) == list(range(40))
    assert all(n in {largest[k] for k in range(m, KEYS, 40)} for m, n in stayed.items())
