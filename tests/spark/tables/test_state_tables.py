"""``millrace state`` on the savepoint of a join on Spark: its sides are tables, and DuckDB reads what is exported."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner, Result
from tests.spark.conftest import MakeEnvironment

from millrace.cli.main import main
from millrace.connectors.tables.values_table import clear_values, results_of
from millrace.table import StreamTableEnvironment

LAST = 1_000_000
TABLE = (
    "CREATE TABLE {name} (id BIGINT, twice AS CAST(2 * id AS DECIMAL(12, 2)), word AS CONCAT('w', CAST(id AS STRING))) "
    "WITH ('connector' = 'datagen', 'rows-per-second' = '200', "
    f"'fields.id.kind' = 'sequence', 'fields.id.start' = '1', 'fields.id.end' = '{LAST}')"
)
JOIN = "INSERT INTO joined SELECT a.id, a.twice, b.word FROM a JOIN b ON a.id = b.id"


def state(*args: object) -> Result:
    result = CliRunner().invoke(main, ["state", *map(str, args)])
    assert result.exit_code == 0, result.output
    return result


def saved_join(environment: MakeEnvironment, backend: str, directory: Path) -> tuple[str, set[int]]:
    """(a savepoint of a running join, the ids that it has given)."""
    clear_values()
    tables = StreamTableEnvironment.create(environment(2, **{"state.backend.type": backend}))
    for name in ("a", "b"):
        tables.execute_sql(TABLE.format(name=name))
    columns = "id BIGINT, twice DECIMAL(12, 2), word STRING"
    tables.execute_sql(f"CREATE TABLE joined ({columns}) WITH ('connector' = 'values')")
    client = tables.execute_sql(JOIN).get_job_client()
    assert client is not None
    name = "default_catalog.default_database.joined"
    end = time.monotonic() + 240
    while len(results_of(name)) <= 60:
        assert time.monotonic() < end, "the join has given no rows"
        time.sleep(0.2)
    path = client.stop_with_savepoint(False, str(directory)).result()
    client.get_job_execution_result().result()
    return path, {row[0] for row in results_of(name)}


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_the_sides_of_a_join_are_tables(environment: MakeEnvironment, backend: str, tmp_path: Path) -> None:
    path, given = saved_join(environment, backend, tmp_path / "savepoints")
    listed = json.loads(state("ls", path, "--json").stdout)
    (join,) = [each for each in listed["operators"] if each["name"].startswith("Join")]
    assert {each["name"]: each["type"] for each in join["states"]} == {
        "left": "TABLE<id BIGINT, twice DECIMAL(12, 2)>",
        "right": "TABLE<id BIGINT, word STRING>",
    }
    shown = state("show", path, join["uid"], "left", "--limit", 1, "--key", 7).stdout.splitlines()
    assert [line.split() for line in shown[1:]] == [
        ["id", "twice", "copies"],
        ["BIGINT", "DECIMAL(12,", "2)", "BIGINT"],
        ["-" * len(shown[3].strip())],
        ["7", "14.00", "1"],
    ]
    pages = [paged(path, join["uid"], offset) for offset in (0, 20, 40)]
    ids = [row["id"] for page in pages for row in page]
    assert len(ids) == len(set(ids)) == 60, "pages do not overlap"
    state("export", path, join["uid"], "--to", tmp_path / "exported")
    left, right = (duckdb.sql(f"SELECT * FROM '{tmp_path}/exported/{side}.parquet'") for side in ("left", "right"))
    assert [str(each) for each in left.types] == ["BIGINT", "DECIMAL(12,2)", "BIGINT"]
    rows, words = left.fetchall(), right.fetchall()
    first = sum(row[0] <= LAST // 2 for row in rows)  # each reader has half of the numbers
    expected = [*range(1, first + 1), *range(LAST // 2 + 1, LAST // 2 + 1 + len(rows) - first)]
    assert sorted(row[0] for row in rows) == expected, "what was read is there once"
    assert all(twice == 2 * id and copies == 1 for id, twice, copies in rows)
    assert sorted(words) == [(id, f"w{id}", 1) for id in sorted(id for id, *_ in words)]
    assert given == {row[0] for row in rows} & {row[0] for row in words}


def paged(path: str, uid: str, offset: int) -> list[dict[str, Any]]:
    found = json.loads(state("show", path, uid, "left", "--limit", 20, "--offset", offset, "--json").stdout)
    (shown,) = found["states"]
    entries: list[dict[str, Any]] = shown["entries"]
    return entries
