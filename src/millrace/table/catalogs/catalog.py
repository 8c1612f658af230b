"""``Catalog``: the base class of all catalogs, with the operations that a catalog may offer."""

from __future__ import annotations

from typing import NoReturn

from millrace.table.catalogs.objects import (
    CatalogBaseTable,
    CatalogColumnStatistics,
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTableStatistics,
    ObjectPath,
    Procedure,
)
from millrace.util.exceptions import CatalogException
from millrace.util.fallback import Adopting


class Catalog(Adopting):
    """A catalog: stores databases, tables, views, functions and models.

    Subclass it. What a catalog cannot do it leaves out: asked for it, it raises ``CatalogException``. Lists are empty
    by default, and nothing exists. Errors are those of ``millrace.util.exceptions``: DatabaseNotExistException, ...

        >>> t_env.get_catalog("default_catalog").list_databases()
        ['default_database']
    """

    def open(self) -> None:
        """Called once, when the catalog is registered."""

    def close(self) -> None:
        """Called when the environment lets the catalog go."""

    def get_default_database(self) -> str:
        """The database that is current after ``USE CATALOG``."""
        return "default"

    # -- databases ----------------------------------------------------------------------------------------------

    def list_databases(self) -> list[str]:
        """The names of the databases."""
        return []

    def get_database(self, database_name: str) -> CatalogDatabase:
        """A database by its name."""
        self._cannot("get databases")

    def database_exists(self, database_name: str) -> bool:
        """Whether there is such a database."""
        return database_name in self.list_databases()

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        """Add a database."""
        self._cannot("create databases")

    def drop_database(self, name: str, ignore_if_exists: bool, cascade: bool = False) -> None:
        """:param cascade: with all that is in it (our addition); else a database that is not empty stays."""
        self._cannot("drop databases")

    def alter_database(self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool) -> None:
        """Change what is said of a database."""
        self._cannot("alter databases")

    # -- tables and views ---------------------------------------------------------------------------------------

    def list_tables(self, database_name: str) -> list[str]:
        """Tables and views."""
        return []

    def list_views(self, database_name: str) -> list[str]:
        """The names of the views of a database."""
        return []

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """The names of the materialized tables of a database."""
        return []

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        """A table or view by its path."""
        self._cannot("get tables")

    def table_exists(self, table_path: ObjectPath) -> bool:
        """Whether there is such a table or view."""
        return table_path.get_object_name() in self.list_tables(table_path.get_database_name())

    def create_table(self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool) -> None:
        """Add a table or view."""
        self._cannot("create tables")

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Remove a table or view."""
        self._cannot("drop tables")

    def rename_table(self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool) -> None:
        """Give a table or view another name."""
        self._cannot("rename tables")

    def alter_table(self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool) -> None:
        """Replace what is said of a table or view."""
        self._cannot("alter tables")

    # -- partitions ---------------------------------------------------------------------------------------------

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        """The specs of all partitions of a table, or of those whose columns have the values of ``partition_spec``."""
        self._cannot("list partitions")

    def get_partition(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> CatalogPartition:
        """The catalog's description of a partition: its properties and comment."""
        self._cannot("get partitions")

    def create_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition,
        ignore_if_exists: bool,
    ) -> None:
        """Add a partition."""
        self._cannot("create partitions")

    def drop_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec, ignore_if_not_exists: bool
    ) -> None:
        """Forget a partition."""
        self._cannot("drop partitions")

    def alter_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition,
        ignore_if_not_exists: bool,
    ) -> None:
        """Replace what is said of a partition."""
        self._cannot("alter partitions")

    def partition_exists(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> bool:
        """Whether there is such a partition."""
        return partition_spec in self.list_partitions(table_path)

    # -- functions, models, procedures --------------------------------------------------------------------------

    def list_functions(self, database_name: str) -> list[str]:
        """The names of the functions of a database."""
        return []

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        """A function by its path."""
        self._cannot("get functions")

    def function_exists(self, function_path: ObjectPath) -> bool:
        """Whether there is such a function."""
        return function_path.get_object_name() in self.list_functions(function_path.get_database_name())

    def create_function(self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool) -> None:
        """Add a function."""
        self._cannot("create functions")

    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        """Replace a function."""
        self._cannot("alter functions")

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Forget a function."""
        self._cannot("drop functions")

    def list_models(self, database_name: str) -> list[str]:
        """The names of the models of a database."""
        return []

    def get_model(self, model_path: ObjectPath) -> CatalogModel:
        """A model by its path."""
        self._cannot("get models")

    def model_exists(self, model_path: ObjectPath) -> bool:
        """Whether there is such a model."""
        return model_path.get_object_name() in self.list_models(model_path.get_database_name())

    def create_model(self, model_path: ObjectPath, model: CatalogModel, ignore_if_exists: bool) -> None:
        """Add a model."""
        self._cannot("create models")

    def drop_model(self, model_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Forget a model."""
        self._cannot("drop models")

    def rename_model(self, model_path: ObjectPath, new_model_name: str, ignore_if_not_exists: bool) -> None:
        """Give a model another name."""
        self._cannot("rename models")

    def alter_model(self, model_path: ObjectPath, new_model: CatalogModel, ignore_if_not_exists: bool) -> None:
        """Replace what is said of a model."""
        self._cannot("alter models")

    def list_procedures(self, database_name: str) -> list[str]:
        """The names of the procedures of a database."""
        return []

    def get_procedure(self, procedure_path: ObjectPath) -> Procedure:
        """A procedure by its path."""
        self._cannot("get procedures")

    # -- statistics ---------------------------------------------------------------------------------------------

    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        """How many rows a table has, as far as is known."""
        return CatalogTableStatistics()

    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        """What is known of the values of a table's columns."""
        return CatalogColumnStatistics()

    def get_partition_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogTableStatistics:
        """How many rows a partition has, as far as is known."""
        return CatalogTableStatistics()

    def bulk_get_partition_statistics(
        self, table_path: ObjectPath, partition_specs: list[CatalogPartitionSpec]
    ) -> list[CatalogTableStatistics]:
        """How many rows partitions have, as far as is known."""
        return [self.get_partition_statistics(table_path, spec) for spec in partition_specs]

    def get_partition_column_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogColumnStatistics:
        """What is known of the values of a partition's columns."""
        return CatalogColumnStatistics()

    def bulk_get_partition_column_statistics(
        self, table_path: ObjectPath, partition_specs: list[CatalogPartitionSpec]
    ) -> list[CatalogColumnStatistics]:
        """What is known of the values of partitions' columns."""
        return [self.get_partition_column_statistics(table_path, spec) for spec in partition_specs]

    def alter_table_statistics(
        self, table_path: ObjectPath, table_statistics: CatalogTableStatistics, ignore_if_not_exists: bool
    ) -> None:
        """Keep how many rows a table has."""
        self._cannot("keep statistics")

    def alter_table_column_statistics(
        self, table_path: ObjectPath, column_statistics: CatalogColumnStatistics, ignore_if_not_exists: bool
    ) -> None:
        """Keep what is known of the values of a table's columns."""
        self._cannot("keep statistics")

    def alter_partition_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Keep how many rows a partition has."""
        self._cannot("keep statistics")

    def alter_partition_column_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Keep what is known of the values of a partition's columns."""
        self._cannot("keep statistics")

    def forget_statistics(self, table_path: ObjectPath) -> None:
        """The table is written: what was counted of it and its partitions no longer holds."""

    def _cannot(self, what: str) -> NoReturn:
        raise CatalogException(f"{type(self).__name__} cannot {what}")
