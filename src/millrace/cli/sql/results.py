"""Results of queries as text: in the mode ``tableau``, and for other programs (CSV, a JSON object in each line, or a
stream of Arrow batches with their types); the client's settings, and the console that it writes to.

Results go to standard output, the client's messages to standard error.
"""

from __future__ import annotations

import csv
import io
import json
import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from millrace.common.configuration import to_boolean
from millrace.common.types import Row
from millrace.configuration.own_options import SQL_OUTPUT, default_of
from millrace.table.sessions.session import COLUMN_WIDTH, DML_SYNC
from millrace.table.sessions.table_result import MAX_WIDTH, TableResult
from millrace.table.sql.text import SqlError
from millrace.table.values import printed_tables
from millrace.table.values.printed_tables import row_texts
from millrace.util.names import did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa


# Settings, console and tableau

RESULT_MODE = "sql-client.execution.result-mode"
OUTPUT = SQL_OUTPUT.key
MAX_ROWS = "sql-client.execution.max-table-result.rows"
VERBOSE = "sql-client.verbose"
TIME_COST = "sql-client.display.print-time-cost"
OLDER_COLUMN_WIDTH = "sql-client.display.max-column-width"

TABLE, CHANGELOG, TABLEAU = MODES = ("table", "changelog", "tableau")
SCREEN, CSV, JSON, ARROW = OUTPUTS = ("screen", "csv", "json", "arrow")
DEFAULT_OUTPUT = default_of(SQL_OUTPUT)
"""what results are written for: people, or other programs"""

DEFAULTS = {
    RESULT_MODE: TABLEAU,
    MAX_ROWS: "1000000",
    VERBOSE: "false",
    TIME_COST: "true",
    COLUMN_WIDTH: str(MAX_WIDTH),
    DML_SYNC: "false",
}
"""Defaults of the client's options."""


@dataclass(frozen=True)
class ClientSettings:
    """The client's settings, made from the session's options."""

    mode: str = TABLEAU
    max_rows: int = 1_000_000
    """largest number of rows that the modes table and changelog hold"""
    verbose: bool = False
    print_time: bool = True
    max_width: int = MAX_WIDTH
    """width of a column (characters) whose type has no length"""
    wait_for_inserts: bool = False
    output: str = DEFAULT_OUTPUT

    @staticmethod
    def of(settings: Mapping[str, str]) -> ClientSettings:
        """:raises SqlError: a value that its key cannot have."""
        mode = settings.get(RESULT_MODE, TABLEAU).lower()
        if mode not in MODES:
            meant = did_you_mean(mode, MODES)
            raise SqlError(f"'{RESULT_MODE}' is one of {', '.join(MODES)}, not '{mode}'{meant}")
        output = settings.get(OUTPUT, DEFAULT_OUTPUT).lower()
        if output not in OUTPUTS:
            meant = did_you_mean(output, OUTPUTS)
            raise SqlError(f"'{OUTPUT}' is one of {', '.join(OUTPUTS)}, not '{output}'{meant}")
        width = COLUMN_WIDTH if COLUMN_WIDTH in settings else OLDER_COLUMN_WIDTH
        return ClientSettings(
            mode,
            _number(settings, MAX_ROWS, 1_000_000),
            _flag(settings, VERBOSE, False),
            _flag(settings, TIME_COST, True),
            _number(settings, width, MAX_WIDTH),
            _flag(settings, DML_SYNC, False),
            output,
        )


def _number(settings: Mapping[str, str], key: str, default: int) -> int:
    text = settings.get(key, str(default))
    if not text.strip().isdigit() or int(text) < 1:
        raise SqlError(f"'{key}' is a number from 1 on, not '{text}'")
    return int(text)


def _flag(settings: Mapping[str, str], key: str, default: bool) -> bool:
    try:
        return to_boolean(settings.get(key, str(default)))
    except ValueError:
        raise SqlError(f"'{key}' is 'true' or 'false', not '{settings[key]}'") from None


class Console:
    """Writes results and messages.

    :param messages_apart: whether messages go to standard error, so that a pipe gets the results only.
    """

    def __init__(self, messages_apart: bool) -> None:
        self._apart = messages_apart

    def show(self, lines: Iterable[str]) -> None:
        """Print a result, line by line."""
        for line in lines:
            click.echo(line)

    def write(self, parts: Iterable[bytes]) -> None:
        """Write a binary result, part by part."""
        for part in parts:
            click.echo(part, nl=False)

    def info(self, text: str) -> None:
        self._say(click.style("[INFO] ", fg="blue", bold=True) + text)

    def warning(self, text: str) -> None:
        self._say(click.style("[WARNING] ", fg="yellow", bold=True) + text)

    def error(self, text: str) -> None:
        title = click.style("[ERROR] Could not execute SQL statement. Reason:", fg="red", bold=True)
        self._say(f"{title}\n{click.style(text, fg='red')}")

    def say(self, text: str) -> None:
        """Print a message without a prefix."""
        self._say(text)

    def clear(self) -> None:
        click.clear()

    def _say(self, text: str) -> None:
        click.echo(text, err=self._apart)


Cells = list[str]
Lines = Generator[str, None, None]


def cells_of(result: TableResult, zone: str) -> Callable[[Row], Cells]:
    """A function that gives the texts of a row."""
    texts = row_texts(result.get_resolved_schema().get_column_data_types(), zone)
    return lambda row: texts(list(row))


