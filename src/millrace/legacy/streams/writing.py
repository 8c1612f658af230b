"""Older ways to write: ``write_as_text``, ``write_as_csv``."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

from millrace.common.serialization import Encoder
from millrace.common.typeinfo import Types
from millrace.connectors.file_system import FileSink
from millrace.datastream.data_stream import DataStream, DataStreamSink
from millrace.legacy.telling import tell

__all__ = ["write_as_csv", "write_as_text"]


def write_as_text(stream: DataStream, path: str, write_mode: Any = None) -> DataStreamSink:
    """A line for each element, in files of a new folder: its text as that of ``FileSink``, ``(a,1)`` of a tuple."""
    tell("DataStream.write_as_text()", "sink_to(FileSink.for_row_format(path, Encoder...).build())")
    return _written(stream, path, write_mode)


def write_as_csv(
    stream: DataStream, path: str, write_mode: Any = None, row_delimiter: str = "\n", field_delimiter: str = ","
) -> DataStreamSink:
    """A line for each tuple or Row, in files of a new folder. Fields are not quoted, as in Flink."""
    tell("DataStream.write_as_csv()", "sink_to(FileSink...), with CsvBulkWriters.for_schema(...)")
    if row_delimiter != "\n":
        raise ValueError(f"write_as_csv(): lines end with a newline, not {row_delimiter!r}")
    return _written(stream.map(CsvLine(field_delimiter), Types.STRING()), path, write_mode)


class CsvLine:
    """A tuple as a line."""

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter

    def __call__(self, value: Any) -> str:
        try:
            fields = list(value) if not isinstance(value, str) else [value]
        except TypeError:
            raise TypeError(f"write_as_csv() writes tuples and Rows, not {type(value).__name__}") from None
        return self._delimiter.join("" if field is None else str(field) for field in fields)


def _written(lines: DataStream, path: str, write_mode: Any) -> DataStreamSink:
    _check(path, write_mode)
    return lines.sink_to(FileSink.for_row_format(path, Encoder.simple_string_encoder()).build())


def _check(path: str, write_mode: Any) -> None:
    """Nothing is written over, and nothing taken away.

    :raises FileExistsError: there is something already.
    """
    if str(getattr(write_mode, "name", write_mode)) == "OVERWRITE":
        raise ValueError("write_as_text() and write_as_csv() don't overwrite: delete the folder before the job")
    parts = urlsplit(path)
    local = parts.path if parts.scheme == "file" else path
    if parts.scheme in ("", "file") and os.path.exists(local):
        raise FileExistsError(f"{path} is there already: older Flink's files are written into a new place")
