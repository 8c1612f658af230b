"""``JdbcCatalog``: the tables of a database server, in their current form; they can be read, written, created and
altered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, TypeVar

from millrace.connectors.extras import missing_driver
from millrace.connectors.jdbc.ddl import Ddl, WantedTable, alter_statements, create_statements, ddl_of
from millrace.connectors.jdbc.dialect import Metadata
from millrace.connectors.jdbc.jdbc_database import Database, metadata_of, parse_url, with_database
from millrace.connectors.stores import ConnectionFailed
from millrace.table.catalogs.catalog import DEFAULT_DATABASE, Catalog, CatalogType, needed
from millrace.table.catalogs.objects import (
    CatalogBaseTable,
    CatalogColumnStatistics,
    CatalogDatabase,
    CatalogTableStatistics,
    ObjectPath,
    Schema,
)
from millrace.util import exceptions as errors

T = TypeVar("T")


class JdbcCatalog(Catalog):
    """Databases and tables of PostgreSQL, MySQL, MariaDB or a file of SQLite.

    Tables of PostgreSQL are called ``schema.table``, in backticks in SQL; those of ``public`` also ``table``.

        >>> catalog = JdbcCatalog("shop", "main", None, None, "jdbc:sqlite:shop.db")

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
            dialect, _ = parse_url(with_database(base_url, default_database), username, pwd)
        except ValueError as error:
            raise errors.CatalogException(f"catalog {catalog_name}: {error}") from None
        if (missing := missing_driver(base_url)) is not None:
            raise errors.CatalogException(f"catalog {catalog_name} {missing}")
        self._dialect = dialect
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

    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        """Name -> ``ColumnFacts``: what the database has counted when it looked last (ANALYZE)."""
        name = self._metadata.full_name(table_path.get_object_name())
        database = table_path.get_database_name()
        return CatalogColumnStatistics(
            dict(self._ask(database, lambda connection: self._metadata.statistics(connection, name)))
        )

    # -- changes (our addition: Flink's catalog has none) --------------------------------------------------------

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        if self.database_exists(name):
            if ignore_if_exists:
                return
            raise errors.DatabaseAlreadyExistException(f"database {name} is in catalog {self._name} already")
        self._change(self._default, lambda: [self._metadata.create_database(self._dialect.name(name))], True)

    def drop_database(self, name: str, ignore_if_exists: bool, cascade: bool = False) -> None:
        if not self.database_exists(name):
            if ignore_if_exists:
                return
            raise errors.DatabaseNotExistException(f"there is no database {name} in catalog {self._name}")
        if not cascade and self.list_tables(name):
            raise errors.DatabaseNotEmptyException(
                f"database {name} of catalog {self._name} is not empty: drop what is in it, or use CASCADE"
            )
        self._change(self._default, lambda: [self._metadata.drop_database(self._dialect.name(name))], True)

    def create_table(self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool) -> None:
        """:raises CatalogException: the database cannot keep it: a view, a watermark, options, ..."""
        self._check(table_path.get_database_name())
        if self.table_exists(table_path):
            if ignore_if_exists:
                return
            raise errors.TableAlreadyExistException(f"there is a table {table_path} in catalog {self._name} already")
        self._refuse_options(table.get_options(), {"connector": "jdbc"})
        name = self._metadata.full_name(table_path.get_object_name())
        self._change(table_path.get_database_name(), lambda: create_statements(self._ddl, name, _wanted(table)))

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        if self._is_there(table_path, ignore_if_not_exists):
            name = self._metadata.full_name(table_path.get_object_name())
            self._change(table_path.get_database_name(), lambda: [f"DROP TABLE {self._dialect.table(name)}"])

    def rename_table(self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool) -> None:
        """Within its schema."""
        if not self._is_there(table_path, ignore_if_not_exists):
            return
        old = self._metadata.full_name(table_path.get_object_name())
        schema, name = old.rpartition(".")[0], new_table_name
        if schema and "." in name and name.rpartition(".")[0] != schema:
            raise errors.CatalogException(f"{table_path} stays in its schema {schema}")
        new = self._dialect.name(name.rpartition(".")[2] if schema else name)
        self._change(
            table_path.get_database_name(), lambda: [f"ALTER TABLE {self._dialect.table(old)} RENAME TO {new}"]
        )

    def alter_table(self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool) -> None:
        """Columns more, less, with another name or type. :raises CatalogException: something else."""
        if not self._is_there(table_path, ignore_if_not_exists):
            return
        before = self.get_table(table_path)
        self._refuse_options(new_table.get_options(), before.get_options())
        if new_table.get_comment() != before.get_comment():
            raise errors.CatalogException(f"catalog {self._name} keeps no comments")
        name = self._metadata.full_name(table_path.get_object_name())
        self._change(
            table_path.get_database_name(),
            lambda: alter_statements(self._ddl, name, _wanted(before), _wanted(new_table)),
        )

    @property
    def _ddl(self) -> Ddl:
        return ddl_of(self._dialect)

    def _is_there(self, table_path: ObjectPath, ignore: bool) -> bool:
        there = self.table_exists(table_path)
        if not there and not ignore:
            raise errors.TableNotExistException(f"there is no table {table_path} in catalog {self._name}")
        return there

    def _refuse_options(self, given: Mapping[str, str], own: Mapping[str, str]) -> None:
        for key, value in given.items():
            if own.get(key) != value:
                raise errors.CatalogException(
                    f"catalog {self._name} keeps no options of tables, but got '{key}': they are those of the catalog; "
                    f"a table with its own is made in another catalog, or CREATE TEMPORARY TABLE"
                )

    def _change(self, database: str, statements: Callable[[], Sequence[str]], alone: bool = False) -> None:
        """:param alone: whether PostgreSQL refuses them within a transaction."""
        place = Database(*parse_url(with_database(self._url, database), self._user, self._password))
        try:
            made = statements()
        except ValueError as error:
            raise errors.CatalogException(f"catalog {self._name}: {error}") from None
        with self._connected(database) as connection:
            try:
                if alone and hasattr(connection, "set_autocommit"):
                    connection.rollback()
                    connection.set_autocommit(True)
                self._ddl.run(connection, made)
                connection.commit()
            except Exception as error:
                said = place.target.masked(error)
                raise errors.CatalogException(f"catalog {self._name}: {self._dialect.title} says: {said}") from None

    def _check(self, database: str) -> None:
        if not self.database_exists(database):
            raise errors.DatabaseNotExistException(f"there is no database {database} in catalog {self._name}")

    def _ask(self, database: str, question: Callable[[Any], T]) -> T:
        with self._connected(database) as connection:
            return question(connection)

    @contextmanager
    def _connected(self, database: str) -> Iterator[Any]:
        place = Database(*parse_url(with_database(self._url, database), self._user, self._password))
        try:
            connection = place()
        except ConnectionFailed as error:
            raise errors.CatalogException(f"catalog {self._name}: {error}") from None
        with closing(connection):
            yield connection


def _wanted(table: CatalogBaseTable) -> WantedTable:
    """:raises ValueError: the table has what databases do not keep."""
    schema = table.get_unresolved_schema()
    lacking = {
        "views": table.is_view,
        "watermarks": schema.watermark is not None,
        "partitions": bool(table.partition_keys),
        "computed and metadata columns": any(each.type is None or each.metadata for each in schema.columns),
        "distributions": table.distribution is not None,
    }
    for what, is_there in lacking.items():
        if is_there:
            raise ValueError(f"a database keeps no {what} of Flink's: make such a table in another catalog")
    columns = tuple((each.name, each.type) for each in schema.columns if each.type is not None)
    return WantedTable(columns, () if schema.primary_key is None else tuple(schema.primary_key.columns))


def _jdbc(name: str, options: Mapping[str, str]) -> Catalog:
    url, database = (needed(name, "jdbc", options, option) for option in ("base-url", DEFAULT_DATABASE))
    return JdbcCatalog(name, database, options.get("username"), options.get("password"), url)


JDBC = CatalogType("jdbc", ("base-url", DEFAULT_DATABASE, "username", "password", "driver"), _jdbc)
