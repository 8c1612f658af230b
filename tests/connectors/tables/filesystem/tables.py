"""Tables of files for tests."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from millrace.common.types import Row
from millrace.connectors.file_system.table.filesystem_source import FileSystemSource
from millrace.connectors.file_system.table.filesystem_table import FileSystemFactory
from millrace.connectors.tables.values_table import rows_of
from millrace.relational.nodes import Field, Schema
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.relational.sources import TableContext
from millrace.relational.values import to_python
from millrace.table import DataTypes as D
from millrace.testing.connectors.runtime import SourceRun

COLUMNS: Schema = (Field("id", D.INT()), Field("name", D.STRING()), Field("dt", D.STRING()))


def context(
    path: str | Path,
    columns: Schema = COLUMNS,
    keys: Sequence[str] = (),
    metadata: Sequence[tuple[str, str, Any]] = (),
    streaming: bool = True,
    format: str = "parquet",
    configuration: Mapping[str, str] | None = None,
    **options: str,
) -> TableContext:
    """A table WITH options; names without a dot have _ for . and __ for -"""
    given = {
        name if "." in name else name.replace("__", "-").replace("_", "."): value for name, value in options.items()
    }
    return TableContext(
        ("c", "d", "t"),
        columns,
        tuple(metadata),
        (),
        tuple(keys),
        {"connector": "filesystem", "path": str(path), "format": format, **given},
        configuration or {},
        streaming,
    )


def batch(rows: Sequence[tuple[Any, ...]], columns: Schema = COLUMNS) -> Rows:
    return rows_of([Row(*row) for row in rows], columns)


def source(table: TableContext) -> FileSystemSource:
    made = FileSystemFactory().source(table)
    assert isinstance(made, FileSystemSource)
    return made


def read(
    table: TableContext,
    columns: Sequence[int] | None = None,
    filters: Sequence[Rex] = (),
    parallelism: int = 1,
    budget: int | None = None,
) -> list[tuple[Any, ...]]:
    """The rows of a bounded table, read in epochs of so many batches."""
    all_columns = [*table.columns, *(Field(name, kind) for name, _, kind in table.metadata)]
    places = list(range(len(all_columns))) if columns is None else list(columns)
    run = SourceRun(source(table).stream(places, filters), parallelism)
    while len(run.ended) < parallelism:
        run.epoch(budget)
    schema = [all_columns[place] for place in places]
    return [row for output in run.outputs for rows in output.records for row in plain(rows, schema)]


def plain(rows: Rows, columns: Sequence[Field]) -> list[tuple[Any, ...]]:
    """Rows as tuples of Python values."""
    return list(zip(*(to_python(array, column.type) for array, column in zip(rows.columns, columns))))


def visible(folder: Path) -> list[str]:
    """Paths of the files that everybody sees, below the folder."""
    found = [os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names]
    return sorted(path for path in found if not os.path.basename(path).startswith("."))


def hidden(folder: Path) -> list[str]:
    found = [name for _, _, names in os.walk(folder) for name in names]
    return sorted(name for name in found if name.startswith("."))


def folders(folder: Path) -> dict[str, list[str]]:
    """Folder -> names of its visible files, parts of the same sink as 'part'."""
    found: dict[str, list[str]] = {}
    for path in visible(folder):
        at, _, name = path.rpartition("/")
        found.setdefault(at, []).append("part" if name.startswith("part-") else name)
    return {at: sorted(names) for at, names in found.items()}
