"""Procedures of a catalog that keeps them itself: Python objects of this session."""

from __future__ import annotations

from millrace.table.catalogs.objects import Procedure
from millrace.table.catalogs.paths import ObjectPath
from millrace.table.values.problems import did_you_mean, problem
from millrace.util.exceptions import ProcedureNotExistException


class KeptProcedures:
    """By their paths; with capital letters or without, as names of functions."""

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
