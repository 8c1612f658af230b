"""``FileSystemSource``: reads a table of files.

Conditions leave out partitions and files before they are opened; columns that lie in folders' names are added to the
rows.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from millrace.common.files.file_systems import open_file_system
from millrace.common.source import Source
from millrace.common.time import Duration
from millrace.connectors.file_system.file_format import BulkFormat, SplitRecords
from millrace.connectors.file_system.file_listing import FileEnumeratorProvider, FoundFile
from millrace.connectors.file_system.file_source import FileSource
from millrace.connectors.file_system.file_stream import FileSplit
from millrace.connectors.file_system.table.table_format import FileTableFormat, conformed
from millrace.connectors.file_system.table.table_layout import METADATA, Layout, Wanted, partition_values
from millrace.relational.functions.evaluate import Evaluator, repeat
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rex import Rex, refs, remap
from millrace.relational.rows import Rows
from millrace.relational.rules.filters_and_projections import is_deterministic, is_expensive
from millrace.relational.sources import TableSource
from millrace.relational.type_table import arrow_type
from millrace.relational.values import to_arrow


@dataclass(frozen=True)
class TableFiles(FileEnumeratorProvider):
    """Lists the files of a table."""

    layout: Layout = field(kw_only=True)
    default_name: str = ""
    """name of a partition's folder that stands for NULL"""
    pattern: str | None = None
    """regular expression for the whole path of a file; None: all files"""
    conditions: tuple[Rex, ...] = ()
    """over the partition columns, numbered as in PARTITIONED BY"""
    zone: str = "UTC"
    """the session's time zone"""

    def files(self, paths: tuple[str, ...], by_time: bool) -> list[FoundFile]:
        try:
            found = super().files(paths, by_time)
        except FileNotFoundError:
            if not self.layout.partition_keys:
                raise
            return []  # before the first row is written there is no folder
        if self.pattern is not None:
            pattern = re.compile(self.pattern)
            found = [file for file in found if pattern.fullmatch(file.path)]
        return self._in_partitions(found) if self.conditions else found

    def _in_partitions(self, files: list[FoundFile]) -> list[FoundFile]:
        """The files of the partitions for which every condition is TRUE."""
        folders = list(dict.fromkeys(map(_folder, files)))
        columns = self.layout.partition_columns
        rows = [partition_values(each + "/", columns, self.default_name, self.layout.table) for each in folders]
        arrays = [to_arrow([row[place] for row in rows], each.type) for place, each in enumerate(columns)]
        evaluator = Evaluator(arrays, Surroundings(len(rows), self.zone))
        kept = set(folders)
        for condition in self.conditions:
            kept &= set(_passing(evaluator, condition, folders))
        return [file for file in files if _folder(file) in kept]


def _folder(file: FoundFile) -> str:
    return file.path.rpartition("/")[0]


def _passing(evaluator: Evaluator, condition: Rex, folders: list[str]) -> list[str]:
    try:
        passes = evaluator.mask(condition).tolist()
    except (ValueError, ArithmeticError):
        # What fails for some partition fails for its rows, too, if they get that far.
        return folders
    return [folder for folder, each in zip(folders, passes) if each]


def constant(value: Any, kind: Any, length: int) -> Any:
    """A column of equal values, given in their Python form."""
    if value is None:
        return pa.nulls(length, arrow_type(kind))
    return repeat(to_arrow([value], kind)[0], length)


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
MOST_HEADS = 256
"""files that are asked how many rows they have before a query begins"""


