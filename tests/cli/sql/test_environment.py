"""Environment files of Flink's older clients."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from millrace.cli.main import main
from millrace.cli.sql.start import EnvironmentFileError, environment_script
from millrace.table.sql import statements as s
from millrace.table.sql.grammar.parser import parse_script

# An example of a book: a sink of CSV and a function in Python.
PURE_SQL = """
tables:
  - name: sink
    type: sink-table
    update-mode: append
    schema: [{name: a, type: BIGINT}]
    connector: {type: filesystem, path: "/tmp/result.csv"}
    format: {type: csv, fields: [{name: a, type: BIGINT}]}
functions: [{name: add_one, from: python, fully-qualified-name: udfs.add_one}]
configuration: {python.fn-execution.memory.managed: true}
"""
HIVE = """
execution: {planner: blink, type: streaming, current-catalog: myhive, current-database: mydatabase}
catalogs: [{name: myhive, type: hive, hive-conf-dir: /opt/hive-conf}]
"""
ALL = """
execution:
  planner: blink
  type: batch
  parallelism: 2
  result-mode: tableau
  min-idle-state-retention: 5000
  restart-strategy: {type: fixed-delay, attempts: 3, delay: 10}
  current-catalog: mine
catalogs: [{name: mine, type: generic_in_memory, default-database: shop}]
modules: [{name: core, type: core}]
tables:
  - name: Rides
    type: source-table
    schema:
      - {name: rideId, data-type: BIGINT}
      - {name: rowTime, type: TIMESTAMP, rowtime: {timestamps: {type: from-field, from: eventTime},
         watermarks: {type: periodic-bounded, delay: "60000"}}}
      - {name: now, type: TIMESTAMP, proctime: true}
    connector: {type: kafka, topic: "it's", properties: {bootstrap.servers: "host:1", group.id: mine}}
    format: {property-version: 1, type: json}
  - {name: Big, type: view, query: "SELECT rideId FROM Rides WHERE rideId > 9;"}
"""


@pytest.fixture(autouse=True)
def _own_import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


def script(folder: Path, text: str) -> list[s.Statement]:
    (folder / "env.yaml").write_text(text)
    return parse_script(environment_script(str(folder / "env.yaml")))


def run(folder: Path, text: str, statements: str) -> Any:
    (folder / "env.yaml").write_text(text)
    return CliRunner().invoke(main, ["sql", "--environment", str(folder / "env.yaml"), "-e", statements])


def test_pure_sql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setting, function, table = script(tmp_path, PURE_SQL)
    assert (setting.key, setting.value) == ("python.fn-execution.memory.managed", "true")  # type: ignore[attr-defined]
    assert isinstance(function, s.CreateFunction) and isinstance(table, s.CreateTable)
    (tmp_path / "env_udfs.py").write_text(
        "from millrace.table.udf import udf\nadd_one = udf(lambda i: i + 1, result_type='BIGINT')\n"
    )
    monkeypatch.chdir(tmp_path)
    insert = "INSERT INTO sink SELECT add_one(a) FROM (VALUES (1), (2)) AS source (a)"
    found = run(tmp_path, PURE_SQL.replace("udfs.", "env_udfs."), f"DESCRIBE sink; EXPLAIN {insert}")
    assert found.exit_code == 0, found.output
    assert "BIGINT" in found.stdout and "add_one" in found.stdout


def test_everything(tmp_path: Path) -> None:
    found = run(tmp_path, ALL, "SHOW CURRENT CATALOG; SHOW TABLES; SHOW CREATE TABLE Rides; SET; DESCRIBE Big")
    assert found.exit_code == 0, found.output
    for text in ("mine", "Big", "INTERVAL '60.000' SECOND", "`rowTime` AS", "PROCTIME()"):
        assert text in found.stdout
    for text in ("'it''s'", "5000 ms", "fixed-delay"):
        assert text in found.stdout


def test_hive_is_refused_by_name(tmp_path: Path) -> None:
    create, use, database = script(tmp_path, HIVE)[-3:]
    assert isinstance(create, s.CreateCatalog) and isinstance(use, s.UseCatalog) and isinstance(database, s.UseDatabase)
    found = run(tmp_path, HIVE, "SHOW TABLES")
    assert found.exit_code == 1
    assert "hive" in found.stderr


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("tabels: []", "'tabels' is no section"),
        ("tables: {a: 1}", "expected a list"),
        ("tables: [{type: view}]", "'name' is missing"),
        ("tables: [{name: t, type: temporal-table}]", "FOR SYSTEM_TIME AS OF"),
        ("tables: [{name: v, type: view}]", "'query' is missing"),
        ("functions: [{name: f, from: class, class: a.B}]", "class of Java"),
        ("execution: {speed: 9}", "'speed' is not known"),
        ("execution: {restart-strategy: {type: never}}", "'never' is none of"),
        ("tables: [{name: t, type: source-table, schema: [{name: a, type: INT, from: b}]}]", "'from' has no word"),
        ("a: [", "env.yaml"),
    ],
)
def test_what_it_can_not_do(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(EnvironmentFileError, match=reason):
        script(tmp_path, text)
    found = run(tmp_path, text, "SHOW TABLES")
    assert (found.exit_code, found.stdout) == (2, "")
