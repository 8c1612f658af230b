"""Rows for other programs: CSV, or a JSON object in each line."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Generator, Sequence
from typing import Any

from millrace.cli.sql.results import cells_of, names_of
from millrace.common.types import Row
from millrace.table.sessions.table_result import TableResult

OPERATION = "op"
"""the column with the kind of a change, in streaming mode"""


def formatted(result: TableResult, output: str, zone: str, streaming: bool) -> Generator[str, None, None]:
    """Lines of a result as its rows come.

    :param output: ``csv`` or ``json``.
    :param streaming: the rows are changes: their kinds come first.
    """
    names = [*([OPERATION] if streaming else []), *names_of(result)]
    texts = cells_of(result, zone)
    write = _csv_line if output == "csv" else _json_line(names)
    if output == "csv":
        yield _csv_line(names, names)
    rows = result.collect()
    try:
        for row in rows:
            kind = [str(row.get_row_kind())] if streaming else []
            yield write([*kind, *row], [*kind, *texts(row)])
    finally:
        rows.close()


def _csv_line(values: Sequence[Any], texts: Sequence[str]) -> str:
    """NULL is empty, as a text without characters is."""
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="")
    writer.writerow(["" if value is None else text for value, text in zip(values, texts)])
    return line.getvalue()


def _json_line(names: Sequence[str]) -> Callable[[Sequence[Any], Sequence[str]], str]:
    def line(values: Sequence[Any], texts: Sequence[str]) -> str:
        found = {name: _plain(value, text) for name, value, text in zip(names, values, texts)}
        return json.dumps(found, ensure_ascii=False)

    return line


def _plain(value: Any, text: str | None = None) -> Any:
    """A value as JSON has it; what JSON has not is text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Row):
        names = value._fields or [f"f{number}" for number in range(len(value))]
        return {name: _plain(each) for name, each in zip(names, value)}
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if text is not None:
        return text
    return value.hex() if isinstance(value, bytes) else str(value)
