"""Reading a table of files."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millrace.common.files.file_systems import open_file_system
from millrace.common.source import Source
from millrace.common.time import Duration
from millrace.connectors.file_system.format import BulkFormat, SplitRecords
from millrace.connectors.file_system.source import FileSource
from millrace.connectors.file_system.split import FileSplit
from millrace.connectors.tables.filesystem.files import TableFiles, constant
from millrace.connectors.tables.filesystem.formats.base import FileTableFormat
from millrace.connectors.tables.filesystem.formats.conform import conformed
from millrace.connectors.tables.filesystem.layout.columns import METADATA, Layout, Wanted
from millrace.connectors.tables.filesystem.layout.partitions import partition_values
from millrace.relational.rex import Rex, refs, remap
from millrace.relational.rows import Rows
from millrace.relational.rules.determinism import is_deterministic, is_expensive
from millrace.relational.sources import TableSource

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
