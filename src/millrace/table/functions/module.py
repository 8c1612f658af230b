"""Modules: sets of functions that a session has beside its catalogs."""

from __future__ import annotations

from typing import Any

from millrace.table.not_yet import not_yet
from millrace.util.adopting import Adopting

__all__ = ["HiveModule", "Module", "ModuleEntry"]


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
