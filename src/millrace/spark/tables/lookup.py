"""Joins with an external table that is asked for keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from millrace.relational import nodes as n
from millrace.relational.rex import Rex
from millrace.relational.types import DataType
from millrace.relational.values import to_python
from millrace.runtime.functions.evaluator import FunctionEvaluator
from millrace.runtime.functions.finding import wrappers_in
from millrace.runtime.functions.tables import Made
from millrace.spark.tables.context import Context
from millrace.spark.tables.expanding import Expansion, expand, in_columns
from millrace.spark.tables.frames import typed


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

    def wrappers(self) -> Iterator[Any]:
        return wrappers_in(self.keys)

    def open(self) -> None:
        self.source.open()

    def expand(self, evaluator: FunctionEvaluator, types: Sequence[DataType]) -> Made:
        rows = list(zip(*(to_python(evaluator.column(key), key.type) for key in self.keys)))
        distinct = list(dict.fromkeys(row for row in rows if None not in row))
        found = dict(zip(distinct, map(self._checked, self.source.lookup(distinct)), strict=True)) if distinct else {}
        return in_columns([found.get(row, []) for row in rows], types)

    def _checked(self, found: Iterable[Any]) -> list[Any]:
        rows = list(found)
        if rows and len(rows[0]) != self.width:
            raise ValueError(f"table {self.name} has {self.width} columns, its lookup source gave {len(rows[0])}")
        return rows

    def close(self) -> None:
        self.source.close()
