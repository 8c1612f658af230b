"""``index-{column|yyyy-MM-dd}``: which index a row goes to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.connectors.tables.search.texts import check_key, key_texts
from millrace.relational.fields import Schema
from millrace.relational.functions.times.formatting import formatter, strftime
from millrace.relational.functions.times.zones import local_times
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType, LocalZonedTimestampType
from millrace.util.exceptions import TableException
from millrace.util.similar import did_you_mean

_PLACE = re.compile(r"\{([^{}|]*)(?:(\|)([^{}]*))?\}")
_NOW = ("now()", "current_timestamp")
_DEFAULTS = {
    Family.DATE: "yyyy_MM_dd",
    Family.TIME: "HH_mm_ss",
    Family.TIMESTAMP: "yyyy_MM_dd_HH_mm_ss",
    Family.INSTANT: "yyyy_MM_dd_HH_mm_ss",
}
"""Flink's; texts of times have colons, which no name of an index may have"""


@dataclass(frozen=True)
class _Part:
    """
    :ivar column: None: the time of the clock.
    :ivar pattern: of times, of Java's DateTimeFormatter; None: values that are no times.
    """

    column: int | None
    kind: DataType
    pattern: str | None


@dataclass(frozen=True)
class IndexName:
    """A name, or how to make it of a row.

    :ivar parts: texts, and what changes from row to row.
    """

    parts: tuple[str | _Part, ...]
    zone: str
    table: str

    @property
    def fixed(self) -> str | None:
        """The one name of all rows; None if there are several."""
        return "".join(map(str, self.parts)) if all(isinstance(each, str) for each in self.parts) else None

    @property
    def of_clock(self) -> bool:
        """Whether the same row goes somewhere else a little later."""
        return any(isinstance(each, _Part) and each.column is None for each in self.parts)

    @property
    def pattern(self) -> str:
        """What stands for all names when they are read."""
        return "".join(each if isinstance(each, str) else "*" for each in self.parts)

    def texts(self, columns: Sequence[pa.Array], count: int) -> pa.Array:
        """The name for each row; of NULL it is ``null``, as in Flink."""
        pieces = [each if isinstance(each, str) else self._values(each, columns) for each in self.parts]
        arrays = [pa.repeat(each, count) if isinstance(each, str) else each.fill_null("null") for each in pieces]
        return pc.binary_join_element_wise(*arrays, "")

    def _values(self, part: _Part, columns: Sequence[pa.Array]) -> Any:
        if part.column is None:
            now = pa.array([datetime.now(timezone.utc)], pa.timestamp("us", "UTC"))
            return str(self._written(now, part)[0].as_py())
        column = columns[part.column]
        return key_texts(column, part.kind) if part.pattern is None else self._written(column, part)

    def _written(self, column: pa.Array, part: _Part) -> pa.Array:
        assert part.pattern is not None
        family = family_of(part.kind)
        if family is Family.INSTANT:
            column = local_times(column, self.zone)
        if family is Family.TIME:
            column = pa.array([each and datetime.combine(datetime(1970, 1, 1), each) for each in column.to_pylist()])
        plain = strftime(part.pattern)
        if plain is not None:
            seconds = pc.floor_temporal(column.cast(pa.timestamp("us")), unit="second").cast(pa.timestamp("s"))
            return pc.strftime(seconds, format=plain)
        write = formatter(part.pattern, False)
        moments = column.cast(pa.timestamp("us")).to_pylist()
        return pa.array([None if each is None else write(each) for each in moments], pa.string())


def index_name(text: str, columns: Schema, zone: str, table: str) -> IndexName:
    """:raises TableException: no name, a column that is not there, or one of whose values no name can be made."""
    parts: list[str | _Part] = []
    at = 0
    for match in _PLACE.finditer(text):
        parts.append(text[at : match.start()])
        parts.append(_part(match[1].strip(), match[3] if match[2] else None, columns, table))
        at = match.end()
    parts.append(text[at:])
    rest = "".join(each for each in parts if isinstance(each, str))
    if not text.strip() or "{" in rest or "}" in rest:
        raise TableException(f"table {table}: 'index' is a name, or has {{column|pattern}}, not '{text}'")
    return IndexName(tuple(each for each in parts if each != ""), zone, table)


def _part(name: str, pattern: str | None, columns: Schema, table: str) -> _Part:
    known = [column.name for column in columns]
    if name.lower() in _NOW and name not in known:
        return _Part(None, LocalZonedTimestampType(6), _checked(pattern or _DEFAULTS[Family.INSTANT], table))
    if name not in known:
        raise TableException(
            f"table {table}: 'index' names the column '{name}', which is not there{did_you_mean(name, known)}"
        )
    place = known.index(name)
    kind = columns[place].type
    default = _DEFAULTS.get(family_of(kind))
    if default is None:
        if pattern:
            raise TableException(f"table {table}: 'index' has a pattern for column '{name}', but a {kind} is no time")
        check_key(name, kind, table, "the name of an index")
        return _Part(place, kind, None)
    return _Part(place, kind, _checked(pattern or default, table))


def _checked(pattern: str, table: str) -> str:
    try:
        formatter(pattern, False)
    except ValueError as error:
        raise TableException(f"table {table}: 'index': {error}") from None
    return pattern
