"""What a session finds by name: tables, views and models (``CatalogManager``: temporary objects first, then those of
its catalogs), and functions (``Functions``: temporary ones, those of modules and those of catalogs).

Also runs CREATE CATALOG: makes a catalog by its options."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.table.catalogs.catalog import Catalog
from millrace.table.catalogs.objects import CatalogBaseTable, CatalogFunction, CatalogModel, ObjectIdentifier
from millrace.table.functions.udf import UserDefinedFunctionWrapper, wrapped
from millrace.table.values.program_errors import problem
from millrace.util import plugins
from millrace.util.exceptions import CatalogException, TableAlreadyExistException, TableException
from millrace.util.fallback import Adopting
from millrace.util.names import did_you_mean


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

CATALOGS = "millrace.catalogs"
"""functions of a catalog's name and options, by the type of the catalog"""


def create_catalog(manager: CatalogManager, name: str, options: Mapping[str, str], comment: str | None = None) -> None:
    """Make and register a catalog.

    :raises TableException: an unknown type, or options that it does not have.
    """
    kind = options.get("type")
    if kind is None or not plugins.has(CATALOGS, kind):
        kinds = plugins.names(CATALOGS)
        given = "has no type" if kind is None else f"has the unknown type '{kind}'{did_you_mean(kind, kinds)}"
        raise problem(f"catalog {name} {given}: WITH ('type' = '...'), one of {', '.join(kinds)}")
    catalog = plugins.load(CATALOGS, kind)(name, options)
    manager.register(name, catalog)
    manager.descriptions[name] = (dict(options), comment)


# Modules


class Module(Adopting):
    """A set of functions. Subclass it and give functions made by ``udf`` and its like.

    >>> class Doubles(Module):
    ...     def list_functions(self):
    ...         return ["twice"]
    ...     def get_function(self, name):
    ...         return udf(lambda n: n * 2, result_type="BIGINT") if name.lower() == "twice" else None
    >>> t_env.load_module("doubles", Doubles())
    >>> next(t_env.sql_query("SELECT twice(4)").execute().collect())
    <Row(8)>
    """

    def list_functions(self) -> list[str]:
        """The names of its functions."""
        return []

    def get_function(self, name: str) -> Any | None:
        """The function with this name (in any case), None without."""
        return None


class CoreModule(Module):
    """The built-in functions. The planner knows them itself."""

    def list_functions(self) -> list[str]:
        from millrace.relational.functions.aggregates.registry import aggregate_names
        from millrace.relational.functions.registry import scalar_names

        names = {*scalar_names(), *aggregate_names()}
        return sorted(name for name in names if name.isidentifier())  # the others are operators, and forms in plans


class ModuleEntry:
    """A module by name, and whether functions are looked up in it.

    >>> entry = t_env.list_full_modules()[0]
    >>> entry.name(), entry.used()
    ('core', True)
    """

    def __init__(self, name: str, used: bool) -> None:
        self._name = name
        self._used = used

    def name(self) -> str:
        """The name of the module."""
        return self._name

    def used(self) -> bool:
        """Whether functions are looked up in it."""
        return self._used

    def __repr__(self) -> str:
        return f"ModuleEntry{{name='{self._name}', used={str(self._used).lower()}}}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleEntry) and (self._name, self._used) == (other._name, other._used)

    def __hash__(self) -> int:
        return hash((self._name, self._used))

    def __lt__(self, other: ModuleEntry) -> bool:
        return self._name < other._name


# Functions by name

CORE = "core"


