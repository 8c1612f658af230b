"""The events and the table outside as files, which both sides read with their filesystem connectors."""

from __future__ import annotations

import os
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from benchmarks.nexmark.events import Settings
from benchmarks.nexmark.queries import QUERIES
from benchmarks.nexmark.session import BID_NOW, environment, sink_columns
from benchmarks.nexmark.tables import BLOCK, COLUMNS, SIDE_ROWS, ddl, rows_of, side_word
from benchmarks.sides.work import PARALLELISM, Query, Work
from benchmarks.tpc.others import parquet_jars
from millrace.table import TableEnvironment

FEW = 500
MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2 s",
    "table.exec.mini-batch.size": "50000",
}


def work(base: str, events: int, names: list[str], kind: str, mini_batch: bool = False) -> Work:
    """Writes the files and says what is to be run.

    :param base: the folder of the files.
    :param kind: their format, ``csv`` or ``parquet``.
    """
    session = environment(Settings(events=1))
    return Work(
        few=_tables(os.path.join(base, "few"), Settings(events=FEW), kind),
        whole=_tables(os.path.join(base, "whole"), Settings(events=events), kind),
        queries={name: Query(_quoted(QUERIES[name]), _columns(session, name)) for name in names},
        jars=tuple(f"file://{jar}" for jar in parquet_jars()) if kind == "parquet" else (),
        settings=MINI_BATCH if mini_batch else {},
    )


def _columns(session: TableEnvironment, name: str) -> str:
    return sink_columns(session.sql_query(QUERIES[name]))


def _quoted(statement: str) -> str:
    """DATETIME is a reserved word in Flink."""
    return re.sub(r"\bdateTime\b", "`dateTime`", statement)


def _tables(base: str, settings: Settings, kind: str) -> tuple[str, ...]:
    """Writes files; DDL of the tables over them."""
    write_events(base, settings, kind)
    return tables_over_files(base, settings, kind)


def tables_over_files(base: str, settings: Settings, kind: str) -> tuple[str, ...]:
    """DDL of the tables over files that are there."""
    tables = [_over_files(ddl(each, settings), os.path.join(base, each), kind) for each in COLUMNS]
    side = _over_files("CREATE TABLE side (number BIGINT, word STRING) WITH ()", os.path.join(base, "side"), kind)
    return (*tables, side, BID_NOW.replace(" TEMPORARY", ""))


def _over_files(statement: str, path: str, kind: str) -> str:
    columns = _quoted(statement.partition(" WITH (")[0].replace(" TEMPORARY", ""))
    return f"{columns} WITH ('connector' = 'filesystem', 'path' = 'file://{path}', 'format' = '{kind}')"


def write_events(base: str, settings: Settings, kind: str) -> None:
    """A folder for each kind, with a file for each subtask: blocks in turn, so that event time goes on evenly."""
    for name, columns in COLUMNS.items():
        places = range(columns.count(",") + 1)
        os.makedirs(os.path.join(base, name))
        for subtask in range(PARALLELISM):
            starts = np.arange(subtask * BLOCK, settings.events, PARALLELISM * BLOCK).tolist()
            blocks = [rows_of(name, settings, places, at, min(at + BLOCK, settings.events)).batch for at in starts]
            if blocks:
                named = [pa.record_batch(block.columns, _names(columns)) for block in blocks]
                write(os.path.join(base, name, f"part-{subtask}.{kind}"), pa.Table.from_batches(named), kind)
    os.makedirs(os.path.join(base, "side"))
    numbers = list(range(SIDE_ROWS))
    words = pa.table({"number": numbers, "word": list(map(side_word, numbers))})
    write(os.path.join(base, "side", f"part-0.{kind}"), words, kind)


def _names(columns: str) -> list[str]:
    return [each.split()[0] for each in columns.split(", ")]


def write(path: str, table: pa.Table, kind: str) -> None:
    """A file without a header, its times with milliseconds, as Flink reads them."""
    if kind == "parquet":
        pq.write_table(table, path)
        return
    times = {field.name for field in table.schema if pa.types.is_timestamp(field.type)}
    for name in times:
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, table.column(name).cast(pa.timestamp("ms")))
    csv.write_csv(table, path, csv.WriteOptions(include_header=False))
