"""``Catalog``, the base class of all catalogs with the operations that a catalog may offer; and catalogs that hold
their objects in a store: by kind, database and name, in memory unless a subclass has another store."""

from __future__ import annotations

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

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
from millrace.table.values.program_errors import problem
from millrace.util import exceptions as errors
from millrace.util.exceptions import CatalogException, ProcedureNotExistException
from millrace.util.fallback import Adopting
from millrace.util.names import did_you_mean

DEFAULT_DATABASE = "default-database"
"""the option of CREATE CATALOG with the database that is current after USE CATALOG"""


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


class CatalogType:
    """A type of catalogs that CREATE CATALOG can name: makes a catalog of its name and options.

    :param identifier: what ``'type'`` is.
    :param options: names of the options that it may have; others are refused.
    :param make: makes a catalog of its name and its options.
    :raises TableException: when it is called with an option that it does not have.
    """

    def __init__(
        self, identifier: str, options: Sequence[str], make: Callable[[str, Mapping[str, str]], Catalog]
    ) -> None:
        self.identifier = identifier
        self._options = options
        self._make = make

    def __call__(self, name: str, options: Mapping[str, str]) -> Catalog:
        for option in options:
            if option not in ("type", *self._options):
                meant = did_you_mean(option, self._options)
                raise problem(f"catalog type '{self.identifier}' has no option '{option}'{meant}")
        return self._make(name, options)


def needed(name: str, identifier: str, options: Mapping[str, str], option: str, what: str = "") -> str:
    """The value of an option that a catalog needs.

    :raises TableException: it is missing.
    """
    if option not in options:
        raise problem(f"catalog {name}: type '{identifier}' needs '{option}'{what}")
    return options[option]


# Object stores

DATABASE, TABLE, FUNCTION, MODEL, PARTITION = "database", "table", "function", "model", "partition"
TABLE_STATISTICS, COLUMN_STATISTICS = "table_statistics", "column_statistics"
INSIDE = (TABLE, FUNCTION, MODEL, PARTITION, TABLE_STATISTICS, COLUMN_STATISTICS)
"""kinds that lie in a database"""


class CatalogStore(ABC):
    """Objects by kind, database ("" for databases themselves) and name. What is given out may be changed."""

    @abstractmethod
    def names(self, kind: str, database: str) -> list[str]: ...

    @abstractmethod
    def get(self, kind: str, database: str, name: str) -> Any | None: ...

    @abstractmethod
    def put(self, kind: str, database: str, name: str, value: Any) -> None: ...

    @abstractmethod
    def remove(self, kind: str, database: str, name: str) -> None: ...

    def clear(self, database: str) -> None:
        """Remove all that lies in a database."""
        for kind in INSIDE:
            for name in self.names(kind, database):
                self.remove(kind, database, name)


