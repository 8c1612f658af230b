"""What both sides are to run: tables over files, and queries with the columns of their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PARALLELISM = 2


@dataclass(frozen=True)
class Query:
    """A query whose rows go into a sink that forgets them."""

    sql: str
    columns: str
    """of its result, as DDL has them"""


@dataclass(frozen=True)
class Work:
    """Queries over tables of two sizes: what a query takes on a few rows is what its start takes."""

    few: tuple[str, ...]
    """DDL of the tables with a few rows"""
    whole: tuple[str, ...]
    """DDL of the same tables with all rows"""
    queries: Mapping[str, Query]
    jars: tuple[str, ...] = ()
    """that Flink needs"""
    settings: Mapping[str, str] = field(default_factory=dict)
    """for Flink"""

    def as_json(self, settings: Mapping[str, str]) -> dict[str, Any]:
        """What ``program.py`` reads.

        :param settings: of the side that runs it.
        """
        common = {"parallelism.default": str(PARALLELISM), "table.local-time-zone": "UTC"}
        return {
            "settings": {**common, **settings},
            "ddl": {"few": list(self.few), "whole": list(self.whole)},
            "queries": {name: {"sql": each.sql, "columns": each.columns} for name, each in self.queries.items()},
        }


@dataclass(frozen=True)
class Taken:
    """What a query takes, in seconds, its start left out."""

    wall: float
    processors: float


Found = dict[str, "Taken | str"]
"""query -> what it takes, or why it does not run"""
