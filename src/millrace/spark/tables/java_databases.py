"""``'connector' = 'jdbc'`` for databases that only Java has a driver for.

The database computes what means the same everywhere: columns, simple conditions, parts of a table.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, DataFrameReader, DataFrameWriter, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as s

from millrace.common.source import Source
from millrace.connectors.jdbc.driver_values import sql_constant
from millrace.connectors.jdbc.jdbc_scan import conditions
from millrace.connectors.jdbc.jdbc_table import COMMON, SCAN, SINK
from millrace.connectors.stores import Partitions
from millrace.connectors.tables.store_table import LOOKUP, StoreOptions
from millrace.relational.rex import Rex, Schema
from millrace.relational.rows import Rows
from millrace.relational.sources import LookupTableSource, TableContext, TableFactory, TableSink, TableSource
from millrace.relational.type_table import Family, family_of
from millrace.relational.types import DataType
from millrace.spark.errors import reason
from millrace.spark.sessions.session import session_of_program
from millrace.spark.tables.steps.spark_types import adopted, checked, quoted, spark_type
from millrace.util.exceptions import TableException
from millrace.util.secrets import mask_text

_BY_URL: Mapping[str, str] = {
    "jdbc:as400:": "com.ibm.as400.access.AS400JDBCDriver",
    "jdbc:clickhouse:": "com.clickhouse.jdbc.ClickHouseDriver",
    "jdbc:databricks:": "com.databricks.client.jdbc.Driver",
    "jdbc:db2:": "com.ibm.db2.jcc.DB2Driver",
    "jdbc:derby://": "org.apache.derby.client.ClientAutoloadedDriver",
    "jdbc:derby:": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
    "jdbc:exa:": "com.exasol.jdbc.EXADriver",
    "jdbc:firebirdsql:": "org.firebirdsql.jdbc.FBDriver",
    "jdbc:h2:": "org.h2.Driver",
    "jdbc:hive2:": "org.apache.hive.jdbc.HiveDriver",
    "jdbc:hsqldb:": "org.hsqldb.jdbc.JDBCDriver",
    "jdbc:impala:": "com.cloudera.impala.jdbc.Driver",
    "jdbc:informix-sqli:": "com.informix.jdbc.IfxDriver",
    "jdbc:kylin:": "org.apache.kylin.jdbc.Driver",
    "jdbc:oceanbase:": "com.oceanbase.jdbc.Driver",
    "jdbc:oracle:": "oracle.jdbc.OracleDriver",
    "jdbc:phoenix:": "org.apache.phoenix.jdbc.PhoenixDriver",
    "jdbc:presto:": "com.facebook.presto.jdbc.PrestoDriver",
    "jdbc:redshift:": "com.amazon.redshift.jdbc42.Driver",
    "jdbc:sap:": "com.sap.db.jdbc.Driver",
    "jdbc:snowflake:": "net.snowflake.client.jdbc.SnowflakeDriver",
    "jdbc:sqlserver:": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
    "jdbc:teradata:": "com.teradata.jdbc.TeraDriver",
    "jdbc:trino:": "io.trino.jdbc.TrinoDriver",
    "jdbc:vertica:": "com.vertica.jdbc.Driver",
}


def driver_of(url: str) -> str | None:
    """Java's own way finds no drivers in jars that come with a job, so their classes have to be named."""
    return next((name for begin, name in _BY_URL.items() if url.lower().startswith(begin)), None)


def kind_of(url: str) -> str:
    """What a URL begins with: ``jdbc:oracle:``."""
    return ":".join(url.split(":", 2)[:2]).lower() + ":"


FETCH = 1_000
"""rows that come at once: some drivers would fetch ten"""
_PROPERTIES = "properties."
_NO_DRIVER = ("No suitable driver", "ClassNotFoundException", "NoClassDefFoundError")


