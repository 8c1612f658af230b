"""Nodes that make any number of rows of each input row in Python: table functions and look-ups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational import nodes as n
from millrace.relational.arrow import schema_of
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rex import Rex
from millrace.relational.rows import record_batch
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow
from millrace.runtime.functions.evaluator import FunctionEvaluator
from millrace.runtime.functions.finding import wrappers_in
from millrace.runtime.functions.runner import FunctionRunner
from millrace.runtime.functions.tables import Made
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.frames import retyped, types_of
from millrace.spark.tables.steps.parts import Part
from millrace.spark.tables.steps.python_tasks import PythonTask
from millrace.spark.tables.texts.types import as_internal, outgoing, spark_schema


class Expansion(ABC):
    """What makes the rows. Lives in one task."""

    def wrappers(self) -> Iterator[Any]:
        """The wrappers of the user's functions (``table.udf``) that it calls."""
        return iter(())

    def open(self, functions: FunctionRunner) -> None:
        """A task begins."""

    @abstractmethod
    def expand(self, evaluator: FunctionEvaluator, types: Sequence[DataType]) -> Made:
        """The rows that belong to the rows of the batch.

        :param types: of their columns.
        """

    def close(self) -> None: ...


def in_columns(found: Sequence[Sequence[Any]], types: Sequence[DataType]) -> Made:
    """The rows of each row of a batch, as sequences of values, in the form that ``expand`` gives."""
    where = np.repeat(np.arange(len(found)), [len(rows) for rows in found])
    values = [value for rows in found for value in rows]
    return where, [to_arrow([row[index] for row in values], kind) for index, kind in enumerate(types)]


@dataclass(frozen=True)
class ExpandTask:
    """Batches of input rows -> batches of the input's columns and the produced ones."""

    expansion: Expansion
    inputs: tuple[DataType, ...]
    produced: n.Schema
    left: bool
    """a row without any stays, with NULLs"""
    condition: Rex | None
    surroundings: Surroundings
    task: PythonTask

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        wrappers = [*self.expansion.wrappers(), *wrappers_in(self.condition)]
        with self.task.functions(wrappers) as functions:
            self.expansion.open(functions)
            try:
                for batch in batches:
                    if batch.num_rows:
                        yield self._batch(batch, functions)
            finally:
                self.expansion.close()

    def _batch(self, batch: pa.RecordBatch, functions: FunctionRunner) -> pa.RecordBatch:
        columns = [as_internal(column, kind) for column, kind in zip(batch.columns, self.inputs)]
        evaluator = FunctionEvaluator(columns, self._around(batch.num_rows), functions)
        row_type = [column.type for column in self.produced]
        where, made = self.expansion.expand(evaluator, row_type)
        if self.condition is not None and len(where):
            taken = [column.take(pa.array(where)) for column in columns]
            mask = FunctionEvaluator([*taken, *made], self._around(len(where)), functions).mask(self.condition)
            where, made = where[mask], [column.filter(pa.array(mask)) for column in made]
        if self.left:
            where, made = _with_missing(where, made, batch.num_rows)
        taken = [column.take(pa.array(where)) for column in columns]
        types = [*self.inputs, *row_type]
        whole = record_batch([*taken, *made], len(where))
        return outgoing(whole.cast(schema_of(types))) if types else whole

    def _around(self, length: int) -> Surroundings:
        return replace(self.surroundings, length=length)


def _with_missing(where: Any, made: list[pa.Array], length: int) -> tuple[Any, list[pa.Array]]:
    """Rows that are not in ``where`` put to the end, with NULLs."""
    missing = np.setdiff1d(np.arange(length), where)
    padded = [pa.concat_arrays([column, pa.nulls(len(missing), column.type)]) for column in made]
    return np.concatenate([where, missing]), padded


def expand(
    part: Part,
    expansion: Expansion,
    node: n.Correlate | n.LookupJoin,
    produced: n.Schema,
    left: bool,
    context: Context,
) -> Part:
    """The rows with those that an expansion makes of them, of the types that the node says."""
    types = tuple(column.type for column in node.input.schema)
    if isinstance(node, n.LookupJoin):
        what = f"table {'.'.join(node.path)}"
        name = f"LookupJoin({'.'.join(node.path)})"
    else:
        what = f"table function {node.function}"
        name = f"Correlate({node.function})"
    around, place = context.surroundings, context.task(name)
    task = ExpandTask(expansion, types, produced, left, node.condition, around, place)
    shown = [*types, *types_of(produced)]
    expanded = part.in_python(task, spark_schema(shown), partial(context.ship, what=what))
    return retyped(expanded, shown, node.schema)
