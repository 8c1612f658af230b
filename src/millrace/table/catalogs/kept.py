"""Catalogs over a shelf: the rules of all catalogs that keep their objects themselves."""

from __future__ import annotations

import json
from typing import Any

from millrace.table.catalogs import shelves
from millrace.table.catalogs.base import Catalog
from millrace.table.catalogs.objects import (
    CatalogBaseTable,
    CatalogColumnStatistics,
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTableStatistics,
    Procedure,
)
from millrace.table.catalogs.paths import ObjectPath
from millrace.table.catalogs.procedures import KeptProcedures
from millrace.table.catalogs.shelves import MemoryShelf, Shelf
from millrace.util import exceptions as errors


class KeptCatalog(Catalog):
    """A catalog whose objects lie on a shelf."""

    def __init__(self, name: str, default_database: str, shelf: Shelf) -> None:
        self._name = name
        self._default = default_database
        self._shelf = shelf
        self._procedures = KeptProcedures()
        if default_database not in shelf.names(shelves.DATABASE, ""):
            shelf.put(shelves.DATABASE, "", default_database, CatalogDatabase({}))

    def get_default_database(self) -> str:
        return self._default

    # -- databases ----------------------------------------------------------------------------------------------

    def list_databases(self) -> list[str]:
        return self._shelf.names(shelves.DATABASE, "")

    def get_database(self, database_name: str) -> CatalogDatabase:
        found = self._shelf.get(shelves.DATABASE, "", database_name)
        if not isinstance(found, CatalogDatabase):
            raise self._no_database(database_name)
        return found

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        if self.database_exists(name):
            if ignore_if_exists:
                return
            raise errors.DatabaseAlreadyExistException(f"database {name} is in catalog {self._name} already")
        self._shelf.put(shelves.DATABASE, "", name, database)

    def drop_database(self, name: str, ignore_if_exists: bool, cascade: bool = False) -> None:
        if not self.database_exists(name):
            if ignore_if_exists:
                return
            raise self._no_database(name)
        if not cascade and any(self._shelf.names(kind, name) for kind in shelves.INSIDE):
            raise errors.DatabaseNotEmptyException(
                f"database {name} of catalog {self._name} is not empty: drop what is in it, or use CASCADE"
            )
        self._shelf.clear(name)
        self._shelf.remove(shelves.DATABASE, "", name)

    def alter_database(self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool) -> None:
        if self.database_exists(name):
            self._shelf.put(shelves.DATABASE, "", name, new_database)
        elif not ignore_if_not_exists:
            raise self._no_database(name)

    # -- tables and views ---------------------------------------------------------------------------------------

    def list_tables(self, database_name: str) -> list[str]:
        self._check_database(database_name)
        return self._shelf.names(shelves.TABLE, database_name)

    def list_views(self, database_name: str) -> list[str]:
        names = self.list_tables(database_name)
        return [name for name in names if self.get_table(ObjectPath(database_name, name)).is_view]

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        found: CatalogBaseTable = self._get(shelves.TABLE, table_path)
        return found

    def table_exists(self, table_path: ObjectPath) -> bool:
        return self._has(shelves.TABLE, table_path)

    def create_table(self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool) -> None:
        self._create(shelves.TABLE, table_path, table, ignore_if_exists)

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        for kind in (shelves.PARTITION, shelves.TABLE_STATISTICS, shelves.COLUMN_STATISTICS):
            for name in self._parts_of(kind, table_path):
                self._shelf.remove(kind, table_path.get_database_name(), name)
        self._drop(shelves.TABLE, table_path, ignore_if_not_exists)

    def rename_table(self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool) -> None:
        self._rename(shelves.TABLE, table_path, new_table_name, ignore_if_not_exists)

    def alter_table(self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool) -> None:
        if self.table_exists(table_path) and self.get_table(table_path).is_view != new_table.is_view:
            raise errors.CatalogException(f"{table_path}: a table stays a table, and a view a view")
        self._alter(shelves.TABLE, table_path, new_table, ignore_if_not_exists)

    # -- functions and models -----------------------------------------------------------------------------------

    def list_functions(self, database_name: str) -> list[str]:
        self._check_database(database_name)
        return self._shelf.names(shelves.FUNCTION, database_name)

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        found: CatalogFunction = self._get(shelves.FUNCTION, function_path)
        return found

    def create_function(self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool) -> None:
        self._create(shelves.FUNCTION, function_path, function, ignore_if_exists)

    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        self._alter(shelves.FUNCTION, function_path, new_function, ignore_if_not_exists)

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        self._drop(shelves.FUNCTION, function_path, ignore_if_not_exists)

    def list_models(self, database_name: str) -> list[str]:
        self._check_database(database_name)
        return self._shelf.names(shelves.MODEL, database_name)

    def get_model(self, model_path: ObjectPath) -> CatalogModel:
        found: CatalogModel = self._get(shelves.MODEL, model_path)
        return found

    def create_model(self, model_path: ObjectPath, model: CatalogModel, ignore_if_exists: bool) -> None:
        self._create(shelves.MODEL, model_path, model, ignore_if_exists)

    def drop_model(self, model_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        self._drop(shelves.MODEL, model_path, ignore_if_not_exists)

    def rename_model(self, model_path: ObjectPath, new_model_name: str, ignore_if_not_exists: bool) -> None:
        self._rename(shelves.MODEL, model_path, new_model_name, ignore_if_not_exists)

    def alter_model(self, model_path: ObjectPath, new_model: CatalogModel, ignore_if_not_exists: bool) -> None:
        self._alter(shelves.MODEL, model_path, new_model, ignore_if_not_exists)

    # -- partitions ---------------------------------------------------------------------------------------------

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        wanted = {} if partition_spec is None else partition_spec.get_partition_spec()
        self._check_partitions(table_path, wanted, whole=False)
        specs = [dict(json.loads(name)[1]) for name in self._parts_of(shelves.PARTITION, table_path)]
        return [CatalogPartitionSpec(spec) for spec in specs if wanted.items() <= spec.items()]

    def get_partition(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> CatalogPartition:
        found = self._shelf.get(shelves.PARTITION, table_path.get_database_name(), _part(table_path, partition_spec))
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
        self._put_part(shelves.PARTITION, table_path, partition_spec, partition)

    def drop_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec, ignore_if_not_exists: bool
    ) -> None:
        if self.partition_exists(table_path, partition_spec):
            name = _part(table_path, partition_spec)
            self._shelf.remove(shelves.PARTITION, table_path.get_database_name(), name)
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
            self._put_part(shelves.PARTITION, table_path, partition_spec, new_partition)
        elif not ignore_if_not_exists:
            raise errors.PartitionNotExistException(f"{table_path} has no partition {partition_spec}")

    def partition_exists(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> bool:
        return _part(table_path, partition_spec) in self._parts_of(shelves.PARTITION, table_path)

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
        return self._statistics(shelves.TABLE_STATISTICS, table_path, None) or CatalogTableStatistics()

    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        return self._statistics(shelves.COLUMN_STATISTICS, table_path, None) or CatalogColumnStatistics()

    def get_partition_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogTableStatistics:
        return self._statistics(shelves.TABLE_STATISTICS, table_path, partition_spec) or CatalogTableStatistics()

    def get_partition_column_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogColumnStatistics:
        return self._statistics(shelves.COLUMN_STATISTICS, table_path, partition_spec) or CatalogColumnStatistics()

    def alter_table_statistics(
        self, table_path: ObjectPath, table_statistics: CatalogTableStatistics, ignore_if_not_exists: bool
    ) -> None:
        if self._expected(table_path, ignore_if_not_exists):
            self._put_part(shelves.TABLE_STATISTICS, table_path, None, table_statistics)

    def alter_table_column_statistics(
        self, table_path: ObjectPath, column_statistics: CatalogColumnStatistics, ignore_if_not_exists: bool
    ) -> None:
        if self._expected(table_path, ignore_if_not_exists):
            self._put_part(shelves.COLUMN_STATISTICS, table_path, None, column_statistics)

    def alter_partition_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        if self._expected(table_path, ignore_if_not_exists):
            self._put_part(shelves.TABLE_STATISTICS, table_path, partition_spec, partition_statistics)

    def alter_partition_column_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        if self._expected(table_path, ignore_if_not_exists):
            self._put_part(shelves.COLUMN_STATISTICS, table_path, partition_spec, column_statistics)

    def forget_statistics(self, table_path: ObjectPath) -> None:
        for kind in (shelves.TABLE_STATISTICS, shelves.COLUMN_STATISTICS):
            for name in self._parts_of(kind, table_path):
                self._shelf.remove(kind, table_path.get_database_name(), name)

    # -- the same for all kinds ---------------------------------------------------------------------------------

    def _has(self, kind: str, path: ObjectPath) -> bool:
        return path.get_object_name() in self._shelf.names(kind, path.get_database_name())

    def _get(self, kind: str, path: ObjectPath) -> Any:
        found = self._shelf.get(kind, path.get_database_name(), path.get_object_name())
        if found is None:
            raise self._missing(kind, path)
        return found

    def _create(self, kind: str, path: ObjectPath, value: Any, ignore_if_exists: bool) -> None:
        self._check_database(path.get_database_name())
        if not self._has(kind, path):
            self._shelf.put(kind, path.get_database_name(), path.get_object_name(), value)
        elif not ignore_if_exists:
            raise _ALREADY[kind](
                f"{kind} {path} is in catalog {self._name} already: with IF NOT EXISTS it may be, or DROP it first"
            )

    def _alter(self, kind: str, path: ObjectPath, value: Any, ignore_if_not_exists: bool) -> None:
        if self._has(kind, path):
            self._shelf.put(kind, path.get_database_name(), path.get_object_name(), value)
        elif not ignore_if_not_exists:
            raise self._missing(kind, path)

    def _drop(self, kind: str, path: ObjectPath, ignore_if_not_exists: bool) -> None:
        if self._has(kind, path):
            self._shelf.remove(kind, path.get_database_name(), path.get_object_name())
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
        names = self._shelf.names(kind, path.get_database_name())
        return [name for name in names if json.loads(name)[0] == path.get_object_name()]

    def _put_part(self, kind: str, path: ObjectPath, spec: CatalogPartitionSpec | None, value: Any) -> None:
        self._shelf.put(kind, path.get_database_name(), _part(path, spec), value)

    def _statistics(self, kind: str, path: ObjectPath, spec: CatalogPartitionSpec | None) -> Any:
        self._expected(path, False)
        return self._shelf.get(kind, path.get_database_name(), _part(path, spec))

    def _expected(self, path: ObjectPath, ignore_if_not_exists: bool) -> bool:
        if self.table_exists(path):
            return True
        if ignore_if_not_exists:
            return False
        raise self._missing(shelves.TABLE, path)


def _part(path: ObjectPath, spec: CatalogPartitionSpec | None) -> str:
    """The name of what belongs to a partition, or to a whole table."""
    return json.dumps([path.get_object_name(), sorted((spec.get_partition_spec() if spec else {}).items())])


_MISSING = {
    shelves.TABLE: errors.TableNotExistException,
    shelves.FUNCTION: errors.FunctionNotExistException,
    shelves.MODEL: errors.ModelNotExistException,
}
_ALREADY = {
    shelves.TABLE: errors.TableAlreadyExistException,
    shelves.FUNCTION: errors.FunctionAlreadyExistException,
    shelves.MODEL: errors.ModelAlreadyExistException,
}


class GenericInMemoryCatalog(KeptCatalog):
    """A catalog of this session.

        >>> t_env.register_catalog("mine", GenericInMemoryCatalog("mine"))
        >>> t_env.list_catalogs()
        ['default_catalog', 'mine']
    """

    def __init__(self, name: str, default_database: str = "default") -> None:
        super().__init__(name, default_database, MemoryShelf())
