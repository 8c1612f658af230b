"""Temporal table functions: the versions of a table's rows that were valid at a time."""

from __future__ import annotations

from typing import Any

from millrace.legacy.telling import tell
from millrace.table.environment import TableEnvironment
from millrace.table.expression_methods.base import node_of
from millrace.table.sql import nodes
from millrace.table.table import Table
from millrace.table.values.problems import problem

__all__ = ["TemporalTableFunction", "create_temporal_table_function"]


class TemporalTableFunction:
    """The latest row of each key up to a time, made by ``Table.create_temporal_table_function``."""

    def __init__(self, table: Table, time: str, key: str) -> None:
        self._table, self._time, self._key = table, time, key

    def register(self, name: str, t_env: TableEnvironment) -> None:
        """Make the versions known as a view of that name, for ``FOR SYSTEM_TIME AS OF`` in SQL."""
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
