"""The layout of a table of files: which columns are in files, in names of folders, or in the metadata of files.

Partitions are folders such as ``dt=2024-05-06/hr=10``; ``Partitioner`` splits a batch of rows by partition.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from millrace.common.text import double_text, float_text
from millrace.relational import types as t
from millrace.relational.functions.text_values import CastError, parser
from millrace.relational.nodes import Field, Schema
from millrace.relational.rows import Rows
from millrace.relational.sources import TableContext
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType
from millrace.relational.values import to_python
from millrace.util.exceptions import TableException
from millrace.util.names import did_you_mean

METADATA: dict[str, DataType] = {
    "file.path": t.VarCharType(t.MAX_LENGTH, False),
    "file.name": t.VarCharType(t.MAX_LENGTH, False),
    "file.size": t.BigIntType(False),
    "file.modification-time": t.LocalZonedTimestampType(3, False),
}
"""what METADATA FROM can name"""


@dataclass(frozen=True)
class Layout:
    """The columns of a table: physical ones, then metadata."""

    table: str
    columns: Schema
    """physical ones, those of partitions included"""
    partition_keys: tuple[str, ...] = ()
    metadata: tuple[tuple[str, DataType], ...] = ()
    """(key, type) of each metadata column"""

    @staticmethod
    def of(table: TableContext) -> Layout:
        """:raises TableException: a metadata key that there is not."""
        for _, key, _ in table.metadata:
            if key not in METADATA:
                raise TableException(
                    f"table {table.summary}: files have no metadata '{key}'{did_you_mean(key, METADATA)}; there are "
                    f"{', '.join(METADATA)}"
                )
        metadata = tuple((key, kind) for _, key, kind in table.metadata)
        return Layout(table.summary, table.columns, table.partition_keys, metadata)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def in_files(self) -> Schema:
        """What files have: all physical columns but those of partitions."""
        return tuple(column for column in self.columns if column.name not in self.partition_keys)

    @property
    def partition_columns(self) -> Schema:
        """In the order of PARTITIONED BY."""
        by_name = {column.name: column for column in self.columns}
        return tuple(by_name[key] for key in self.partition_keys)

    def partition_places(self) -> tuple[int, ...]:
        """Where the columns of partitions are among the physical ones."""
        return tuple(map(self.names.index, self.partition_keys))

    def file_places(self) -> tuple[int, ...]:
        """Where the columns of files are among the physical ones."""
        return tuple(place for place, column in enumerate(self.columns) if column.name not in self.partition_keys)

    def wanted(self, columns: Sequence[int]) -> Wanted:
        """What a scan of these columns (physical ones, then metadata) has to read."""
        width = len(self.columns)
        parts: list[tuple[str, str, DataType]] = []
        for index in columns:
            if index >= width:
                key, kind = self.metadata[index - width]
                parts.append(("metadata", key, kind))
            else:
                column = self.columns[index]
                place = "partition" if column.name in self.partition_keys else "file"
                parts.append((place, column.name, column.type))
        read = {name for place, name, _ in parts if place == "file"}
        return Wanted(tuple(parts), tuple(column for column in self.in_files if column.name in read))


@dataclass(frozen=True)
class Wanted:
    """The columns of a scan."""

    parts: tuple[tuple[str, str, DataType], ...]
    """('file', 'partition' or 'metadata'; name or key; type) of every column, in order"""
    in_files: tuple[Field, ...]
    """the columns that are read from files"""

    @property
    def needs_file_info(self) -> bool:
        """Whether the file system has to be asked about each file."""
        asked = {key for place, key, _ in self.parts if place == "metadata"}
        return bool(asked & {"file.size", "file.modification-time"})


DEFAULT_NAME = "__DEFAULT_PARTITION__"
"""the folder of NULL and of the empty text"""
# What neither every file system takes nor URIs show plainly.
_ESCAPED = re.compile("[\x00-\x1f\x7f\"#%'*/:=?\\\\{\\[\\]^]")
_KINDS = (
    t.CharType,
    t.VarCharType,
    t.BooleanType,
    t.IntegralType,
    t.FloatType,
    t.DoubleType,
    t.DecimalType,
    t.DateType,
    t.TimeType,
    t.TimestampType,
    t.LocalZonedTimestampType,
)


def check_partition_types(columns: Schema, table: str) -> None:
    """:raises TableException: a type whose values cannot be the name of a folder."""
    for column in columns:
        if not isinstance(column.type, _KINDS):
            raise TableException(
                f"table {table}: a table cannot be partitioned by '{column.name}' of type {column.type}: its values "
                f"are no names of folders"
            )


def escaped(text: str) -> str:
    """A name or value as part of a path."""
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


def folder_of(keys: Sequence[str], texts: Sequence[str]) -> str:
    """``dt=2024-05-06/hr=10``."""
    return "/".join(f"{escaped(key)}={escaped(text)}" for key, text in zip(keys, texts, strict=True))


def texts_of(folder: str) -> dict[str, str]:
    """Key -> value for every folder of a path that has both."""
    parts = (part.partition("=") for part in folder.split("/"))
    return {unquote(key): unquote(value) for key, equals, value in parts if equals}


def text_of(value: Any, kind: DataType, default_name: str) -> str:
    """A value (in the Python form of its type) as Java shows it."""
    if value is None:
        return default_name
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value) if isinstance(kind, t.FloatType) else double_text(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            instant = value.astimezone(dt.timezone.utc).replace(tzinfo=None)
            return f"{instant.isoformat(timespec=_fraction(instant.time()))}Z"
        return f"{value.date().isoformat()}T{_time_text(value.time())}"
    if isinstance(value, dt.time):
        return _time_text(value)
    return str(value) or default_name


def _time_text(value: dt.time) -> str:
    """Without seconds if they are zero; three or six digits of a fraction."""
    return value.isoformat("minutes" if not value.second and not value.microsecond else _fraction(value))


def _fraction(value: dt.time) -> str:
    return "seconds" if not value.microsecond else "microseconds" if value.microsecond % 1000 else "milliseconds"


def value_of(text: str, kind: DataType, default_name: str) -> Any:
    """The value (in its Python form) that a folder's name stands for.

    :raises CastError: it is none of that type.
    """
    if text == default_name:
        return None
    family = family_of(kind)
    if family is Family.TEXT:
        return text
    read = parser(kind, "UTC")
    assert read is not None, kind
    if family in (Family.TIMESTAMP, Family.INSTANT):
        text = text.removesuffix("Z").replace("T", " ", 1)
        if text.count(":") == 1:
            text += ":00"
    return read(text)


def partition_values(path: str, columns: Schema, default_name: str, table: str) -> list[Any]:
    """The values of a file's partition, from its path.

    :raises ValueError: the path does not say all of them, or not in their types.
    """
    texts = texts_of(path)
    values = []
    for column in columns:
        if column.name not in texts:
            raise ValueError(f"table {table}: {path} lies in no folder {column.name}=...")
        try:
            values.append(value_of(texts[column.name], column.type, default_name))
        except CastError as error:
            raise ValueError(f"table {table}: {path}, partition column '{column.name}': {error}") from error
    return values


class InPartition(NamedTuple):
    """Rows of one partition, with the columns of files: the element of a writer."""

    folder: str
    """the partition's folder, relative to the table's path; "" without partitions"""
    rows: Rows


class Partitioner:
    """Takes batches apart. Rows of a partition stay in their order."""

    def __init__(self, layout: Layout, default_name: str) -> None:
        self._keys = layout.partition_keys
        self._types = [column.type for column in layout.partition_columns]
        self._places = layout.partition_places()
        self._rest = layout.file_places()
        self._width = len(layout.columns)
        self._default_name = default_name
        self._folders: dict[tuple[Any, ...], str] = {}

    def split(self, rows: Rows) -> Iterator[InPartition]:
        """The rows by partition, without the columns that are in its name."""
        columns = rows.columns
        if len(columns) != self._width:
            raise ValueError("what file systems know of files cannot be written: declare such METADATA as VIRTUAL")
        kept = rows.with_columns([columns[place] for place in self._rest])
        if not self._keys:
            yield InPartition("", kept)
            return
        ids, first = _groups([columns[place] for place in self._places])
        folders = self._names([columns[place].take(pa.array(first)) for place in self._places])
        if len(first) == 1:
            yield InPartition(folders[0], kept)
            return
        order = np.argsort(ids, kind="stable")
        ordered = kept.take(order)
        start = 0
        for folder, count in zip(folders, np.bincount(ids, minlength=len(first)).tolist()):
            kinds = None if ordered.kinds is None else ordered.kinds[start : start + count]
            yield InPartition(folder, Rows(ordered.batch.slice(start, count), kinds))
            start += count

    def _names(self, columns: list[pa.Array]) -> list[str]:
        values = zip(*(to_python(column, kind) for column, kind in zip(columns, self._types)))
        return [self._name(each) for each in values]

    def _name(self, values: tuple[Any, ...]) -> str:
        # True and 1 are equal, but not the same text.
        key = (*values, *map(type, values))
        found = self._folders.get(key)
        if found is None:
            texts = [text_of(value, kind, self._default_name) for value, kind in zip(values, self._types)]
            found = folder_of(self._keys, texts)
            self._folders[key] = found
        return found


def _groups(columns: list[pa.Array]) -> tuple[Any, Any]:
    """(number of the group of each row, a row of each group)."""
    ids = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        codes = column.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
        ids = ids * (int(codes.max(initial=0)) + 1) + codes
        ids = np.unique(ids, return_inverse=True)[1]  # small numbers again
    _, first, ids = np.unique(ids, return_index=True, return_inverse=True)
    return ids, first
