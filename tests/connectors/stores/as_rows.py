"""Gives texts to a sink of rows, for the kit for connectors."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from millrace.common.sink import NamedSink, Sink, SinkWriter, WriterInitContext
from millrace.relational.rows import Rows, record_batch


class AsRows(NamedSink[str]):
    """Rows of one column, a text each."""

    def __init__(self, sink: Sink[Rows]) -> None:
        self._sink = sink

    def for_operator(self, uid: str) -> AsRows:
        return AsRows(self._sink.for_operator(uid))

    def create_writer(self, context: WriterInitContext) -> SinkWriter[str]:
        return AsRowsWriter(self._sink.create_writer(context), self._columns)

    def create_committer(self) -> Any:
        return self._sink.create_committer()

    def _columns(self, element: str) -> list[Any]:
        return [pa.array([element])]


class AsRowsWriter(SinkWriter[str]):
    def __init__(self, below: SinkWriter[Rows], columns: Any) -> None:
        self._below = below
        self._columns = columns

    def write(self, element: str, context: Any) -> None:
        self._below.write(Rows(record_batch(self._columns(element), 1)), context)

    def flush(self, end_of_input: bool) -> None:
        self._below.flush(end_of_input)

    def prepare_commit(self) -> list[Any]:
        return self._below.prepare_commit()

    def close(self) -> None:
        self._below.close()