class Functions:
    """Looks functions up: temporary system functions, modules, temporary functions, functions of catalogs."""

    def __init__(self, manager: CatalogManager) -> None:
        self._manager = manager
        self._modules: dict[str, Module] = {CORE: CoreModule()}
        self._used = [CORE]
        self._loaded: dict[str, UserDefinedFunctionWrapper] = {}

    # -- modules ------------------------------------------------------------------------------------------------

    def load_module(self, name: str, module: Module) -> None:
        if name in self._modules:
            raise problem(f"module {name} is loaded already")
        self._modules[name] = module
        self._used.append(name)

    def unload_module(self, name: str) -> None:
        if name not in self._modules:
            raise self._no_module(name)
        del self._modules[name]
        self._used = [each for each in self._used if each != name]

    def use_modules(self, names: Sequence[str]) -> None:
        """The modules that functions are looked up in, in this order."""
        for name in names:
            if name not in self._modules:
                raise self._no_module(name)
            if names.count(name) > 1:
                raise problem(f"Module '{name}' appears more than once")
        self._used = list(names)

    def _no_module(self, name: str) -> TableException:
        return problem(f"No module with name '{name}' exists{did_you_mean(name, self._modules)}")

    def list_modules(self) -> list[str]:
        return list(self._used)

    def list_full_modules(self) -> list[ModuleEntry]:
        rest = [name for name in self._modules if name not in self._used]
        return [*(ModuleEntry(name, True) for name in self._used), *(ModuleEntry(name, False) for name in rest)]

    # -- functions ----------------------------------------------------------------------------------------------

    def find(self, path: Sequence[str]) -> tuple[UserDefinedFunctionWrapper, bool] | None:
        """A function of the user, and whether it comes before a built-in one of its name."""
        if len(path) == 1:
            system = self._manager.temporary_system_functions.get(path[0].lower())
            if system is not None:
                return self._wrapper(system), True
            for place, name in enumerate(self._used):
                found = self._modules[name].get_function(path[0])
                if found is not None:
                    return wrapped(found), CORE not in self._used[:place]
        kept = self._stored(path)
        return None if kept is None else (self._wrapper(kept), False)

    def _stored(self, path: Sequence[str]) -> CatalogFunction | None:
        identifier = self._manager.qualify(path)
        wanted = [part.lower() for part in identifier.to_list()]
        for key, function in self._manager.temporary_functions.items():
            if [part.lower() for part in key.to_list()] == wanted:
                return function
        catalog = self._manager.find_catalog(identifier.get_catalog_name())
        database = identifier.get_database_name()
        if catalog is None or not catalog.database_exists(database):
            return None
        for name in catalog.list_functions(database):
            if name.lower() == wanted[-1]:
                from millrace.table.catalogs.objects import ObjectPath

                return catalog.get_function(ObjectPath(database, name))
        return None

    def _wrapper(self, function: CatalogFunction) -> UserDefinedFunctionWrapper:
        if function.function is not None:
            return wrapped(function.function)
        name = function.get_class_name()
        if name not in self._loaded:
            self._loaded[name] = load_function(name, function.get_function_language())
        return self._loaded[name]

    def list_all(self) -> list[str]:
        """Every name that can be called in the current database."""
        modules = {name.lower() for used in self._used for name in self._modules[used].list_functions()}
        return sorted({*modules, *self.list_user_defined()})

    def list_user_defined(self) -> list[str]:
        manager = self._manager
        where = (manager.current_catalog, manager.current_database)
        temporary = {key.get_object_name() for key in manager.temporary_functions if tuple(key.to_list()[:2]) == where}
        own = manager.current.list_functions(manager.current_database)
        return sorted({*manager.temporary_system_functions, *temporary, *own})


def load_function(name: str, language: str) -> UserDefinedFunctionWrapper:
    """The function of CREATE FUNCTION ... AS 'module.name' LANGUAGE PYTHON.

    :raises TableException: another language, or there is no such function.
    """
    if language.upper() != "PYTHON":
        raise problem(
            f"function '{name}' is in {language.upper()}, and there is no JVM to call it in: write it in Python, "
            "CREATE FUNCTION ... AS 'module.function' LANGUAGE PYTHON"
        )
    module, _, attribute = name.rpartition(".")
    if not module:
        raise problem(f"'{name}' is no 'module.function'")
    try:
        home = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise problem(f"function '{name}': {error}; is its file given with -pyfs or add_python_file()?") from error
    found = getattr(home, attribute, None)
    if found is None:
        raise problem(f"module {module} has no function {attribute}{did_you_mean(attribute, dir(home))}")
    try:
        return wrapped(found() if isinstance(found, type) else found)
    except TypeError as error:
        raise problem(f"function '{name}': {error}") from error
