"""Results of queries as lines of the mode ``tableau``, the settings of the client, and the console that it writes to.

Results go to standard output, what the client says about them to standard error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from millrace.common.config_values import to_boolean
from millrace.common.types import Row
from millrace.configuration.own_options import SQL_OUTPUT, default_of
from millrace.table.sessions.table_result import MAX_WIDTH, TableResult
from millrace.table.sessions.table_settings import COLUMN_WIDTH, DML_SYNC
from millrace.table.sql.text import SqlError
from millrace.table.values import printed_tables
from millrace.table.values.printed_tables import row_texts
from millrace.util.names import did_you_mean

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
"""What holds unless it is set."""


@dataclass(frozen=True)
class ClientSettings:
    """What the client has to know of the session's settings."""

    mode: str = TABLEAU
    max_rows: int = 1_000_000
    """that the modes table and changelog keep"""
    verbose: bool = False
    print_time: bool = True
    max_width: int = MAX_WIDTH
    """characters of a column whose type does not say how wide it is"""
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
    """:param messages_apart: messages go to standard error, so that a pipe gets the results and nothing else."""

    def __init__(self, messages_apart: bool) -> None:
        self._apart = messages_apart

    def show(self, lines: Iterable[str]) -> None:
        """Results, line by line as they come."""
        for line in lines:
            click.echo(line)

    def write(self, parts: Iterable[bytes]) -> None:
        """Results that are no text, part by part as they come."""
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
        """A message without a mark in front."""
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
    """Widths that are known before any row."""
    return printed_tables.widths_by_type(result._columns, settings.max_width)


def streamed(result: TableResult, settings: ClientSettings, zone: str, begin: float) -> Lines:
    """Every change in a line as it comes, its kind in front.

    :param begin: of the statement, on the monotonic clock.
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
    """All rows of a bounded query, in columns as wide as they need, up to the most.

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
    """How long it took since ``begin`` (seconds of the monotonic clock); empty if it is not shown."""
    return f" ({time.monotonic() - begin:.2f} seconds)" if settings.print_time else ""


def listed(result: TableResult, settings: ClientSettings, begin: float) -> Iterator[str]:
    """What SHOW, DESCRIBE and EXPLAIN give."""
    if result._layout == "plain":
        yield from result._lines()
        return
    *lines, last = result._lines()
    yield from lines
    yield f"{last}{cost(settings, begin)}"


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"


def counts(result: TableResult) -> list[tuple[str, Any]]:
    """What an INSERT that has ended has written: table and number of rows, -1 if it is not known."""
    return [each for row in result.collect() for each in zip(names_of(result), row)]
