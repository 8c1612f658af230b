"""Joins with an external table that is asked for keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from millrace.relational import nodes as n
from millrace.relational.rex import Rex
from millrace.relational.values import to_python
from millrace.spark.tables.context import Context
from millrace.spark.tables.expanding import Expansion, expand
from millrace.spark.tables.frames import typed
from millrace.spark.tables.user_functions import UserEvaluator, UserFunctions


def lookup_join(node: n.LookupJoin, inputs: list[DataFrame], context: Context) -> DataFrame:
    """Each row with the rows that the table has for its key. Rows with NULL in the key have none."""
    expansion = Lookup(node.source, tuple(key for _, key in node.lookup), ".".join(node.path), len(node.table))
    return typed(expand(inputs[0], expansion, node, node.table, node.kind == "LEFT", context), node.schema)


@dataclass
class Lookup(Expansion):
    """Asks once for each different key of a batch."""

    source: Any
    keys: tuple[Rex, ...]
    name: str
    width: int

    def open(self, functions: UserFunctions) -> None:
        self.source.open()

    def expand(self, evaluator: UserEvaluator, length: int) -> Iterable[list[Any]]:
        rows = list(zip(*(to_python(evaluator.column(key), key.type) for key in self.keys)))
        distinct = list(dict.fromkeys(row for row in rows if None not in row))
        found = dict(zip(distinct, map(self._checked, self.source.lookup(distinct)), strict=True)) if distinct else {}
        return [found.get(row, []) for row in rows]

    def _checked(self, found: Iterable[Any]) -> list[Any]:
        rows = list(found)
        if rows and len(rows[0]) != self.width:
            raise ValueError(f"table {self.name} has {self.width} columns, its lookup source gave {len(rows[0])}")
        return rows

    def close(self) -> None:
        self.source.close()
