"""``spark``: tables that a data source of Spark reads and writes. ``'format'`` is its name, other options are its."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from millrace.common.source import Source
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.relational.sources import LookupTableSource, TableContext, TableFactory, TableSink, TableSource
from millrace.relational.type_table import type_parts
from millrace.relational.types import RawType
from millrace.spark.sessions.families import session_of_program
from millrace.spark.tables.adopting import adopted, checked
from millrace.spark.tables.spark_lookup import SparkLookup
from millrace.spark.tables.staging import StagedSource
from millrace.spark.tables.texts.types import quoted, spark_schema
from millrace.util.exceptions import TableException

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
