"""``print``: rows on the standard output of the program."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from millrace.common.sink import Committer, Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.connectors.tables.metadata import check_writable
from millrace.connectors.tables.row_text import row_text
from millrace.relational.nodes import Schema
from millrace.relational.python_rows import python_rows
from millrace.relational.rows import Rows
from millrace.relational.sources import ALL_KINDS, TableContext, TableFactory, TableSink


class _Writer(SinkWriter[Rows]):
    def __init__(self, columns: Schema, prefix: str) -> None:
        self._columns = columns
        self._text = row_text([column.type for column in columns])
        self._prefix = prefix
        self._lines: list[str] = []

    def write(self, element: Rows, context: SinkWriterContext) -> None:
        self._lines += [f"{self._prefix}{self._text(row)}" for row in python_rows(element, self._columns)]

    def prepare_commit(self) -> list[Any]:
        lines, self._lines = self._lines, []
        return [lines] if lines else []


class _Printer(Committer[list[str]]):
    """Prints in the process of the program: the output of workers is nowhere to be seen."""

    def __init__(self, error: bool) -> None:
        self._error = error

    def commit(self, committables: Sequence[list[str]]) -> None:
        stream = sys.stderr if self._error else sys.stdout
        for lines in committables:
            stream.write("".join(f"{line}\n" for line in lines))
        stream.flush()


class LinesSink(Sink[Rows]):
    """Brings rows as lines of text to the process of the program.

    :param shows_subtask: whether lines of several subtasks begin with their numbers.
    """

    def __init__(self, columns: Schema, identifier: str, error: bool = False, shows_subtask: bool = True) -> None:
        self._columns = columns
        self._identifier = identifier
        self._error = error
        self._shows_subtask = shows_subtask

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Rows]:
        several = context.get_number_of_parallel_subtasks() > 1 and self._shows_subtask
        parts = [self._identifier] if self._identifier else []
        parts += [str(context.get_index_of_subtask() + 1)] if several else []
        return _Writer(self._columns, f"{':'.join(parts)}> " if parts else "")

    def create_committer(self) -> Committer[Any]:
        return _Printer(self._error)


class PrintSink(TableSink):
    kinds = ALL_KINDS

    def __init__(self, table: TableContext) -> None:
        self._table = table

    def stream(self) -> Sink[Rows]:
        options = self._table.options
        error = options.get("standard-error", "false").lower() == "true"
        return LinesSink(self._table.columns, options.get("print-identifier", ""), error)


class PrintFactory(TableFactory):
    """``'print-identifier'``: a text before every row; ``'standard-error'``: 'true' for the other stream."""

    identifier = "print"
    optional = ("print-identifier", "standard-error")

    def sink(self, table: TableContext) -> TableSink:
        check_writable(table)
        return PrintSink(table)
