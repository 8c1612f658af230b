"""The tables that the examples of functions are about, and what a query over them gives."""

from __future__ import annotations

import datetime as dt

from millrace.connectors.tables.values_table import register_values
from millrace.table import EnvironmentSettings, Row, RowKind, Table, TableEnvironment
from millrace.table.values.printed_tables import row_texts

COLUMNS = (
    "a INT", "b BIGINT", "d DOUBLE", "s STRING", "x BOOLEAN", "ar ARRAY<INT>", "m MAP<STRING, INT>", "r ROW<f INT>",
    "`day` DATE", "ts TIMESTAMP(3)", "bm AS BITMAP_BUILD(ar)", "v AS PARSE_JSON(CONCAT('\"', s, '\"'))",
    "bs AS ENCODE(s, 'UTF-8')", "WATERMARK FOR ts AS ts",
)  # fmt: skip
"""of ``t``"""
_DAY = dt.date(2026, 3, 5)
_ROWS = (
    (1, 10, 1.5, "x", True, [1, 2], {"k": 1}, Row(7), _DAY, dt.datetime(2026, 3, 5, 10, 5)),
    (2, 10, 2.5, "y", False, [2, 3], {"k": 2}, Row(8), _DAY, dt.datetime(2026, 3, 5, 10, 20)),
    (4, 20, 4.5, "z", None, [3, 4], {"k": 4}, Row(9), _DAY, dt.datetime(2026, 3, 5, 11, 10)),
)
LOG = ("op STRING", "a INT")
"""columns of ``log``, changes in a column"""
_CHANGES = (("INSERT", 1), ("INSERT", 2), ("DELETE", 1))


def environment() -> TableEnvironment:
    """A streaming environment with both tables."""
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    made.get_config().set("parallelism.default", "1")
    made.get_config().set("table.local-time-zone", "UTC")
    for name, columns, rows in (("t", COLUMNS, _ROWS), ("log", LOG, _CHANGES)):
        register_values(f"functions.{name}", rows)
        options = f"'connector' = 'values', 'data-id' = 'functions.{name}'"
        made.execute_sql(f"CREATE TABLE {name} ({', '.join(columns)}) WITH ({options})")
    return made


def rows_of(table: Table) -> list[list[str]]:
    """The rows as texts, as ``print()`` shows them; with their kinds if some are no insertions."""
    texts = row_texts(table.get_schema().get_field_data_types(), "UTC")
    with table.execute().collect() as found:
        rows = list(found)
    appended = all(row.get_row_kind() is RowKind.INSERT for row in rows)
    return [texts(list(row)) if appended else [str(row.get_row_kind()), *texts(list(row))] for row in rows]
