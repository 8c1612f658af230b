"""Joins with an external table that is asked for keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from millrace.relational import nodes as n
from millrace.relational.rex import Rex
from millrace.relational.types import DataType
from millrace.relational.values import to_python
from millrace.runtime.functions.evaluator import FunctionEvaluator
from millrace.runtime.functions.finding import wrappers_in
from millrace.runtime.functions.runner import FunctionRunner
from millrace.runtime.functions.tables import Made
from millrace.runtime.tables.joins.lookups import LookupConfig, Lookups
from millrace.spark.tables.nodes.expanding import Expansion, expand, in_columns
from millrace.spark.tables.nodes.forms import batch_form
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.parts import Part


@batch_form(n.LookupJoin)
def lookup_join(node: n.LookupJoin, inputs: list[Part], context: Context) -> Part:
    """Each row with the rows that the table has for its key. Rows with NULL in the key have none."""
    external = LookupConfig.of(node.source, dict(node.options), len(node.table))
    expansion = LookupExpansion(external, tuple(key for _, key in node.lookup))
    return expand(inputs[0], expansion, node, node.table, node.kind == "LEFT", context)


class LookupExpansion(Expansion):
    """Asks once for each different key of a batch."""

    def __init__(self, external: LookupConfig, keys: tuple[Rex, ...]) -> None:
        self._external = external
        self._keys = keys

    def wrappers(self) -> Iterator[Any]:
        return wrappers_in(self._keys)

    def open(self, functions: FunctionRunner) -> None:
        self._lookups = Lookups(self._external, functions.context)
        self._lookups.open()

    def expand(self, evaluator: FunctionEvaluator, types: Sequence[DataType]) -> Made:
        rows = list(zip(*(to_python(evaluator.column(key), key.type) for key in self._keys)))
        distinct = list(dict.fromkeys(rows))
        found = dict(zip(distinct, self._lookups.find(distinct), strict=True))
        return in_columns([found[row] for row in rows], types)

    def close(self) -> None:
        self._lookups.close()