class MemoryStore(CatalogStore):
    """Objects of this process."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str], dict[str, Any]] = {}

    def names(self, kind: str, database: str) -> list[str]:
        return list(self._objects.get((kind, database), ()))

    def get(self, kind: str, database: str, name: str) -> Any | None:
        return copy.copy(self._objects.get((kind, database), {}).get(name))

    def put(self, kind: str, database: str, name: str, value: Any) -> None:
        self._objects.setdefault((kind, database), {})[name] = copy.copy(value)

    def remove(self, kind: str, database: str, name: str) -> None:
        del self._objects[kind, database][name]


# Procedures


class StoredProcedures:
    """Procedures by their paths; upper and lower case are the same, as in names of functions."""

    def __init__(self) -> None:
        self._procedures: dict[tuple[str, str], tuple[str, Procedure]] = {}

    def names(self, database: str) -> list[str]:
        return sorted(name for (where, _), (name, _) in self._procedures.items() if where == database)

    def get(self, path: ObjectPath) -> Procedure:
        """:raises ProcedureNotExistException: there is none."""
        found = self._procedures.get(_key(path))
        if found is None:
            known = did_you_mean(path.get_object_name(), self.names(path.get_database_name()))
            raise ProcedureNotExistException(f"there is no procedure {path}{known}")
        return found[1]

    def put(self, path: ObjectPath, procedure: Procedure, ignore_if_exists: bool) -> None:
        if _key(path) not in self._procedures:
            self._procedures[_key(path)] = path.get_object_name(), procedure
        elif not ignore_if_exists:
            raise problem(f"there is a procedure {path} already")

    def drop(self, path: ObjectPath, ignore_if_not_exists: bool) -> None:
        if self._procedures.pop(_key(path), None) is None and not ignore_if_not_exists:
            raise ProcedureNotExistException(f"there is no procedure {path}")


def _key(path: ObjectPath) -> tuple[str, str]:
    return path.get_database_name(), path.get_object_name().lower()


# Catalogs over an object store


class StoredCatalog(Catalog):
    """A catalog whose objects lie on a store."""

    def __init__(self, name: str, default_database: str, store: CatalogStore) -> None:
        self._name = name
        self._default = default_database
        self._store = store
        self._procedures = StoredProcedures()
        if default_database not in store.names(DATABASE, ""):
            store.put(DATABASE, "", default_database, CatalogDatabase({}))

    def get_default_database(self) -> str:
        return self._default

    # -- databases ----------------------------------------------------------------------------------------------

    def list_databases(self) -> list[str]:
        return self._store.names(DATABASE, "")

    def get_database(self, database_name: str) -> CatalogDatabase:
        found = self._store.get(DATABASE, "", database_name)
        if not isinstance(found, CatalogDatabase):
            raise self._no_database(database_name)
        return found

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        if self.database_exists(name):
            if ignore_if_exists:
                return
            raise errors.DatabaseAlreadyExistException(f"database {name} is in catalog {self._name} already")
        self._store.put(DATABASE, "", name, database)

    def drop_database(self, name: str, ignore_if_exists: bool, cascade: bool = False) -> None:
        if not self.database_exists(name):
            if ignore_if_exists:
                return
            raise self._no_database(name)
        if not cascade and any(self._store.names(kind, name) for kind in INSIDE):
            raise errors.DatabaseNotEmptyException(
                f"database {name} of catalog {self._name} is not empty: drop what is in it, or use CASCADE"
            )
        self._store.clear(name)
        self._store.remove(DATABASE, "", name)

    def alter_database(self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool) -> None:
        if self.database_exists(name):
            self._store.put(DATABASE, "", name, new_database)
        elif not ignore_if_not_exists:
            raise self._no_database(name)

    # -- tables and views ---------------------------------------------------------------------------------------

    def list_tables(self, database_name: str) -> list[str]:
        self._check_database(database_name)
        return self._store.names(TABLE, database_name)

    def list_views(self, database_name: str) -> list[str]:
        names = self.list_tables(database_name)
        return [name for name in names if self.get_table(ObjectPath(database_name, name)).is_view]

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        found: CatalogBaseTable = self._get(TABLE, table_path)
        return found

    def table_exists(self, table_path: ObjectPath) -> bool:
        return self._has(TABLE, table_path)

    def create_table(self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool) -> None:
        self._create(TABLE, table_path, table, ignore_if_exists)

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        for kind in (PARTITION, TABLE_STATISTICS, COLUMN_STATISTICS):
            for name in self._parts_of(kind, table_path):
                self._store.remove(kind, table_path.get_database_name(), name)
        self._drop(TABLE, table_path, ignore_if_not_exists)

    def rename_table(self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool) -> None:
        self._rename(TABLE, table_path, new_table_name, ignore_if_not_exists)

    def alter_table(self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool) -> None:
        if self.table_exists(table_path) and self.get_table(table_path).is_view != new_table.is_view:
            raise errors.CatalogException(f"{table_path}: a table stays a table, and a view a view")
        self._alter(TABLE, table_path, new_table, ignore_if_not_exists)

    # -- functions and models -----------------------------------------------------------------------------------

    def list_functions(self, database_name: str) -> list[str]:
        self._check_database(database_name)
        return self._store.names(FUNCTION, database_name)

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        found: CatalogFunction = self._get(FUNCTION, function_path)
        return found

    def create_function(self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool) -> None:
        self._create(FUNCTION, function_path, function, ignore_if_exists)

    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        self._alter(FUNCTION, function_path, new_function, ignore_if_not_exists)

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        self._drop(FUNCTION, function_path, ignore_if_not_exists)

    def list_models(self, database_name: str) -> list[str]:
        self._check_database(database_name)
        return self._store.names(MODEL, database_name)

    def get_model(self, model_path: ObjectPath) -> CatalogModel:
        found: CatalogModel = self._get(MODEL, model_path)
        return found

    def create_model(self, model_path: ObjectPath, model: CatalogModel, ignore_if_exists: bool) -> None:
        self._create(MODEL, model_path, model, ignore_if_exists)

    def drop_model(self, model_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        self._drop(MODEL, model_path, ignore_if_not_exists)

    def rename_model(self, model_path: ObjectPath, new_model_name: str, ignore_if_not_exists: bool) -> None:
        self._rename(MODEL, model_path, new_model_name, ignore_if_not_exists)

    def alter_model(self, model_path: ObjectPath, new_model: CatalogModel, ignore_if_not_exists: bool) -> None:
        self._alter(MODEL, model_path, new_model, ignore_if_not_exists)

    # -- partitions ---------------------------------------------------------------------------------------------

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        wanted = {} if partition_spec is None else partition_spec.get_partition_spec()
        self._check_partitions(table_path, wanted, whole=False)
        specs = [dict(json.loads(name)[1]) for name in self._parts_of(PARTITION, table_path)]
        return [CatalogPartitionSpec(spec) for spec in specs if wanted.items() <= spec.items()]

    def get_partition(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> CatalogPartition:
        found = self._store.get(PARTITION, table_path.get_database_name(), _part(table_path, partition_spec))
        if not isinstance(found, CatalogPartition):
            raise errors.PartitionNotExistException(f"{table_path} has no partition {partition_spec}")
        return found

    def create_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition,
        ignore_if_exists: bool,
    ) -> None:
        self._check_partitions(table_path, partition_spec.get_partition_spec(), whole=True)
        if self.partition_exists(table_path, partition_spec):
            if ignore_if_exists:
                return
            raise errors.PartitionAlreadyExistsException(f"{table_path} has the partition {partition_spec} already")
        self._put_part(PARTITION, table_path, partition_spec, partition)

    def drop_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec, ignore_if_not_exists: bool
    ) -> None:
        if self.partition_exists(table_path, partition_spec):
            name = _part(table_path, partition_spec)
            self._store.remove(PARTITION, table_path.get_database_name(), name)
        elif not ignore_if_not_exists:
            raise errors.PartitionNotExistException(f"{table_path} has no partition {partition_spec}")

    def alter_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition,
        ignore_if_not_exists: bool,
    ) -> None:
        if self.partition_exists(table_path, partition_spec):
            self._put_part(PARTITION, table_path, partition_spec, new_partition)
        elif not ignore_if_not_exists:
            raise errors.PartitionNotExistException(f"{table_path} has no partition {partition_spec}")

    def partition_exists(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> bool:
        return _part(table_path, partition_spec) in self._parts_of(PARTITION, table_path)

    def list_procedures(self, database_name: str) -> list[str]:
        self._check_database(database_name)
        return self._procedures.names(database_name)

    def get_procedure(self, procedure_path: ObjectPath) -> Procedure:
        return self._procedures.get(procedure_path)

    def create_procedure(self, procedure_path: ObjectPath, procedure: Procedure, ignore_if_exists: bool) -> None:
        """Something that CALL runs, in this session."""
        self._check_database(procedure_path.get_database_name())
        self._procedures.put(procedure_path, procedure, ignore_if_exists)

    def drop_procedure(self, procedure_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Forget a procedure."""
        self._procedures.drop(procedure_path, ignore_if_not_exists)

    # -- statistics ---------------------------------------------------------------------------------------------

    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        return self._statistics(TABLE_STATISTICS, table_path, None) or CatalogTableStatistics()

    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        return self._statistics(COLUMN_STATISTICS, table_path, None) or CatalogColumnStatistics()

    def get_partition_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogTableStatistics:
        return self._statistics(TABLE_STATISTICS, table_path, partition_spec) or CatalogTableStatistics()

    def get_partition_column_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogColumnStatistics:
        return self._statistics(COLUMN_STATISTICS, table_path, partition_spec) or CatalogColumnStatistics()

    def alter_table_statistics(
        self, table_path: ObjectPath, table_statistics: CatalogTableStatistics, ignore_if_not_exists: bool
    ) -> None:
        if self._expected(table_path, ignore_if_not_exists):
            self._put_part(TABLE_STATISTICS, table_path, None, table_statistics)

    def alter_table_column_statistics(
        self, table_path: ObjectPath, column_statistics: CatalogColumnStatistics, ignore_if_not_exists: bool
    ) -> None:
        if self._expected(table_path, ignore_if_not_exists):
            self._put_part(COLUMN_STATISTICS, table_path, None, column_statistics)

    def alter_partition_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        if self._expected(table_path, ignore_if_not_exists):
            self._put_part(TABLE_STATISTICS, table_path, partition_spec, partition_statistics)

    def alter_partition_column_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        if self._expected(table_path, ignore_if_not_exists):
            self._put_part(COLUMN_STATISTICS, table_path, partition_spec, column_statistics)

    def forget_statistics(self, table_path: ObjectPath) -> None:
        for kind in (TABLE_STATISTICS, COLUMN_STATISTICS):
            for name in self._parts_of(kind, table_path):
                self._store.remove(kind, table_path.get_database_name(), name)

    # -- the same for all kinds ---------------------------------------------------------------------------------

    def _has(self, kind: str, path: ObjectPath) -> bool:
        return path.get_object_name() in self._store.names(kind, path.get_database_name())

    def _get(self, kind: str, path: ObjectPath) -> Any:
        found = self._store.get(kind, path.get_database_name(), path.get_object_name())
        if found is None:
            raise self._missing(kind, path)
        return found

    def _create(self, kind: str, path: ObjectPath, value: Any, ignore_if_exists: bool) -> None:
        self._check_database(path.get_database_name())
        if not self._has(kind, path):
            self._store.put(kind, path.get_database_name(), path.get_object_name(), value)
        elif not ignore_if_exists:
            raise _ALREADY[kind](
                f"{kind} {path} is in catalog {self._name} already: with IF NOT EXISTS it may be, or DROP it first"
            )

    def _alter(self, kind: str, path: ObjectPath, value: Any, ignore_if_not_exists: bool) -> None:
        if self._has(kind, path):
            self._store.put(kind, path.get_database_name(), path.get_object_name(), value)
        elif not ignore_if_not_exists:
            raise self._missing(kind, path)

    def _drop(self, kind: str, path: ObjectPath, ignore_if_not_exists: bool) -> None:
        if self._has(kind, path):
            self._store.remove(kind, path.get_database_name(), path.get_object_name())
        elif not ignore_if_not_exists:
            raise self._missing(kind, path)

    def _rename(self, kind: str, path: ObjectPath, new_name: str, ignore_if_not_exists: bool) -> None:
        if not self._has(kind, path):
            if ignore_if_not_exists:
                return
            raise self._missing(kind, path)
        self._create(kind, ObjectPath(path.get_database_name(), new_name), self._get(kind, path), False)
        self._drop(kind, path, False)

    def _missing(self, kind: str, path: ObjectPath) -> Exception:
        """The class is that of the kind, also where it is the database that is missing."""
        name, text = path.get_database_name(), f"there is no {kind} {path} in catalog {self._name}"
        return _MISSING[kind](text if self.database_exists(name) else f"{text}: {self._no_database(name)}")

    def _no_database(self, name: str) -> Exception:
        known = ", ".join(self.list_databases())
        return errors.DatabaseNotExistException(f"there is no database {name} in catalog {self._name}, only {known}")

    def _check_database(self, name: str) -> None:
        if not self.database_exists(name):
            raise self._no_database(name)

    def _check_partitions(self, path: ObjectPath, spec: dict[str, str], whole: bool) -> None:
        keys = self.get_table(path).partition_keys
        if not keys:
            raise errors.TableNotPartitionedException(f"{path} has no partitions")
        if not spec.keys() <= set(keys) or (whole and len(spec) != len(keys)):
            raise errors.PartitionSpecInvalidException(f"{path} has partitions by {', '.join(keys)}, not by {spec}")

    def _parts_of(self, kind: str, path: ObjectPath) -> list[str]:
        names = self._store.names(kind, path.get_database_name())
        return [name for name in names if json.loads(name)[0] == path.get_object_name()]

    def _put_part(self, kind: str, path: ObjectPath, spec: CatalogPartitionSpec | None, value: Any) -> None:
        self._store.put(kind, path.get_database_name(), _part(path, spec), value)

    def _statistics(self, kind: str, path: ObjectPath, spec: CatalogPartitionSpec | None) -> Any:
        self._expected(path, False)
        return self._store.get(kind, path.get_database_name(), _part(path, spec))

    def _expected(self, path: ObjectPath, ignore_if_not_exists: bool) -> bool:
        if self.table_exists(path):
            return True
        if ignore_if_not_exists:
            return False
        raise self._missing(TABLE, path)


