"""DATE_FORMAT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational import types as t
from millrace.relational.casting import is_text
from millrace.relational.functions.columns import by_row
from millrace.relational.functions.registry import Column, Surroundings, scalar
from millrace.relational.functions.signatures import STRING, TEXT, takes
from millrace.relational.functions.times.formatting import Format, formatter, strftime
from millrace.relational.functions.times.numbers import STAMP_OR_TEXT, STAMPS
from millrace.relational.functions.times.parsing import simple_parser
from millrace.relational.functions.times.patterns import Field, Text, read_pattern
from millrace.relational.functions.times.timestamps import DEFAULT
from millrace.relational.functions.times.zones import local_times
from millrace.relational.rex import Call, Literal

_read = simple_parser(DEFAULT)


_PLACES = {"y": (1, 4), "M": (6, 2), "d": (9, 2), "H": (12, 2), "m": (15, 2), "s": (18, 2)}
"""where the parts are in Spark's text of a TIMESTAMP, and how long they are"""


def _spark(call: Call, args: Sequence[str]) -> str | None:
    """For plain patterns. Not with ``date_format``: it would move times that the session's zone skips."""
    time, pattern = call.args
    if not isinstance(time.type, STAMPS) or not isinstance(pattern, Literal) or pattern.value is None:
        return None
    if strftime(pattern.value) is None:
        return None
    parts = []
    for part in read_pattern(pattern.value, False):
        if isinstance(part, Field):
            start, length = _PLACES[part.letter]
            parts.append(f"substring(CAST({args[0]} AS STRING), {start}, {length})")
        elif isinstance(part, Text):
            escaped = part.text.replace("\\", "\\\\").replace("'", "\\'")
            parts.append(f"'{escaped}'")
    return f"concat({', '.join(parts)})"


@scalar(
    "DATE_FORMAT",
    takes(STAMP_OR_TEXT, TEXT, result=STRING, nullable=True),
    spark=_spark,
    syntax="DATE_FORMAT(time, format)",
)
def date_format(call: Call, args: Sequence[Column], around: Surroundings) -> Column:
    """Text is read as yyyy-MM-dd HH:mm:ss first. Of a TIMESTAMP_LTZ what clocks in the session's zone show."""
    times, pattern = args
    data_type = call.args[0].type
    if is_text(data_type):
        return by_row(call, args, _of_text, prepare={1: _simple})
    if isinstance(data_type, t.DateType):
        return by_row(call, args, _of_date, prepare={1: _simple})
    if isinstance(data_type, t.LocalZonedTimestampType):
        times = local_times(times, around.zone)
    if isinstance(pattern, pa.Scalar) and pattern.is_valid and not isinstance(times, pa.Scalar):
        plain = strftime(pattern.as_py())
        if plain is not None:
            return _written(times, plain)
    return by_row(call, [times, pattern], _of_stamp, prepare={1: lambda text: formatter(text, False)})


def _written(times: pa.Array, directives: str) -> pa.Array:
    """Each text is written once: writing one takes longer than finding out which times have the same."""
    unit = next((unit for directive, unit in _UNITS if directive in directives), "day")
    rounded = pc.floor_temporal(times, unit=unit).cast(pa.timestamp("s")).dictionary_encode()
    return pc.strftime(rounded.dictionary, format=directives).take(rounded.indices)


_UNITS = (("%S", "second"), ("%M", "minute"), ("%H", "hour"))
"""what has to be the same for the texts to be so, smallest first"""


def _simple(pattern: str) -> Format:
    return formatter(pattern, True)


def _of_stamp(at: datetime, write: Callable[[datetime], str]) -> str:
    return write(at)


def _of_date(day: date, write: Callable[[datetime], str]) -> str:
    return write(datetime(day.year, day.month, day.day))


def _of_text(text: str, write: Callable[[Any], str]) -> str | None:
    found = _read(text)
    return None if found is None else write(found[0])
