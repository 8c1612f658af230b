"""``JdbcCatalog``: the tables of a database server, as they are at the moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, TypeVar

from millrace.connectors.jdbc.metadata.base import Metadata
from millrace.connectors.jdbc.metadata.known import metadata_of
from millrace.connectors.jdbc.sink import Database
from millrace.connectors.jdbc.url import parse, with_database
from millrace.connectors.stores.problems import ConnectionFailed
from millrace.table.catalogs.base import Catalog
from millrace.table.catalogs.objects import CatalogBaseTable, CatalogDatabase, CatalogTableStatistics
from millrace.table.catalogs.paths import ObjectPath
from millrace.table.descriptions.schema import Schema
from millrace.util import exceptions as errors

T = TypeVar("T")


class JdbcCatalog(Catalog):
    """Databases and tables of PostgreSQL, MySQL, MariaDB or a file of SQLite: read and written, not created.

    Tables of PostgreSQL are called ``schema.table``, in backticks in SQL; those of ``public`` also ``table``.

    :param base_url: of the server, without a database: ``jdbc:postgresql://host:5432``.
    """

    def __init__(
        self, catalog_name: str, default_database: str, username: str | None, pwd: str | None, base_url: str
    ) -> None:
        self._name = catalog_name
        self._default = default_database
        self._user = username
        self._password = pwd
        self._url = base_url
        try:
            dialect, _ = parse(with_database(base_url, default_database), username, pwd)
        except ValueError as error:
            raise errors.CatalogException(f"catalog {catalog_name}: {error}") from None
        self._metadata: Metadata = metadata_of(dialect)

    def open(self) -> None:
        """:raises CatalogException: the default database cannot be reached, or refuses."""
        self._ask(self._default, lambda connection: None)

    def get_default_database(self) -> str:
        return self._default

    def list_databases(self) -> list[str]:
        return self._ask(self._default, self._metadata.databases)

    def get_database(self, database_name: str) -> CatalogDatabase:
        self._check(database_name)
        return CatalogDatabase({})

    def list_tables(self, database_name: str) -> list[str]:
        self._check(database_name)
        return self._ask(database_name, self._metadata.tables)

    def table_exists(self, table_path: ObjectPath) -> bool:
        name = self._metadata.full_name(table_path.get_object_name())
        return self.database_exists(table_path.get_database_name()) and name in self.list_tables(
            table_path.get_database_name()
        )

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        database, name = table_path.get_database_name(), self._metadata.full_name(table_path.get_object_name())
        self._check(database)
        with self._connected(database) as connection:
            columns = self._metadata.columns(connection, name)
            key = self._metadata.key(connection, name)
        if not columns:
            raise errors.TableNotExistException(f"there is no table {table_path} in catalog {self._name}")
        builder = Schema.new_builder()
        for column in columns:
            required = key is not None and column.name in key.columns
            builder.column(column.name, column.type.not_null() if required else column.type)
        if key is not None:
            builder.primary_key_named(key.name, *key.columns)
        options = {"connector": "jdbc", "url": with_database(self._url, database), "table-name": name}
        given = {"username": self._user, "password": self._password}
        return CatalogBaseTable(
            builder.build(), {**options, **{option: value for option, value in given.items() if value is not None}}
        )

    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        """About how many rows, as far as the database has counted them."""
        name = self._metadata.full_name(table_path.get_object_name())
        return CatalogTableStatistics(
            self._ask(table_path.get_database_name(), lambda connection: self._metadata.rows(connection, name))
        )

    def _check(self, database: str) -> None:
        if not self.database_exists(database):
            raise errors.DatabaseNotExistException(f"there is no database {database} in catalog {self._name}")

    def _ask(self, database: str, question: Callable[[Any], T]) -> T:
        with self._connected(database) as connection:
            return question(connection)

    @contextmanager
    def _connected(self, database: str) -> Iterator[Any]:
        place = Database(*parse(with_database(self._url, database), self._user, self._password))
        try:
            connection = place()
        except ConnectionFailed as error:
            raise errors.CatalogException(f"catalog {self._name}: {error}") from None
        with closing(connection):
            yield connection
