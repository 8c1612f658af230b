"""Rows of queries as lines: what the mode ``tableau`` prints."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

from millrace.cli.sql.settings import ClientSettings
from millrace.common.types import Row
from millrace.table.sessions.table_result import TableResult
from millrace.table.values import tableau
from millrace.table.values.cells import row_texts

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
    return tableau.widths_by_type(result._columns, settings.max_width)


def streamed(result: TableResult, settings: ClientSettings, zone: str, begin: float) -> Lines:
    """Every change in a line as it comes, its kind in front.

    :param begin: of the statement, on the monotonic clock.
    :raises KeyboardInterrupt: Ctrl-C, after the query was cancelled and its rows were counted.
    """
    texts = cells_of(result, zone)
    widths = [len(tableau.OP), *widths_of(result, settings)]
    count = 0
    try:
        yield from tableau.header([tableau.OP, *names_of(result)], widths)
        for row in result.collect():
            yield tableau.line([str(row.get_row_kind()), *texts(row)], widths)
            count += 1
    except KeyboardInterrupt:
        result.collect().close()
        yield tableau.border(widths)
        yield f"Query terminated, received a total of {_rows(count)}{cost(settings, begin)}"
        raise
    finally:
        result.collect().close()
    if count:
        yield tableau.border(widths)
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
    widths = [min(each) for each in zip(tableau.widths_by_content(names, found), most)]
    *lines, last = tableau.lines(names, found, widths)
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
