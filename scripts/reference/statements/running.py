"""Runs the examples, each in an environment of its own with the same two tables."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scripts.without_spark import without_spark

from millrace.table import EnvironmentSettings, ResultKind, TableEnvironment
from millrace.table.sql import statements as s
from millrace.table.sql.grammar.parser import parse_script

from .entry import Entry

TABLES = """\
CREATE TABLE orders (
    name STRING, product STRING, amount INT, sold TIMESTAMP(3), WATERMARK FOR sold AS sold
) WITH ('connector' = 'filesystem', 'path' = 'orders.csv', 'format' = 'csv');
CREATE TABLE prices (
    product STRING, price INT, since TIMESTAMP(3), WATERMARK FOR since AS since
) WITH ('connector' = 'filesystem', 'path' = 'prices.csv', 'format' = 'csv');
"""
FILES = {
    "orders.csv": "Ann,ink,1,2026-03-05 10:00:00\nBob,pen,2,2026-03-05 10:04:00\nAnn,pen,3,2026-03-05 10:09:00\n"
    "Bob,ink,4,2026-03-05 10:12:00\nAnn,ink,2,2026-03-05 10:15:00\n",
    "prices.csv": "ink,5,2026-03-05 09:00:00\npen,2,2026-03-05 09:00:00\nink,6,2026-03-05 10:10:00\n",
    "stock.csv": "ink,70\npen,30\n",
    "halves.py": "from millrace.table import DataTypes\nfrom millrace.table.udf import udf\n\n"
    "half = udf(lambda n: n / 2, result_type=DataTypes.DOUBLE())\n"
    "double = udf(lambda n: n * 2, result_type=DataTypes.BIGINT())\n",
}


@contextlib.contextmanager
def place() -> Iterator[None]:
    """A folder with the files, and no Spark."""
    before, path = Path.cwd(), list(sys.path)
    with tempfile.TemporaryDirectory() as folder, without_spark():
        for name, text in FILES.items():
            Path(folder, name).write_text(text, "utf-8")
        os.chdir(folder)
        sys.path.insert(0, folder)
        try:
            yield
        finally:
            os.chdir(before)
            sys.path[:] = path
            sys.modules.pop("halves", None)


def printed(entry: Entry) -> str:
    """What the statements of an example print, within ``place``."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {"parallelism.default": "1", "table.local-time-zone": "UTC", "table.dml-sync": "true"}.items():
        t_env.get_config().set(key, value)
    for statement in parse_script(TABLES):
        t_env.execute_sql(statement.text)
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        for statement in parse_script(entry.example):
            result = t_env.execute_sql(statement.text)
            writes = isinstance(statement, (s.Insert, s.StatementSet, s.ExecutePlan, s.CompilePlan, s.CreateTable))
            if result.get_result_kind() is ResultKind.SUCCESS_WITH_CONTENT and not writes:
                result.print()
    return shown.getvalue()
