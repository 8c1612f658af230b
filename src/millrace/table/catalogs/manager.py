"""``CatalogManager``: the catalogs of a session, the current catalog and database, and the session's temporary objects.

Also runs CREATE CATALOG: makes a catalog by its options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from millrace.table.catalogs.catalog import Catalog
from millrace.table.catalogs.file_catalog import FileCatalog
from millrace.table.catalogs.jdbc_catalog import JdbcCatalog
from millrace.table.catalogs.memory_catalog import GenericInMemoryCatalog
from millrace.table.catalogs.objects import CatalogBaseTable, CatalogFunction, CatalogModel, ObjectIdentifier
from millrace.table.values.program_errors import problem
from millrace.util.exceptions import CatalogException, TableAlreadyExistException
from millrace.util.names import did_you_mean
from millrace.util.plugins import points


@dataclass(frozen=True)
class FoundTable:
    """A table or view by its full name."""

    identifier: ObjectIdentifier
    table: CatalogBaseTable
    temporary: bool


class CatalogManager:
    """Looks objects up: temporary ones first, then those of catalogs."""

    def __init__(self, name: str, catalog: Catalog) -> None:
        self._catalogs: dict[str, Catalog] = {}
        self.temporary_tables: dict[ObjectIdentifier, CatalogBaseTable] = {}
        self.temporary_functions: dict[ObjectIdentifier, CatalogFunction] = {}
        self.temporary_system_functions: dict[str, CatalogFunction] = {}
        self.temporary_models: dict[ObjectIdentifier, CatalogModel] = {}
        self.descriptions: dict[str, tuple[dict[str, str], str | None]] = {}
        """options and comments of catalogs that were created, by name"""
        self._unnamed = 0
        self.register(name, catalog)
        self.current_catalog = name
        self.current_database = catalog.get_default_database()

    # -- catalogs and databases ---------------------------------------------------------------------------------

    def register(self, name: str, catalog: Catalog) -> None:
        """:raises CatalogException: the name is taken."""
        if name in self._catalogs:
            raise CatalogException(f"there is a catalog {name} already")
        catalog.open()
        self._catalogs[name] = catalog

    def unregister(self, name: str, ignore_if_not_exists: bool = False) -> None:
        if name == self.current_catalog:
            raise CatalogException(f"catalog {name} is the current one: USE CATALOG another first")
        if name in self._catalogs:
            self._catalogs.pop(name).close()
            self.descriptions.pop(name, None)
        elif not ignore_if_not_exists:
            raise CatalogException(self._no_catalog(name))

    def catalogs(self) -> list[str]:
        return sorted(self._catalogs)

    def find_catalog(self, name: str) -> Catalog | None:
        return self._catalogs.get(name)

    def catalog(self, name: str) -> Catalog:
        """:raises CatalogException: there is none."""
        found = self._catalogs.get(name)
        if found is None:
            raise CatalogException(self._no_catalog(name))
        return found

    @property
    def current(self) -> Catalog:
        return self.catalog(self.current_catalog)

    def use_catalog(self, name: str) -> None:
        if name != self.current_catalog:
            self.current_database = self.catalog(name).get_default_database()
            self.current_catalog = name

    def use_database(self, name: str, catalog: str | None = None) -> None:
        catalog = catalog or self.current_catalog
        if not self.catalog(catalog).database_exists(name):
            known = self.catalog(catalog).list_databases()
            meant = did_you_mean(name, known) or f", only {', '.join(known)}"
            raise CatalogException(f"there is no database {name} in catalog {catalog}{meant}")
        self.current_catalog, self.current_database = catalog, name

    def _no_catalog(self, name: str) -> str:
        meant = did_you_mean(name, self._catalogs) or f", only {', '.join(self._catalogs)} (CREATE CATALOG makes one)"
        return f"there is no catalog {name}{meant}"

    # -- names --------------------------------------------------------------------------------------------------

    def qualify(self, path: Sequence[str]) -> ObjectIdentifier:
        """The full name of one to three parts."""
        if not 1 <= len(path) <= 3:
            raise problem(f"a name has one to three parts, not {len(path)}: {'.'.join(path)}")
        front = (self.current_catalog, self.current_database)[: 3 - len(path)]
        return ObjectIdentifier(*front, *path)

    # -- tables -------------------------------------------------------------------------------------------------

    def anonymous(self, connector: str) -> ObjectIdentifier:
        """The name of a table that has none, for messages and plans."""
        self._unnamed += 1
        return self.qualify([f"*anonymous_{connector}${self._unnamed}*"])

    def keep_unnamed(self, table: CatalogBaseTable) -> ObjectIdentifier:
        """A name under which SQL finds a table that has none."""
        identifier = self.qualify([f"UnnamedTable${self._unnamed}"])
        self._unnamed += 1
        self.temporary_tables[identifier] = table
        return identifier

    def find_table(self, path: Sequence[str]) -> FoundTable | None:
        """The table or view that a name means; None if there is none."""
        identifier = self.qualify(path)
        temporary = self.temporary_tables.get(identifier)
        if temporary is not None:
            return FoundTable(identifier, temporary, True)
        catalog = self.find_catalog(identifier.get_catalog_name())
        if catalog is None or not catalog.database_exists(identifier.get_database_name()):
            return None
        where = identifier.to_object_path()
        return FoundTable(identifier, catalog.get_table(where), False) if catalog.table_exists(where) else None

    def table(self, path: Sequence[str]) -> FoundTable:
        """:raises TableException: there is none."""
        found = self.find_table(path)
        if found is None:
            hint = did_you_mean(path[-1], self.list_tables())
            raise problem(f"there is no table or view {self.qualify(path)}{hint}")
        return found

    def create_table(
        self, identifier: ObjectIdentifier, table: CatalogBaseTable, ignore_if_exists: bool, temporary: bool
    ) -> None:
        if not temporary:
            catalog = self.catalog(identifier.get_catalog_name())
            try:
                catalog.create_table(identifier.to_object_path(), table, ignore_if_exists)
            except TableAlreadyExistException as error:
                text = f"Could not execute CreateTable in path {identifier}: {error}"
                raise TableAlreadyExistException(text) from error
        elif identifier not in self.temporary_tables:
            self.temporary_tables[identifier] = table
        elif not ignore_if_exists:
            raise problem(
                f"there is a temporary table or view {identifier} already: drop_temporary_view() or "
                f"drop_temporary_table() takes it away"
            )

    def drop_temporary_table(self, identifier: ObjectIdentifier, view: bool) -> bool:
        """Whether there was one."""
        found = self.temporary_tables.get(identifier)
        if found is None or found.is_view != view:
            return False
        del self.temporary_tables[identifier]
        return True

    def drop_table(self, identifier: ObjectIdentifier, ignore_if_not_exists: bool, view: bool) -> bool:
        """Drop a table of a catalog. Whether there was one.

        :raises TableException: there is none, it is the other of table and view, or a temporary one hides it.
        """
        what = "view" if view else "table"
        hiding = self.temporary_tables.get(identifier)
        if hiding is not None and hiding.is_view == view:
            raise problem(f"a temporary {what} has the name {identifier}: drop that one first, DROP TEMPORARY {what}")
        catalog = self.find_catalog(identifier.get_catalog_name())
        path = identifier.to_object_path()
        there = catalog is not None and catalog.database_exists(path.get_database_name()) and catalog.table_exists(path)
        if catalog is not None and there and catalog.get_table(path).is_view == view:
            catalog.drop_table(path, ignore_if_not_exists)
            return True
        if ignore_if_not_exists:
            return False
        raise problem(f"there is no {what} {identifier}{did_you_mean(path.get_object_name(), self.list_tables())}")

    def list_tables(self, catalog: str | None = None, database: str | None = None) -> list[str]:
        """Tables and views of a database (default: the current one), temporary ones too."""
        catalog, database = catalog or self.current_catalog, database or self.current_database
        temporary = self._temporary_names(self.temporary_tables, catalog, database)
        return sorted({*self.catalog(catalog).list_tables(database), *temporary})

    def list_views(self, catalog: str | None = None, database: str | None = None) -> list[str]:
        catalog, database = catalog or self.current_catalog, database or self.current_database
        views = {key: table for key, table in self.temporary_tables.items() if table.is_view}
        return sorted({*self.catalog(catalog).list_views(database), *self._temporary_names(views, catalog, database)})

    def list_temporary(self, views: bool) -> list[str]:
        """Temporary views, or temporary tables and views, of the current database."""
        kept = {key: table for key, table in self.temporary_tables.items() if table.is_view or not views}
        return sorted(self._temporary_names(kept, self.current_catalog, self.current_database))

    def list_models(self) -> list[str]:
        return sorted({*self.current.list_models(self.current_database), *self.list_temporary_models()})

    def list_temporary_models(self) -> list[str]:
        return sorted(self._temporary_names(self.temporary_models, self.current_catalog, self.current_database))

    @staticmethod
    def _temporary_names(objects: Iterable[ObjectIdentifier], catalog: str, database: str) -> list[str]:
        where = (catalog, database)
        return [each.get_object_name() for each in objects if tuple(each.to_list()[:2]) == where]


# CREATE CATALOG

ENTRY_POINTS = "millrace.catalogs"
_DATABASE = "default-database"
Factory = Callable[[str, Mapping[str, str]], Catalog]


def _in_memory(name: str, options: Mapping[str, str]) -> Catalog:
    return GenericInMemoryCatalog(name, options.get(_DATABASE, "default"))


def _file(name: str, options: Mapping[str, str]) -> Catalog:
    if "path" not in options:
        raise problem(f"catalog {name}: type 'file' needs 'path', a directory")
    return FileCatalog(name, options["path"], options.get(_DATABASE, "default"))


def _jdbc(name: str, options: Mapping[str, str]) -> Catalog:
    for needed in ("base-url", _DATABASE):
        if needed not in options:
            raise problem(f"catalog {name}: type 'jdbc' needs '{needed}'")
    user, password = options.get("username"), options.get("password")
    return JdbcCatalog(name, options[_DATABASE], user, password, options["base-url"])


_BUILT_IN: dict[str, tuple[Factory, tuple[str, ...]]] = {
    "generic_in_memory": (_in_memory, (_DATABASE,)),
    "file": (_file, ("path", _DATABASE)),
    "jdbc": (_jdbc, ("base-url", _DATABASE, "username", "password", "driver")),
}


def create_catalog(manager: CatalogManager, name: str, options: Mapping[str, str], comment: str | None = None) -> None:
    """Make and register a catalog.

    :raises TableException: an unknown type, or options that it does not have.
    """
    kind = options.get("type")
    installed = points(ENTRY_POINTS)
    if kind in _BUILT_IN:
        make, known = _BUILT_IN[kind]
        for option in options:
            if option not in ("type", *known):
                raise problem(f"catalog type '{kind}' has no option '{option}'{did_you_mean(option, known)}")
        catalog = make(name, options)
    elif kind in installed:
        catalog = installed[kind].load()(name, options)
    else:
        kinds = sorted({*_BUILT_IN, *installed})
        given = "has no type" if kind is None else f"has the unknown type '{kind}'{did_you_mean(kind, kinds)}"
        raise problem(f"catalog {name} {given}: WITH ('type' = '...'), one of {', '.join(kinds)}")
    manager.register(name, catalog)
    manager.descriptions[name] = (dict(options), comment)
