"""``'connector' = 'jdbc'`` for databases that only Java has a driver for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from millrace.common.source import Source
from millrace.connectors.tables.jdbc.options import COMMON, SCAN, SINK
from millrace.connectors.tables.stores.options import LOOKUP
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.relational.sources import LookupTableSource, TableContext, TableFactory, TableSink, TableSource
from millrace.spark.sessions.families import session_of_program
from millrace.spark.tables.adopting import adopted, checked
from millrace.spark.tables.databases.place import FETCH, Place, refused
from millrace.spark.tables.databases.scan import given_to_spark, relation
from millrace.spark.tables.texts.types import quoted, spark_type
from millrace.util.exceptions import TableException

logger = logging.getLogger(__name__)

_NEAREST = (
    "read its changes as a stream from Kafka, in Debezium's format, or what it has at the moment by connector 'spark' "
    "with 'format' = 'jdbc'"
)
_LONG_DIGITS, _INT_DIGITS = 18, 9


class OtherDatabaseFactory(TableFactory):
    identifier = "jdbc"
    required = ("url", "table-name")
    optional = (*COMMON, *SCAN, *LOOKUP, *SINK)

    def source(self, table: TableContext) -> TableSource:
        return OtherDatabaseSource(table)

    def lookup_source(self, table: TableContext, key: Sequence[int]) -> LookupTableSource:
        found: LookupTableSource = refused(table, "it is not looked up; in batch mode join it like any table")
        return found

    def sink(self, table: TableContext) -> TableSink:
        return OtherDatabaseSink(table)


class OtherDatabaseSource(TableSource):
    """Reads by Spark's own JDBC source."""

    uses_filters = True

    def __init__(self, table: TableContext) -> None:
        self._place = place = Place(table)
        self._context = table
        options = place.options
        self._partitions = options.partitions
        self._fetch = options.not_negative("scan.fetch-size", 0) or FETCH
        policies = ("always", "never", "indexed-only")
        self._pushes = options.one_of("filter.handling.policy", "always", policies) != "never"

    def frame(self, session: Any, columns: Sequence[int], filters: Sequence[Rex] = ()) -> DataFrame:
        place, context, own = self._place, self._context, session_of_program(session)
        schema = place.schema(own)
        names = place.names(schema)
        wanted = [context.columns[index].name for index in columns]
        given = self._cut(names) | {
            "fetchsize": str(self._fetch),
            "pushDownPredicate": str(self._pushes and given_to_spark(context.columns, wanted)).lower(),
        }

        def loaded_with(pushed: Sequence[Rex]) -> DataFrame:
            there = relation(place.name, wanted, pushed, context.columns, names, self._partitions)
            return place.reader(own, **given, dbtable=there).load()

        loaded = self._loaded(loaded_with, filters if self._pushes else ())
        kinds = {field.name: field.dataType for field in schema.fields}
        read = [column for column in context.columns if column.name in wanted]
        named = loaded.select(
            *(_fitting(names[each.name], kinds, spark_type(each.type)).alias(each.name) for each in read)
        )
        frame = checked(adopted(named, session), tuple(read), context.summary)
        return frame.select(*(F.col(quoted(name)).alias(f"c{number}") for number, name in enumerate(wanted)))

    def _loaded(self, loaded_with: Callable[[Sequence[Rex]], DataFrame], filters: Sequence[Rex]) -> DataFrame:
        """Spark asks the database for the columns of what it will read: then it refuses what it does not understand,
        such as texts without end that are compared."""
        if filters:
            try:
                return loaded_with(filters)
            except Exception as error:
                logger.debug("%s: read without conditions: %s", self._context.summary, self._place.problem(error))
        try:
            return loaded_with(())
        except Exception as error:
            raise self._place.problem(error) from None

    def _cut(self, names: Mapping[str, str]) -> dict[str, str]:
        parts = self._partitions
        if parts is None or parts.count < 2 or parts.lower == parts.upper:
            return {}
        return {
            "partitionColumn": names[parts.column],
            "numPartitions": str(parts.count),
            "lowerBound": str(parts.lower),
            "upperBound": str(parts.upper + 1),
        }

    def stream(self, columns: Sequence[int], filters: Sequence[Rex] = ()) -> Source[Rows, Any]:
        found: Source[Rows, Any] = refused(self._context, _NEAREST)
        return found


def _fitting(name: str, kinds: Mapping[str, s.DataType], wanted: s.DataType) -> Any:
    """A column; a decimal without digits behind the point as the whole number that it is declared as: some databases
    have no others."""
    found, column = kinds[name], F.col(quoted(name))
    if isinstance(found, s.DecimalType) and found.scale == 0:
        if isinstance(wanted, s.LongType) and found.precision <= _LONG_DIGITS:
            return column.cast(wanted)
        if isinstance(wanted, s.IntegerType) and found.precision <= _INT_DIGITS:
            return column.cast(wanted)
    return column


class OtherDatabaseSink(TableSink):
    """Appends by Spark's own JDBC source."""

    writes_frames = True

    def __init__(self, table: TableContext) -> None:
        if table.primary_key:
            refused(table, "Spark only appends. Declare the table without PRIMARY KEY to insert rows")
        if table.options.get("sink.exactly-once", "off").lower() not in ("off", "false"):
            refused(table, "'sink.exactly-once' is for databases that Millrace has a driver for")
        self._place, self._context = Place(table), table
        self.parallelism = self._place.options.parallelism

    def write_frame(self, frame: DataFrame, overwrite: bool, partition: Mapping[str, Any]) -> None:
        place, own = self._place, session_of_program(frame.sparkSession)
        if overwrite:
            raise TableException(f"table {self._context.summary}: connector 'jdbc' does not overwrite")
        names = place.names(place.schema(own))  # a table that is not there would be made
        named = frame.select(
            *(F.col(f"c{number}").alias(names[column.name]) for number, column in enumerate(self._context.columns))
        )
        if self.parallelism is not None:
            named = named.coalesce(self.parallelism)
        place.save(adopted(named, own).write)

    def stream(self) -> Any:
        return refused(self._context, "write to Kafka, and from there by Kafka Connect")
