"""The connector ``spark``: tables that a data source of Spark reads and writes.

``'format'`` is the data source's name, other options are its own. In a streaming query one Spark job writes the rows
into files, which the query reads. A look-up reads the table once, on the driver, and sends it to the tasks.
"""

from __future__ import annotations

import io
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from millrace.common.source import Boundedness, Source, SourceReader, SourceReaderContext, SplitEnumeratorContext
from millrace.connectors.file_system.file_listing import FileEnumeratorProvider
from millrace.connectors.file_system.file_source import FileSource, StaticEnumerator
from millrace.connectors.file_system.file_stream import FileSplit
from millrace.connectors.file_system.table.bulk_formats import ParquetTableFormat
from millrace.connectors.file_system.table.filesystem_source import Reading
from millrace.connectors.file_system.table.table_format import conformed
from millrace.connectors.file_system.table.table_layout import Layout
from millrace.connectors.tables.full_lookup import Index
from millrace.relational.nodes import Field
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.relational.sources import LookupTableSource, TableContext, TableFactory, TableSink, TableSource
from millrace.relational.type_table import type_parts
from millrace.relational.types import DataType, RawType
from millrace.spark.sessions.session import session_of_program
from millrace.spark.tables.child_session import active, child_session, fetched
from millrace.spark.tables.steps.computed import typed
from millrace.spark.tables.steps.spark_types import adopted, checked, quoted, spark_schema
from millrace.util.exceptions import TableException


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


class StagedSource(Source[Rows, FileSplit]):
    """Bounded: the rows that the data source has when the job begins. A job that goes on after a failure, or from a
    savepoint, reads the rest of the same files.

    :param folder: where the files go, visible to all machines; they stay there. None: a temporary directory of this
        machine, which goes with the job.
    """

    def __init__(
        self, source: SparkSource, columns: tuple[int, ...], filters: tuple[Rex, ...], folder: str | None
    ) -> None:
        self._source = source
        self._columns = columns
        self._filters = filters
        self._folder = folder

    def get_boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(
        self, context: SplitEnumeratorContext[FileSplit], checkpoint: Sequence[FileSplit] | None = None
    ) -> StagingEnumerator:
        return StagingEnumerator(context, self._reading(), checkpoint, self)

    def create_reader(self, context: SourceReaderContext) -> SourceReader[Rows, FileSplit]:
        return FileSource.for_bulk_file_format(self._reading(), "/").build().create_reader(context)

    def _reading(self) -> Reading:
        columns = tuple(Field(f"c{place}", kind) for place, kind in enumerate(self._types()))
        layout = Layout(self._source.context.summary, columns)
        return Reading(layout, layout.wanted(range(len(columns))), ParquetTableFormat(columns, {}, layout.table), "")

    def _types(self) -> list[DataType]:
        return [self._source.context.columns[index].type for index in self._columns]

    def stage(self) -> tuple[str, bool]:
        """(folder with the rows as Parquet files, whether it goes with the job)."""
        folder = tempfile.mkdtemp(prefix="millrace-staged-") if self._folder is None else self._folder
        target = f"{folder.rstrip('/')}/{uuid.uuid4().hex}"
        columns = tuple(Field(f"c{place}", kind) for place, kind in enumerate(self._types()))
        session = child_session(session_of_program())
        with active(session):
            frame = self._source.frame(session, self._columns, self._filters)
            typed(frame, columns).write.parquet(target)
        return target, self._folder is None

    def __repr__(self) -> str:
        return f"StagedSource({self._source.context.summary})"


class StagingEnumerator(StaticEnumerator):
    """Lets Spark write the rows when the job begins."""

    def __init__(
        self,
        context: SplitEnumeratorContext[FileSplit],
        reading: Reading,
        restored: Sequence[FileSplit] | None,
        source: StagedSource,
    ) -> None:
        provider = FileEnumeratorProvider.default_splittable_file_enumerator()
        super().__init__(context, provider, reading, (), restored)
        self._source = source
        self._temporary: str | None = None

    def start(self) -> None:
        if not self._restored:
            folder, temporary = self._source.stage()
            self._paths = (folder,)
            self._temporary = folder if temporary else None
        super().start()

    def close(self) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary.rpartition("/")[0], ignore_errors=True)
        super().close()