def names_of(result: TableResult) -> Sequence[str]:
    return result.get_resolved_schema().get_column_names()


def widths_of(result: TableResult, settings: ClientSettings) -> list[int]:
    """Column widths that follow from the types alone."""
    return printed_tables.widths_by_type(result._columns, settings.max_width)


def streamed(result: TableResult, settings: ClientSettings, zone: str, begin: float) -> Lines:
    """Each change of a query as a line, its kind first.

    :param begin: start of the statement, on the monotonic clock.
    :raises KeyboardInterrupt: Ctrl-C, after the query was cancelled and its rows were counted.
    """
    texts = cells_of(result, zone)
    widths = [len(printed_tables.OP), *widths_of(result, settings)]
    count = 0
    try:
        yield from printed_tables.header([printed_tables.OP, *names_of(result)], widths)
        for row in result.collect():
            yield printed_tables.line([str(row.get_row_kind()), *texts(row)], widths)
            count += 1
    except KeyboardInterrupt:
        result.collect().close()
        yield printed_tables.border(widths)
        yield f"Query terminated, received a total of {_rows(count)}{cost(settings, begin)}"
        raise
    finally:
        result.collect().close()
    if count:
        yield printed_tables.border(widths)
    yield f"Received a total of {_rows(count)}{cost(settings, begin)}"


def whole(result: TableResult, settings: ClientSettings, zone: str, begin: float) -> Lines:
    """All rows of a bounded query, up to the largest number, in columns of fitting width.

    :raises KeyboardInterrupt: Ctrl-C, after the query was cancelled.
    """
    texts = cells_of(result, zone)
    try:
        found = [texts(row) for row in result.collect()]
    except KeyboardInterrupt:
        result.collect().close()
        yield f"Query terminated{cost(settings, begin)}"
        raise
    names = names_of(result)
    most = [max(len(name), settings.max_width) for name in names]
    widths = [min(each) for each in zip(printed_tables.widths_by_content(names, found), most)]
    *lines, last = printed_tables.lines(names, found, widths)
    yield from lines
    yield f"{last}{cost(settings, begin)}"


def cost(settings: ClientSettings, begin: float) -> str:
    """Time since ``begin`` (seconds of the monotonic clock) as text; empty if it is not shown."""
    return f" ({time.monotonic() - begin:.2f} seconds)" if settings.print_time else ""


def listed(result: TableResult, settings: ClientSettings, begin: float) -> Iterator[str]:
    """The result of SHOW, DESCRIBE and EXPLAIN as lines."""
    if result._layout == "plain":
        yield from result._lines()
        return
    *lines, last = result._lines()
    yield from lines
    yield f"{last}{cost(settings, begin)}"


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"


def counts(result: TableResult) -> list[tuple[str, Any]]:
    """Tables that an ended INSERT has written to, with the number of rows, -1 if it is unknown."""
    return [each for row in result.collect() for each in zip(names_of(result), row)]


# For other programs

OPERATION = "op"
"""name of the column with the kind of a change, in streaming mode"""


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
    """A row as a line of CSV. NULL is an empty field, and so is an empty text."""
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
    """A value in JSON's types; a value that JSON cannot represent becomes text."""
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


ROWS = 1_000
"""rows of an Arrow batch, at most"""
SECONDS = 1.0
"""Time after which an unfinished batch is written (s), checked when a row arrives."""


def arrow_parts(result: TableResult, zone: str, streaming: bool) -> Generator[bytes, None, None]:
    """The bytes of one stream in Arrow's IPC format, while rows arrive.

    :param zone: time zone of TIMESTAMP_LTZ.
    :param streaming: whether the rows are changes: the first column holds their kind.
    """
    import pyarrow as pa

    empty = _batch([], result, zone, streaming)
    out = io.BytesIO()
    rows = result.collect()
    try:
        with pa.ipc.new_stream(out, empty.schema) as writer:
            waiting: list[Row] = []
            since = time.monotonic()
            for row in rows:
                waiting.append(row)
                if len(waiting) == ROWS or time.monotonic() - since > SECONDS:
                    writer.write_batch(_batch(waiting, result, zone, streaming))
                    waiting, since = [], time.monotonic()
                    yield _taken(out)
            if waiting:
                writer.write_batch(_batch(waiting, result, zone, streaming))
        yield _taken(out)
    finally:
        rows.close()


def _batch(rows: list[Row], result: TableResult, zone: str, streaming: bool) -> pa.RecordBatch:
    import pyarrow as pa

    from millrace.relational.rows import Rows, record_batch
    from millrace.relational.values import to_arrow
    from millrace.table.values.arrow_tables import arrow_of

    columns = result._columns
    values: list[list[Any]] = [[row[place] for row in rows] for place in range(len(columns))]
    arrays = [to_arrow(each, column.type) for each, column in zip(values, columns)]
    table = arrow_of(columns, [Rows(record_batch(arrays, len(rows)))], zone)
    if streaming:
        table = table.add_column(0, OPERATION, pa.array([str(row.get_row_kind()) for row in rows], pa.string()))
    return pa.RecordBatch.from_arrays([each.combine_chunks() for each in table.columns], schema=table.schema)


def _taken(out: io.BytesIO) -> bytes:
    """The bytes that were written since the last call."""
    found = out.getvalue()
    out.seek(0)
    out.truncate()
    return found
