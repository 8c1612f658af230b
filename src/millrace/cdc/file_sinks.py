"""``type: filesystem``: a folder for each table, with a log of its changes. ``type: values`` and ``print``: lines on
standard output.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from millrace.cdc.change_text import CANAL, DEBEZIUM, ChangeTexts, texts_of
from millrace.cdc.elements import Batch, PipelineSink, SinkElement
from millrace.cdc.pipeline_file import End, EndOptions, Pipeline
from millrace.cdc.transforms import EVENT_TYPE, CreateSinkTable
from millrace.common.functions import FlatMapFunction
from millrace.common.serialization import BulkWriter, BulkWriterFactory
from millrace.common.typeinfo import Types
from millrace.common.types import RowKind
from millrace.connectors.cdc.events import TableId, TableSchema
from millrace.connectors.file_system.file_sink import FileSink
from millrace.connectors.file_system.part_policies import (
    BucketAssigner,
    BucketContext,
    CheckpointRollingPolicy,
    OutputFileConfig,
    PartFileInfo,
    RollingPolicy,
)
from millrace.relational.type_table import arrow_type

if TYPE_CHECKING:
    from millrace.datastream import DataStream


PARQUET = "parquet"
_KINDS = pa.array([str(kind) for kind in RowKind])
_MINUTE = 60.0


def folder_of(table: TableId) -> str:
    """The folder of a table: ``schema/table``, with URL escapes for characters that a folder's name cannot contain."""
    return "/".join(quote(part, safe=" ") for part in (table.namespace, table.schema, table.table) if part)


class TableFolders(BucketAssigner):
    """Assigns tables to folders, and remembers the schema of each file."""

    def __init__(self) -> None:
        self._schemas: dict[str, TableSchema] = {}
        self.changed: set[str] = set()

    def get_bucket_id(self, element: Batch, context: BucketContext) -> str:
        folder = folder_of(element.table)
        if self._schemas.setdefault(folder, element.schema) != element.schema:
            self._schemas[folder] = element.schema
            self.changed.add(folder)
        return folder


class SchemaRollingPolicy(CheckpointRollingPolicy):
    """Closes a file at the end of each epoch, and when its table's schema changes."""

    def __init__(self, folders: TableFolders) -> None:
        self._folders = folders

    def should_roll_on_event(self, part: PartFileInfo, element: Any) -> bool:
        changed = part.bucket_id in self._folders.changed
        self._folders.changed.discard(part.bucket_id)
        return changed

    def should_roll_on_processing_time(self, part: PartFileInfo, current_time: int) -> bool:
        return False


class _ParquetWriter(BulkWriter):
    """Writes rows with their kinds (+I, -U, +U, -D) in the last column."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._writer: Any = None

    def add_element(self, element: Batch) -> None:
        schema = element.schema
        names = [*schema.names, EVENT_TYPE]
        if self._writer is None:
            fields = [(name, arrow_type(kind)) for name, kind in zip(schema.names, schema.types)]
            self._writer = pq.ParquetWriter(self._stream, pa.schema([*fields, (EVENT_TYPE, pa.string())]))
        kinds = _KINDS.take(pa.array(element.rows.kind_values()))
        self._writer.write_table(pa.table([*element.rows.columns, kinds], names).cast(self._writer.schema))

    def flush(self) -> None:
        pass

    def finish(self) -> None:
        if self._writer is not None:
            self._writer.close()


class ParquetFactory(BulkWriterFactory):
    def create(self, stream: BinaryIO) -> BulkWriter:
        return _ParquetWriter(stream)


class Lines:
    """Writes messages as lines."""

    def __init__(self, texts: ChangeTexts) -> None:
        self._texts = texts

    def encode(self, element: Batch) -> bytes:
        return "".join(f"{text}\n" for _, text in self._texts.of(element)).encode()


class FilesPipelineSink(PipelineSink):
    """:raises PipelineError: an option is wrong."""

    def __init__(self, pipeline: Pipeline) -> None:
        known = ("path", "format", "sink.rolling-policy.file-size", "sink.rolling-policy.rollover-interval")
        options = EndOptions(pipeline.sink, known)
        path, form = options.needed("path"), options.one_of("format", DEBEZIUM, (DEBEZIUM, CANAL, PARQUET))
        folders = TableFolders()
        if form == PARQUET:
            builder: Any = FileSink.for_bulk_format(path, ParquetFactory())
            builder.with_rolling_policy(SchemaRollingPolicy(folders))
        else:
            builder = FileSink.for_row_format(path, Lines(ChangeTexts(form)))
            size = options.size("sink.rolling-policy.file-size", 128 << 20)
            age = int(options.seconds("sink.rolling-policy.rollover-interval", _MINUTE) * 1000)
            builder.with_rolling_policy(RollingPolicy.default_rolling_policy(size, age, age))
        suffix = ".parquet" if form == PARQUET else ".json"
        builder.with_bucket_assigner(folders).with_output_file_config(OutputFileConfig("part", suffix))
        self._sink: FileSink[SinkElement] = builder.build()

    def attach(self, stream: DataStream) -> Any:
        rows = stream.filter(lambda element: isinstance(element, Batch)).name("Rows")
        return rows.sink_to(self._sink)


_OPTIONS = ("print.enabled", "error.on.schema.change")


class Texts(FlatMapFunction):
    """Writes a line for each change."""

    def __init__(self, refuses_changes: bool) -> None:
        self._refuses = refuses_changes

    def flat_map(self, value: SinkElement) -> Iterator[str]:
        element = value if isinstance(value, Batch) else value.event
        if self._refuses and not isinstance(element, (Batch, CreateSinkTable)):
            raise RuntimeError(f"the sink takes no changes of schemas ('error.on.schema.change'): {element}")
        return texts_of(element)


class PrintingSink(PipelineSink):
    def __init__(self, end: End) -> None:
        options = EndOptions(end, _OPTIONS)
        self._prints = options.flag("print.enabled", True)
        self._refuses = options.flag("error.on.schema.change")

    def attach(self, stream: DataStream) -> Any:
        texts = stream.flat_map(Texts(self._refuses), Types.STRING()).name("Texts")
        if not self._prints:
            return texts.filter(lambda text: False).name("Nothing is printed").print()
        return texts.print()
