"""Rows whose time attribute is NULL: an error that names column, row and way out, or left out and counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.connectors.tables.message_tables import MessageTables

from millrace.relational import nodes as n
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rules.optimizer import optimise_batch
from millrace.runtime.failure import JobFailedError
from millrace.testing.local import run_locally
from millrace.util.exceptions import TableException

COLUMNS = "id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND"
LINES = "1,2024-01-01 00:00:01\n2,2024-02-31 00:00:00\n3,2024-01-01 00:00:03\n4,\n"
WINDOWS = (
    "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) "
    "GROUP BY window_start, window_end"
)


@pytest.fixture
def tables(tmp_path: Path) -> MessageTables:
    (tmp_path / "a.csv").write_text(LINES)
    return MessageTables()


def create(tables: MessageTables, path: Path, **more: str) -> None:
    options = {"path": str(path), "csv.ignore-parse-errors": "true", **more}
    tables.table("t", COLUMNS, "filesystem", **{"format": "csv", **options})


def test_the_error_names_column_and_row(tables: MessageTables, tmp_path: Path) -> None:
    create(tables, tmp_path)
    with pytest.raises(JobFailedError, match=r"column 'ts' has a WATERMARK and must not be NULL.*\(id=2, ts=None\)"):
        tables.rows("SELECT id, ts FROM t")


def test_rows_without_a_time_are_left_out_and_counted(tables: MessageTables, tmp_path: Path) -> None:
    create(tables, tmp_path, **{"scan.watermark.null-times": "drop"})
    assert tables.rows(WINDOWS) == [(2,)]
    program = tables.program([tables.environment.sql_query("SELECT id FROM t")._plan], 1)
    assert run_locally(program).left_out.skipped == 2


def test_batch_mode_leaves_the_same_rows_out(tables: MessageTables, tmp_path: Path) -> None:
    create(tables, tmp_path, **{"scan.watermark.null-times": "drop"})
    plan = optimise_batch(tables.environment.sql_query("SELECT id FROM t")._plan, Surroundings(1, "UTC", 0))
    while not isinstance(plan, n.Filter):
        (plan,) = plan.inputs
    assert plan.details() == ["IS NOT NULL(ts)"]


def test_another_word(tables: MessageTables, tmp_path: Path) -> None:
    create(tables, tmp_path, **{"scan.watermark.null-times": "ignore"})
    with pytest.raises(TableException, match=r"'scan\.watermark\.null-times' is fail or drop, not 'ignore'"):
        tables.rows("SELECT id FROM t")