STAGING = "staging-path"
_OURS = frozenset({"connector", "format", "path", STAGING})
_LOOKUP = "lookup."
_WITH_SCHEMA = frozenset({"csv", "json", "xml", "parquet", "orc", "avro", "text"})
"""data sources of files: they read what a schema says, and some know none without it"""


class SparkSource(TableSource):
    """Bounded: what the data source has when the query begins."""

    def __init__(self, table: TableContext) -> None:
        """:raises TableException: a column is of a type whose values are pickles."""
        for column in table.columns:
            if any(isinstance(part, RawType) for part in type_parts(column.type)):
                raise TableException(
                    f"table {table.summary}: column '{column.name}' is {column.type}, whose values are pickles: "
                    f"reading those of others would run their code. Read BYTES, and unpickle what you trust yourself"
                )
        self.context = table

    def frame(self, session: Any, columns: Sequence[int], filters: Sequence[Rex] = ()) -> DataFrame:
        loaded = self._loaded(session_of_program(session))
        frame = checked(adopted(loaded, session), self.context.columns, self.context.summary)
        names = [self.context.columns[index].name for index in columns]
        return frame.select(*(F.col(quoted(name)).alias(f"c{place}") for place, name in enumerate(names)))

    def _loaded(self, session: SparkSession) -> DataFrame:
        format, options = self.context.options["format"], _options(self.context)
        reader = session.read.format(format).options(**options)
        if format.lower() in _WITH_SCHEMA:
            kinds = spark_schema([column.type for column in self.context.columns])
            for field, column in zip(kinds.fields, self.context.columns):
                field.name = column.name
            kinds.names = [field.name for field in kinds.fields]
            reader = reader.schema(kinds)
        path = self.context.options.get("path")
        return reader.load() if path is None else reader.load(path)

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        return StagedSource(self, tuple(columns), tuple(filters), self.context.options.get(STAGING))


class SparkSink(TableSink):
    """Written by Spark, in batch mode only."""

    writes_frames = True

    def __init__(self, table: TableContext) -> None:
        self._table = table

    def write_frame(self, frame: DataFrame, overwrite: bool, partition: Mapping[str, Any]) -> None:
        table = self._table
        named = frame.select(*(F.col(f"c{place}").alias(column.name) for place, column in enumerate(table.columns)))
        # The session that knows the user's own data sources writes.
        writer = adopted(named, session_of_program(frame.sparkSession)).write.format(table.options["format"])
        writer = writer.options(**_options(table)).mode("overwrite" if overwrite else "append")
        if table.partition_keys:
            writer = writer.partitionBy(*table.partition_keys).option("partitionOverwriteMode", "dynamic")
        path = table.options.get("path")
        if path is None:
            writer.save()
        else:
            writer.save(path)

    def stream(self) -> Any:
        raise TableException(
            f"table {self._table.summary}: connector 'spark' is written to in batch mode only; in streaming mode use "
            f"'filesystem' for files, or the connector of the system"
        )


class SparkFactory(TableFactory):
    """``'format'``: any data source of Spark, be it built in, of a package, or registered by the program;
    ``'path'``: for those that have one; ``'staging-path'``: where streaming queries keep what they read."""

    identifier = "spark"
    required = ("format",)
    hands_on = True

    def source(self, table: TableContext) -> TableSource:
        if table.metadata:
            raise TableException(f"table {table.summary}: connector 'spark' has no metadata columns")
        return SparkSource(table)

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        if table.options.get("lookup.cache", "FULL").upper() != "FULL":
            raise TableException(f"table {table.summary}: 'lookup.cache' of connector 'spark' is FULL")
        more = [name for name in table.options if name.startswith(_LOOKUP) and name != "lookup.cache"]
        if more:
            raise TableException(
                f"table {table.summary}: '{more[0]}': what connector 'spark' gives is looked up as it is when the job "
                f"begins; only Spark could read it again, and look-ups are not made there"
            )
        return SparkLookup(SparkSource(table), key)

    def sink(self, table: TableContext) -> TableSink:
        return SparkSink(table)


def _options(table: TableContext) -> dict[str, str]:
    return {name: value for name, value in table.options.items() if name not in _OURS and not name.startswith(_LOOKUP)}
