"""Documents as rows, keys as ids, and the name of the index that a row goes to (``index-{column|yyyy-MM-dd}``)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timezone
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.connectors.search.search_source import Hit
from millrace.connectors.tables.table_declaration import MetadataColumn
from millrace.formats.text_columns import float_texts
from millrace.relational.functions.time_formatting import formatter, strftime
from millrace.relational.rex import Schema
from millrace.relational.rows import Rows, record_batch
from millrace.relational.sources import Decoded, DecodingFormat
from millrace.relational.time_zones import local_times
from millrace.relational.type_table import ByFamily, Family, family_of
from millrace.relational.types import DataType, LocalZonedTimestampType, string
from millrace.relational.values import to_arrow, to_python
from millrace.util.exceptions import TableException
from millrace.util.names import did_you_mean
from millrace.util.skipped import record_skipped


def key_texts(column: pa.Array, kind: DataType) -> pa.Array:
    """A column as Java writes its values (``toString()``), which is what Flink makes ids of. NULL stays NULL."""
    texts: pa.Array = _TEXTS[family_of(kind)](column)
    return texts


def check_key(name: str, kind: DataType, table: str, what: str) -> None:
    """:raises TableException: values of the column have no good text."""
    if family_of(kind) not in _TEXTS:
        raise TableException(f"table {table}, column '{name}': a {kind} cannot be part of {what}")


def _moment(at: datetime | None) -> str | None:
    return None if at is None else f"{at.date().isoformat()}T{_clock(at.time())}"


def _clock(at: time | None) -> str | None:
    """Without seconds if there are none, and a fraction of three digits or of six."""
    if at is None:
        return None
    if not at.second and not at.microsecond:
        return at.isoformat("minutes")
    if not at.microsecond:
        return at.isoformat("seconds")
    return at.isoformat("microseconds" if at.microsecond % 1000 else "milliseconds")


_TEXTS: ByFamily = {
    Family.TEXT: lambda column: column,
    Family.INTEGER: lambda column: column.cast(pa.string()),
    Family.BOOLEAN: lambda column: column.cast(pa.string()),
    Family.APPROXIMATE: float_texts,
    Family.DECIMAL: lambda column: _decimals(column),
    Family.DATE: lambda column: column.cast(pa.string()),
    Family.TIME: lambda column: pa.array(map(_clock, column.to_pylist()), pa.string()),
    Family.TIMESTAMP: lambda column: pa.array(map(_moment, column.to_pylist()), pa.string()),
    # What Flink has of an instant is its time in UTC, and so without a zone.
    Family.INSTANT: lambda column: pa.array(map(_moment, column.to_pylist()), pa.string()),
}


def _decimals(column: pa.Array) -> pa.Array:
    """With all digits of the scale: 1.50 of a DECIMAL(5, 2) is not 1.5."""
    return pa.array([None if each is None else f"{each:f}" for each in column.to_pylist()], pa.string())


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


METADATA: Mapping[str, DataType] = {"_id": string(), "_index": string()}
"""what documents know beside their fields"""


@dataclass(frozen=True)
class HitColumn(MetadataColumn):
    """The id of documents, or the index that they are in."""

    @property
    def natural(self) -> DataType:
        return METADATA[self.key]

    def values(self, messages: Sequence[Hit]) -> list[Any]:
        return [each.id if self.key == "_id" else each.index for each in messages]


@dataclass(frozen=True)
class HitRows:
    """
    :ivar format: gives the physical columns that are wanted; or one more, if none is.
    :ivar places: of the result: the column of the format, or one of metadata.
    """

    format: DecodingFormat
    places: tuple[int | HitColumn, ...]

    def __call__(self, hits: Sequence[Hit]) -> Rows | None:
        found = decoded(self.format, hits)
        if not len(found.rows):
            return None
        taken = None if found.messages is None else pa.array(found.messages)
        columns = []
        for place in self.places:
            if isinstance(place, int):
                columns.append(found.rows.columns[place])
                continue
            column = place.read(hits)
            columns.append(column if taken is None else column.take(taken))
        return Rows(record_batch(columns, len(found.rows)))


@dataclass(frozen=True)
class LookupRows:
    """The rows of each document, in Python; nearly always one."""

    format: DecodingFormat
    columns: Schema

    def __call__(self, hits: Sequence[Hit]) -> Sequence[Sequence[tuple[Any, ...]]]:
        rows: list[list[tuple[Any, ...]]] = [[] for _ in hits]
        if not hits:
            return rows
        found = decoded(self.format, hits)
        columns = [to_python(column, each.type) for column, each in zip(found.rows.columns, self.columns)]
        numbers = range(len(found.rows)) if found.messages is None else found.messages
        for number, row in zip(numbers, zip(*columns)):
            rows[number].append(row)
        return rows


@dataclass(frozen=True)
class KeyIds:
    """The ids of documents, of the values of their PRIMARY KEY.

    :ivar order: for each column of the key, where its value is.
    """

    kinds: tuple[DataType, ...]
    order: tuple[int, ...]
    delimiter: str

    def __call__(self, keys: Sequence[tuple[Any, ...]]) -> list[str | None]:
        values = [[key[place] for key in keys] for place in self.order]
        texts = [key_texts(to_arrow(each, kind), kind) for each, kind in zip(values, self.kinds)]
        joined = texts[0] if len(texts) == 1 else pc.binary_join_element_wise(*texts, self.delimiter)
        found: list[str | None] = joined.to_pylist()
        return found


def decoded(format: DecodingFormat, hits: Sequence[Hit]) -> Decoded:
    """:raises ValueError: a document is not what the table says; with its id."""
    contents = pa.array([each.source for each in hits], pa.binary())
    try:
        found = format.decode(contents)
    except ValueError as error:
        for place, hit in enumerate(hits):
            try:
                format.decode(contents.slice(place, 1))
            except ValueError as cause:
                raise ValueError(f"document '{hit.id}' of index '{hit.index}': {cause}") from error
        raise
    record_skipped(found.skipped)
    return found
