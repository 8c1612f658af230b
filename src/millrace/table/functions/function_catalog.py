"""The functions of a session by name: temporary ones, those of modules (sets of functions beside the catalogs) and
those of catalogs.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from millrace.table.catalogs.manager import CatalogManager
from millrace.table.catalogs.objects import CatalogFunction
from millrace.table.functions.udf import UserDefinedFunctionWrapper, wrapped
from millrace.table.not_yet import not_yet
from millrace.table.values.program_errors import problem
from millrace.util.exceptions import TableException
from millrace.util.fallback import Adopting
from millrace.util.names import did_you_mean

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


class HiveModule(Module):
    """Not there: raises NotImplementedError.

    >>> HiveModule("3.1.3")
    Traceback (most recent call last):
        ...
    NotImplementedError: ...
    """

    def __init__(self, hive_version: str | None = None) -> None:
        raise not_yet("HiveModule", "functions made with udf() in a Module of your own")


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
        kept = self._kept(path)
        return None if kept is None else (self._wrapper(kept), False)

    def _kept(self, path: Sequence[str]) -> CatalogFunction | None:
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
