"""Gives texts to a sink of rows, for the kit for connectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from millrace.common.sink import NamedSink, Sink, SinkWriter, WriterInitContext
from millrace.relational.rows import Rows, record_batch

Columns = Callable[[str], list[Any]]


def alone(element: str) -> list[Any]:
    return [pa.array([element])]


class AsRows(NamedSink[str]):
    """A row for each text. :param columns: what its columns are."""

    def __init__(self, sink: Sink[Rows], columns: Columns = alone) -> None:
        self._sink = sink
        self._columns = columns

    def for_operator(self, uid: str) -> AsRows:
        return AsRows(self._sink.for_operator(uid), self._columns)

    def create_writer(self, context: WriterInitContext) -> SinkWriter[str]:
        return AsRowsWriter(self._sink.create_writer(context), self._columns)

    def create_committer(self) -> Any:
        return self._sink.create_committer()


class AsRowsWriter(SinkWriter[str]):
    def __init__(self, below: SinkWriter[Rows], columns: Columns) -> None:
        self._below = below
        self._columns = columns

    def write(self, element: str, context: Any) -> None:
        self._below.write(Rows(record_batch(self._columns(element), 1)), context)

    def end_slice(self, now: int) -> None:
        self._below.end_slice(now)

    def flush(self, end_of_input: bool) -> None:
        self._below.flush(end_of_input)

    def prepare_commit(self) -> list[Any]:
        return self._below.prepare_commit()

    def close(self) -> None:
        self._below.close()
