"""``Place``: a table of a database that Spark reaches, by what WITH says."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrameReader, DataFrameWriter, SparkSession
from pyspark.sql import types as s

from millrace.connectors.tables.stores.options import StoreOptions
from millrace.relational.sources import TableContext
from millrace.spark.errors import reason
from millrace.spark.tables.databases.drivers import driver_of, kind_of
from millrace.util.exceptions import TableException
from millrace.util.secrets import mask_text

FETCH = 1_000
"""rows that come at once: some drivers would fetch ten"""
_PROPERTIES = "properties."
_NO_DRIVER = ("No suitable driver", "ClassNotFoundException", "NoClassDefFoundError")


class Place:
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
