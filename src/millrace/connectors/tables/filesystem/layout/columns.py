"""Which column of a table lies where: in the files, in the names of folders, in what a file system knows of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millrace.relational import types as t
from millrace.relational.nodes import Field, Schema
from millrace.relational.sources import TableContext
from millrace.relational.types import DataType
from millrace.util.exceptions import TableException
from millrace.util.similar import did_you_mean

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
    """those that are read from files"""

    @property
    def needs_file_info(self) -> bool:
        """Whether the file system has to be asked about each file."""
        asked = {key for place, key, _ in self.parts if place == "metadata"}
        return bool(asked & {"file.size", "file.modification-time"})
