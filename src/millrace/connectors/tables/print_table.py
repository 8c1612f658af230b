"""``print`` and ``blackhole``: rows on the standard output of the program, as Flink's ``Row.toString`` shows them
(``+I[1, abc, 2024-05-06T10:20:30]``), and rows that are forgotten.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Sequence
from typing import Any

from millrace.common.sink import Committer, Sink, SinkWriter, SinkWriterContext, WriterInitContext
from millrace.common.types import Row
from millrace.relational.nodes import Schema
from millrace.relational.rows import Rows, python_rows
from millrace.relational.sources import ALL_KINDS, TableContext, TableFactory, TableSink
from millrace.relational.type_table import ByFamily, Family, family_of, java_number, parts_of
from millrace.relational.types import DataType


class _BlackholeWriter(SinkWriter[Rows]):
    def write(self, element: Rows, context: SinkWriterContext) -> None: ...


class _Sink(Sink[Rows]):
    def create_writer(self, context: WriterInitContext) -> SinkWriter[Rows]:
        return _BlackholeWriter()


class BlackholeSink(TableSink):
    kinds = ALL_KINDS

    def stream(self) -> Sink[Rows]:
        return _Sink()


class BlackholeFactory(TableFactory):
    """Takes all rows."""

    identifier = "blackhole"

    def sink(self, table: TableContext) -> TableSink:
        table.check_writable()
        return BlackholeSink()


Text = Callable[[Any], str]


def row_text(types: Sequence[DataType]) -> Callable[[Row], str]:
    """A function that gives the text of a row, its kind in front."""
    fields = [_nullable(_text(each)) for each in types]
    return lambda row: f"{row.get_row_kind()}[{', '.join(field(value) for field, value in zip(fields, row))}]"


def _nullable(text: Text) -> Text:
    return lambda value: "null" if value is None else text(value)


def _text(data_type: DataType) -> Text:
    make = _TEXTS.get(family_of(data_type))
    found: Text = str if make is None else make(data_type)
    return found


def _moment(value: Any, always_seconds: bool = False) -> str:
    """Java's form of a time: no seconds if they are 0, and fractions of three or six digits."""
    whole: str = value.replace(microsecond=0, tzinfo=None).isoformat()
    micros = value.microsecond
    if micros:
        return f"{whole}.{micros // 1000:03d}" if micros % 1000 == 0 else f"{whole}.{micros:06d}"
    return whole if value.second or always_seconds else whole[:-3]


def _duration(span: datetime.timedelta) -> str:
    """As ``java.time.Duration`` shows it: ``PT25H3M4.5S``."""
    micros = span // datetime.timedelta(microseconds=1)
    if not micros:
        return "PT0S"
    sign = "-" if micros < 0 else ""
    seconds, fraction = divmod(abs(micros), 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    text = f"{sign}{hours}H" if hours else ""
    text += f"{sign}{minutes}M" if minutes else ""
    if seconds or fraction:
        digits = f".{fraction:06d}".rstrip("0") if fraction else ""
        text += f"{sign}{seconds}{digits}S"
    return f"PT{text}"


def _period(months: int) -> str:
    """As ``java.time.Period`` shows it: ``P1Y2M``."""
    years, rest = divmod(abs(months), 12)
    sign = "-" if months < 0 else ""
    text = (f"{sign}{years}Y" if years else "") + (f"{sign}{rest}M" if rest else "")
    return f"P{text}" if text else "P0D"


def _array(data_type: DataType) -> Text:
    each = _nullable(_text(*parts_of(data_type)))
    return lambda values: f"[{', '.join(map(each, values))}]"


def _map(data_type: DataType) -> Text:
    key, item = (_nullable(_text(part)) for part in parts_of(data_type))
    return lambda values: "{" + ", ".join(f"{key(k)}={item(v)}" for k, v in values.items()) + "}"


def _row(data_type: DataType) -> Text:
    fields = [_nullable(_text(kind)) for kind in parts_of(data_type)]
    return lambda row: f"+I[{', '.join(field(value) for field, value in zip(fields, row))}]"


def _signed_bytes(value: bytes) -> str:
    return f"[{', '.join(str(byte - 256 if byte > 127 else byte) for byte in value)}]"


_TEXTS: ByFamily = {
    Family.BOOLEAN: lambda kind: lambda value: "true" if value else "false",
    Family.APPROXIMATE: java_number,
    Family.BYTES: lambda kind: _signed_bytes,
    Family.INSTANT: lambda kind: (
        lambda value: f"{_moment(value.astimezone(datetime.timezone.utc), always_seconds=True)}Z"
    ),
    Family.TIMESTAMP: lambda kind: _moment,
    Family.TIME: lambda kind: _moment,
    Family.DECIMAL: lambda kind: lambda value: f"{value:.{kind.scale}f}",
    Family.SPAN: lambda kind: _duration,
    Family.MONTHS: lambda kind: _period,
    Family.ARRAY: _array,
    Family.MAP: _map,
    Family.ROW: _row,
}


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
        table.check_writable()
        return PrintSink(table)