class FileSystemSource(TableSource):
    """A table of files.

    :param path: a file, a folder, a glob or a URI.
    :param monitor_ms: how often to look for new files; None: the files that are there.
    :param pattern: what the whole path of a file has to match.
    """

    uses_filters = True

    def __init__(
        self,
        path: str,
        layout: Layout,
        format: FileTableFormat,
        default_name: str,
        monitor_ms: int | None = None,
        pattern: str | None = None,
        zone: str = "UTC",
    ) -> None:
        self.path = path
        self.layout = layout
        self.format = format
        self.default_name = default_name
        self.monitor_ms = monitor_ms
        self.pattern = pattern
        self.zone = zone
        self.kinds = format.kinds
        self.bounded = monitor_ms is None

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        wanted = self.layout.wanted(columns)
        reading = Reading(self.layout, wanted, self.format, self.default_name, self._of_files(wanted, filters))
        builder = FileSource.for_bulk_file_format(reading, self.path).set_file_enumerator(self.files(filters))
        if self.monitor_ms is not None:
            builder.monitor_continuously(Duration.of_millis(self.monitor_ms))
        return builder.build()

    def files(self, filters: Sequence[Rex]) -> TableFiles:
        """What lists the files that are to be read under these conditions."""
        places = {place: at for at, place in enumerate(self.layout.partition_places())}
        return TableFiles(
            layout=self.layout,
            default_name=self.default_name,
            pattern=self.pattern,
            conditions=_only(filters, places),
            zone=self.zone,
        )

    def counted_rows(self) -> int | None:
        """What the heads of the files say, if all of them do."""
        if self.monitor_ms is not None or "://" in self.path:
            return None
        files = self.files(()).files((self.path,), by_time=False)
        if len(files) > MOST_HEADS or any(file.root for file in files):
            return None
        counts = [self.format.counted_rows(file.path) for file in files]
        return None if None in counts else sum(each or 0 for each in counts)

    def _of_files(self, wanted: Wanted, filters: Sequence[Rex]) -> tuple[Rex, ...]:
        """The conditions over nothing but columns that are read from files, numbered as there."""
        names = [column.name for column in wanted.in_files]
        all_names = self.layout.names
        return _only(filters, {all_names.index(name): at for at, name in enumerate(names)})


def _only(filters: Sequence[Rex], places: dict[int, int]) -> tuple[Rex, ...]:
    """The conditions over nothing but some columns, numbered again."""
    return tuple(
        remap(each, places)
        for each in filters
        if refs(each) and refs(each) <= places.keys() and is_deterministic(each) and not is_expensive(each)
    )


@dataclass(frozen=True)
class Reading(BulkFormat[Rows]):
    """Files as ``Rows`` of the columns that a scan wants."""

    layout: Layout
    wanted: Wanted
    format: FileTableFormat
    default_name: str
    filters: tuple[Rex, ...] = ()
    """over the columns that are read from files"""

    def is_splittable(self, path: str) -> bool:
        return self.format.is_splittable(path)

    def open(self, split: FileSplit) -> SplitRecords[Rows]:
        records = self.format.open(split, self.wanted.in_files, self.filters)
        in_files = [column.name for column in self.wanted.in_files]
        if in_files == [name if place == "file" else None for place, name, _ in self.wanted.parts]:
            return records
        return _Widened(records, self._constants(split), self.wanted)

    def _constants(self, split: FileSplit) -> dict[str, Any]:
        """Name or key -> the value that all rows of the file share."""
        layout = self.layout
        found: dict[str, Any] = {}
        if any(place == "partition" for place, _, _ in self.wanted.parts):
            values = partition_values(split.path, layout.partition_columns, self.default_name, layout.table)
            found.update(zip(layout.partition_keys, values))
        found["file.path"], found["file.name"] = split.path, split.path.rpartition("/")[2]
        if self.wanted.needs_file_info:
            info = open_file_system(split.root)[0].get_file_info(split.path)
            found["file.size"] = info.size
            found["file.modification-time"] = _EPOCH + dt.timedelta(milliseconds=(info.mtime_ns or 0) // 1_000_000)
        return found


class _Widened(SplitRecords[Rows]):
    """Rows of a file with columns that do not lie in it."""

    def __init__(self, records: SplitRecords[Rows], constants: dict[str, Any], wanted: Wanted) -> None:
        self._records = records
        self._constants = constants
        self._parts = wanted.parts
        self._places = {column.name: place for place, column in enumerate(wanted.in_files)}

    def read_batch(self) -> list[Rows] | None:
        found = self._records.read_batch()
        self.parse_errors = self._records.parse_errors
        return None if found is None else [self._widened(rows) for rows in found]

    def _widened(self, rows: Rows) -> Rows:
        columns = []
        for place, name, kind in self._parts:
            if place == "file":
                columns.append(rows.batch.column(self._places[name]))
            elif place == "partition":
                columns.append(constant(self._constants[name], kind, len(rows)))
            else:
                columns.append(conformed(constant(self._constants[name], METADATA[name], len(rows)), kind))
        return rows.with_columns(columns)

    def position(self) -> int:
        return self._records.position()

    def close(self) -> None:
        self._records.close()
