"""Older ways to read: ``generate_sequence``, ``read_file`` with an input format."""

from __future__ import annotations

from typing import Any

from millrace.common.source import Source
from millrace.common.typeinfo import TypeInformation, Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.file_system import FileSource, StreamFormat
from millrace.datastream.data_stream import DataStream
from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from millrace.legacy.telling import tell

__all__ = ["TextInputFormat", "generate_sequence", "read_file"]


def TextInputFormat(file_path: str, charset_name: str = "UTF-8") -> Source[Any, Any]:
    """The lines of files, for ``create_input`` and ``read_file``."""
    tell("TextInputFormat", "FileSource.for_record_stream_format(StreamFormat.text_line_format(), path)")
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(charset_name), file_path).build()


def generate_sequence(env: StreamExecutionEnvironment, start: int, end: int) -> DataStream:
    """The numbers from start to end, both included."""
    tell("StreamExecutionEnvironment.generate_sequence()", "from_sequence(start, end)")
    return env.from_sequence(start, end)


def read_file(
    env: StreamExecutionEnvironment,
    input_format: Source[Any, Any] | StreamFormat[Any],
    file_path: str | None = None,
    type_info: TypeInformation | None = None,
) -> DataStream:
    """The records of files in a format."""
    tell("StreamExecutionEnvironment.read_file()", "from_source(FileSource...)")
    source: Any = input_format
    if not isinstance(source, Source):
        if file_path is None:
            raise TypeError("read_file() takes a format and a path")
        source = FileSource.for_record_stream_format(source, file_path).build()
    return env._read(source, WatermarkStrategy.no_watermarks(), "Custom File Source", type_info or Types.STRING())
