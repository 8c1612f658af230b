"""What a data source of Spark has, looked up: read once, on the driver, and sent to the tasks."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millrace.connectors.lookup.index import Index
from millrace.connectors.tables.filesystem.formats.conform import conformed
from millrace.relational.sources import LookupTableSource
from millrace.spark.sessions.families import session_of_program
from millrace.spark.tables.fetching import fetched
from millrace.spark.tables.settings import active, child_session

if TYPE_CHECKING:
    from millrace.spark.tables.passthrough import SparkSource


class SparkLookup(LookupTableSource):
    """The whole table, read by Spark when the job is made for its tasks, and found by key in each of them.

    :param content: its columns, as Arrow writes them; None: not read yet.
    """

    def __init__(self, source: SparkSource, key: Sequence[int], content: bytes | None = None) -> None:
        self._source = source
        self._key = tuple(key)
        self._content = content

    def __reduce__(self) -> tuple[Any, ...]:
        self._content = self._content or self._read()
        return SparkLookup, (self._source, self._key, self._content), {"table": self.table}

    def _read(self) -> bytes:
        session = child_session(session_of_program())
        with active(session):
            found = fetched(self._source.frame(session, range(len(self._source.context.columns))))
        stream = io.BytesIO()
        with pa.ipc.new_stream(stream, found.schema) as writer:
            writer.write_table(found)
        return stream.getvalue()

    def open(self) -> None:
        found = pa.ipc.open_stream(self._content or self._read()).read_all()
        kinds = [column.type for column in self._source.context.columns]
        columns = [conformed(found.column(place), kind) for place, kind in enumerate(kinds)] if len(found) else []
        self._index = Index(columns, kinds, self._key)

    def lookup(self, keys: Sequence[tuple[Any, ...]]) -> Iterable[Sequence[tuple[Any, ...]]]:
        return self._index.find(keys)