class JdbcTable:
    """:raises TableException: for what cannot be."""

    def __init__(self, table: TableContext) -> None:
        self.table, self.options = table, StoreOptions(table)
        given = self.options.given
        self.url, self.name = given.get("url", ""), given.get("table-name", "")
        self._driver = given.get("driver") or driver_of(self.url)
        if self._driver is None:
            raise TableException(
                f"table {table.summary}: '{kind_of(self.url)}' is a database that Millrace has no driver for. With "
                f"'driver', the name of its class in Java, Spark reads and writes it in batch mode"
            )
        if table.metadata:
            raise TableException(f"table {table.summary}: connector 'jdbc' has no metadata columns")

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """Of Spark's data source."""
        given = self.options.given
        found = {name[len(_PROPERTIES) :]: value for name, value in given.items() if name.startswith(_PROPERTIES)}
        found |= {"url": self.url, "driver": str(self._driver), "preferTimestampNTZ": "true"}
        if "username" in given:
            found["user"] = given["username"]
        if "password" in given:
            found["password"] = given["password"]
        return found

    def reader(self, session: SparkSession, **more: str) -> DataFrameReader:
        return session.read.format("jdbc").options(**{**self.settings, **more})

    def schema(self, session: SparkSession) -> s.StructType:
        """The columns of the table, as they are there.

        :raises TableException: the database or the table cannot be reached.
        """
        try:
            return self.reader(session, dbtable=self.name).load().schema
        except Exception as error:
            raise self.problem(error) from None

    def save(self, writer: DataFrameWriter) -> None:
        """Append. :raises TableException: the database refuses."""
        try:
            writer.format("jdbc").options(**self.settings, dbtable=self.name).mode("append").save()
        except Exception as error:
            raise self.problem(error) from None

    def problem(self, error: Exception) -> TableException:
        said = mask_text(reason(error))
        password = self.settings.get("password")
        said = said.replace(password, "******") if password else said
        if any(each in str(error) for each in _NO_DRIVER):
            said = (
                f"Spark has no class '{self._driver}': name the jar of the driver by 'pipeline.jars' or spark.jars, or "
                f"its coordinates by spark.jars.packages, before the session begins ('driver' names another class)"
            )
        return TableException(f"table {self.table.summary}: {kind_of(self.url)} {self.name}: {said}")

    def names(self, schema: s.StructType) -> dict[str, str]:
        """How the database spells the table's columns: most have them in capital letters unless they were quoted.

        :raises TableException: it has no such column, or several.
        """
        there = [field.name for field in schema.fields]
        found: dict[str, str] = {}
        for column in self.table.columns:
            alike = [name for name in there if name.lower() == column.name.lower()]
            exact = [name for name in alike if name == column.name] or alike
            if len(exact) != 1:
                raise TableException(
                    f"table {self.table.summary}: {self.name} has {'several columns' if exact else 'no column'} "
                    f"'{column.name}'; it has {', '.join(there)}"
                )
            found[column.name] = exact[0]
        return found


def refused(table: TableContext, what: str) -> Any:
    """:raises TableException: always."""
    kind = kind_of(table.options.get("url", ""))
    raise TableException(
        f"table {table.summary}: '{kind}' is a database that Spark reads and writes, in batch mode only: {what}"
    )


def quoted_by_standard(name: str) -> str:
    """As the standard has it."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


class Standard:
    """SQL that any database reads. Dates and times are left to Spark, which knows how each writes them."""

    text_is_exact = False

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def name(self, name: str) -> str | None:
        found = self._names.get(name)
        return None if found is None else quoted_by_standard(found)

    def literal(self, value: Any, kind: DataType) -> str | None:
        family = family_of(kind)
        if family is Family.TEXT:
            # Some read a text in the letters of one country unless it has a mark, and some take \\ for one.
            plain = isinstance(value, str) and value.isascii() and value.isprintable() and "\\" not in value
            return f"'{value.replace(chr(39), chr(39) * 2)}'" if plain and value else None
        return sql_constant(value, kind, repr) if family in (Family.INTEGER, Family.DECIMAL) else None


def relation(
    table: str, wanted: Sequence[str], filters: Sequence[Rex], columns: Schema, names: dict[str, str],
    partitions: Partitions | None,
) -> str:  # fmt: skip
    """What stands behind FROM.

    :param wanted: columns, as the table of Millrace calls them.
    """
    checked = list(conditions(filters, columns, Standard(names)))
    if partitions is not None:
        # Spark's bounds only say how the parts are cut, Flink's which rows are read.
        column = quoted_by_standard(names[partitions.column])
        checked.append(f"{column} BETWEEN {partitions.lower} AND {partitions.upper}")
    if not checked:
        return table
    read = dict.fromkeys([*wanted, *([] if partitions is None else [partitions.column])])
    chosen = ", ".join(quoted_by_standard(names[each]) for each in read) or "1 AS one"
    return f"(SELECT {chosen} FROM {table} WHERE {' AND '.join(checked)}) millrace"


def given_to_spark(columns: Schema, wanted: Sequence[str]) -> bool:
    """Whether Spark may hand conditions of its own to the database: it does not check them again, so there may be
    nothing that databases compare in another way."""
    kinds = {each.name: family_of(each.type) for each in columns}
    return not any(kinds[name] in (Family.TEXT, Family.APPROXIMATE) for name in wanted)


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
        self._place = place = JdbcTable(table)
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
        self._place, self._context = JdbcTable(table), table
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
