"""Deprecated ways to read and write streams:

Kafka's classes with a version in their name, ``read_file``, ``write_as_text``. Kafka's client supports brokers of every
version.
"""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

from millrace.common.serialization import Encoder
from millrace.common.source import Source
from millrace.common.typeinfo import TypeInformation, Types
from millrace.common.watermark_strategy import WatermarkStrategy
from millrace.connectors.file_system import FileSink, FileSource, StreamFormat
from millrace.connectors.kafka.kafka_legacy import FlinkKafkaConsumer, FlinkKafkaProducer
from millrace.datastream.data_stream import DataStream
from millrace.datastream.handles import DataStreamSink
from millrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from millrace.legacy.warning import tell


class _Consumer(FlinkKafkaConsumer):
    """A deprecated Kafka consumer, based on ``KafkaSource``."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        tell(type(self).__name__, "KafkaSource")
        super().__init__(*args, **keywords)


class _Producer(FlinkKafkaProducer):
    """A deprecated Kafka producer, based on ``KafkaSink``."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        tell(type(self).__name__, "KafkaSink")
        super().__init__(*args, **keywords)


class FlinkKafkaConsumer08(_Consumer): ...


class FlinkKafkaConsumer09(_Consumer): ...


class FlinkKafkaConsumer010(_Consumer): ...


class FlinkKafkaConsumer011(_Consumer): ...


class FlinkKafkaProducer08(_Producer): ...


class FlinkKafkaProducer09(_Producer): ...


class FlinkKafkaProducer010(_Producer): ...


class FlinkKafkaProducer011(_Producer): ...


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
    """Writes a tuple as a line of CSV."""

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
    """Refuse to write to an existing path.

    :raises FileExistsError: there is something already.
    """
    if str(getattr(write_mode, "name", write_mode)) == "OVERWRITE":
        raise ValueError("write_as_text() and write_as_csv() don't overwrite: delete the folder before the job")
    parts = urlsplit(path)
    local = parts.path if parts.scheme == "file" else path
    if parts.scheme in ("", "file") and os.path.exists(local):
        raise FileExistsError(f"{path} is there already: older Flink's files are written into a new place")
