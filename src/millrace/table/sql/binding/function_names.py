"""Which names are functions of groups, of OVER windows, and of group windows."""

from __future__ import annotations

from millrace.relational.functions.aggregates.registry import aggregate_names as _registered
from millrace.relational.functions.aggregates.registry import find_aggregate
from millrace.table.sql import nodes

RANKINGS = ("ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE", "LAG", "LEAD")
"""Functions that only OVER has."""
GROUPINGS = ("GROUPING", "GROUPING_ID", "GROUP_ID")
GROUP_WINDOWS = ("TUMBLE", "HOP", "SESSION")
WINDOW_PROPERTIES = ("START", "END", "ROWTIME", "PROCTIME")
JSON_AGGREGATES = (nodes.JsonObjectAgg, nodes.JsonArrayAgg)


def aggregate_names() -> list[str]:
    """Names of the built-in aggregate functions."""
    return [*_registered(), *GROUPINGS]


def is_aggregate(name: str) -> bool:
    return find_aggregate(name.upper()) is not None or name.upper() in GROUPINGS


def is_ranking(name: str) -> bool:
    return name.upper() in RANKINGS


def window_property(name: str) -> tuple[str, str] | None:
    """TUMBLE_START -> (TUMBLE, START); None for any other name."""
    kind, _, what = name.upper().partition("_")
    return (kind, what) if kind in GROUP_WINDOWS and what in WINDOW_PROPERTIES else None


def core(tree: nodes.Node) -> nodes.Node:
    """The call inside of FILTER, WITHIN GROUP and IGNORE NULLS."""
    while isinstance(tree, (nodes.Filter, nodes.WithinGroup, nodes.IgnoreNulls, nodes.RespectNulls)):
        tree = tree.this
    return tree


def call_name(tree: nodes.Node) -> str:
    """The name of a plain call in upper case, empty for anything else."""
    return tree.this.upper() if type(tree) is nodes.Call else ""