def _part(path: ObjectPath, spec: CatalogPartitionSpec | None) -> str:
    """The name of what belongs to a partition, or to a whole table."""
    return json.dumps([path.get_object_name(), sorted((spec.get_partition_spec() if spec else {}).items())])


_MISSING = {
    TABLE: errors.TableNotExistException,
    FUNCTION: errors.FunctionNotExistException,
    MODEL: errors.ModelNotExistException,
}
_ALREADY = {
    TABLE: errors.TableAlreadyExistException,
    FUNCTION: errors.FunctionAlreadyExistException,
    MODEL: errors.ModelAlreadyExistException,
}


class GenericInMemoryCatalog(StoredCatalog):
    """A catalog of this session.

    >>> t_env.register_catalog("mine", GenericInMemoryCatalog("mine"))
    >>> t_env.list_catalogs()
    ['default_catalog', 'mine']
    """

    def __init__(self, name: str, default_database: str = "default") -> None:
        super().__init__(name, default_database, MemoryStore())


def _in_memory(name: str, options: Mapping[str, str]) -> Catalog:
    return GenericInMemoryCatalog(name, options.get(DEFAULT_DATABASE, "default"))


IN_MEMORY = CatalogType("generic_in_memory", (DEFAULT_DATABASE,), _in_memory)
