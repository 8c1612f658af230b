"""The session as SQL sees it: tables, sinks and functions by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from millrace.relational.nodes import Rel
from millrace.table.catalogs.manager import FoundTable
from millrace.table.queries.problems import problem
from millrace.table.queries.projection import renamed
from millrace.table.sessions.table_info import sink_info, source_info
from millrace.table.sql.binding.resolver import SinkInfo, TableInfo, UserFunction
from millrace.table.sql.binding.user_functions import user_function

if TYPE_CHECKING:
    from millrace.table.table_environment import TableEnvironment

DYNAMIC_OPTIONS = "table.dynamic-table-options.enabled"


class Session:
    """A ``Resolver`` over a table environment."""

    def __init__(self, environment: TableEnvironment) -> None:
        self._environment = environment

    @property
    def zone(self) -> str:
        return self._environment.get_config().get_local_timezone()

    @property
    def streaming(self) -> bool:
        return self._environment._is_streaming

    def table(self, path: tuple[str, ...], options: Mapping[str, str]) -> TableInfo | None:
        self._check_hint(options)
        found = self._environment._catalogs.find_table(path)
        if found is None:
            return None
        if found.table.is_view:
            catalog, database, name = found.identifier.to_list()
            return TableInfo((catalog, database, name), self._view(found))
        return source_info(found.identifier, found.table, options, self._environment)

    def _view(self, found: FoundTable) -> Rel:
        """The plan of a view; its columns have the names that the view gives."""
        from millrace.table.sql.binding import bind_query
        from millrace.table.sql.parser import parse_query

        if found.table.plan is not None:
            return found.table.plan
        plan = bind_query(parse_query(found.table.expanded_query), self)
        names = [column.name for column in found.table.get_unresolved_schema().columns]
        return renamed(plan, names) if len(names) == len(plan.schema) else plan

    def sink(self, path: tuple[str, ...], options: Mapping[str, str]) -> SinkInfo | None:
        self._check_hint(options)
        found = self._environment._catalogs.find_table(path)
        return None if found is None else sink_info(found.identifier, found.table, options, self._environment)

    def _check_hint(self, options: Mapping[str, str]) -> None:
        if options and self._environment.get_config().get(DYNAMIC_OPTIONS, "true").lower() != "true":
            raise problem(f"the hint OPTIONS is switched off: {DYNAMIC_OPTIONS} is false")

    def function(self, path: tuple[str, ...]) -> UserFunction | None:
        found = self._environment._functions.find(path)
        return None if found is None else user_function(path[-1], *found)

    def table_names(self) -> Iterable[str]:
        return self._environment._catalogs.list_tables()

    def function_names(self) -> Iterable[str]:
        return self._environment._functions.list_user_defined()
