"""Older methods and arguments of tables, catalogs and functions, and what programs reach behind a table environment.

``t_env._j_tenv.getPlanner().getExecEnv().setParallelism(n)`` stands in programs of Flink's documents. Arguments were
several names in one text, kinds of functions, paths in parts. A temporal table function gives the versions of a table's
rows that were valid at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millrace.datastream import StreamExecutionEnvironment
from millrace.legacy.warning import tell
from millrace.table.catalogs.objects import CatalogFunction
from millrace.table.environment import TableEnvironment
from millrace.table.expression_methods.expression_base import node_of
from millrace.table.sql import nodes
from millrace.table.table import Table
from millrace.table.values.program_errors import problem


def is_generic(function: CatalogFunction) -> bool:
    """Always True: there are no Hive functions."""
    tell("CatalogFunction.is_generic()", "leave it out: all functions are")
    return True


@dataclass(frozen=True)
class _Planner:
    environment: StreamExecutionEnvironment

    def getExecEnv(self) -> StreamExecutionEnvironment:
        """The environment below, whose methods have Java's names, too."""
        return self.environment


def getPlanner(t_env: TableEnvironment) -> _Planner:
    tell("t_env._j_tenv.getPlanner()", 't_env.get_config().set("parallelism.default", ...)')
    return _Planner(t_env._session.streams)


class TemporalTableFunction:
    """The latest row of each key up to a time, made by ``Table.create_temporal_table_function``."""

    def __init__(self, table: Table, time: str, key: str) -> None:
        self._table, self._time, self._key = table, time, key

    def register(self, name: str, t_env: TableEnvironment) -> None:
        """Register the versions as a view with this name, for ``FOR SYSTEM_TIME AS OF`` in SQL."""
        if t_env is not self._table._t_env:
            raise problem("the temporal table function is of another table environment")
        others = ", ".join(f"`{column}`" for column in self._table._plan.names)
        t_env.execute_sql(
            f"CREATE TEMPORARY VIEW `{name}` AS SELECT {others} FROM (SELECT *, ROW_NUMBER() OVER ("
            f"PARTITION BY `{self._key}` ORDER BY `{self._time}` DESC) AS `row number` FROM {self._table}) "
            f"WHERE `row number` = 1"
        )


def create_temporal_table_function(table: Table, time_attribute: Any, primary_key: Any) -> TemporalTableFunction:
    """The versions of a history: what row each key had at a time."""
    tell(
        "Table.create_temporal_table_function()",
        "a view with ROW_NUMBER() ... = 1, joined with FOR SYSTEM_TIME AS OF",
    )
    return TemporalTableFunction(table, _column(time_attribute), _column(primary_key))


def _column(given: Any) -> str:
    if isinstance(given, str):
        return given
    node = node_of(given)
    if not isinstance(node, nodes.Column):
        raise problem(f"create_temporal_table_function takes columns, not {given}")
    return node.name


_Call = tuple[tuple[Any, ...], dict[str, Any]]


def todays_arguments(function: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> _Call:
    """The arguments of a deprecated call, in today's form."""
    if function == "Table.alias":
        return _alias(args), keywords
    if function == "Table.insert_into":
        return _insert_into(args), keywords
    if "udf_type" in keywords:
        tell(f"{function}(..., udf_type=...)", f"{function}(..., func_type=...)")
        keywords = dict(keywords)
        keywords["func_type"] = keywords.pop("udf_type")
    return args, keywords


def _alias(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """``alias("a, b")`` is ``alias("a", "b")``."""
    table, *names = args
    if not any("," in name for name in names if isinstance(name, str)):
        return args
    tell('Table.alias("a, b")', 'Table.alias("a", "b")')
    return (table, *(part.strip() for name in names for part in str(name).split(",")))


def _insert_into(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """``insert_into("catalog", "database", "table")`` is ``insert_into("catalog.database.table")``."""
    table, *parts = args
    if len(parts) < 2 or not all(isinstance(part, str) for part in parts):
        return args
    tell("Table.insert_into() with the parts of a path", 'Table.execute_insert("catalog.database.table")')
    return (table, ".".join(f"`{part}`" for part in parts))
