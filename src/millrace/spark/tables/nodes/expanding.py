"""Nodes that make any number of rows of each input row in Python: LATERAL TABLE, UNNEST and look-up joins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.functions.registry import Surroundings
from millrace.relational.rex import Rex
from millrace.relational.rows import record_batch
from millrace.relational.type_table import schema_of
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow, to_python
from millrace.runtime.functions.evaluator import FunctionEvaluator, Made, made_rows
from millrace.runtime.functions.runner import FunctionRunner, wrappers_in
from millrace.runtime.tables.joins.lookups import LookupConfig, Lookups
from millrace.spark.tables.nodes.forms import batch_form
from millrace.spark.tables.steps.computed import compute, filtered, names, retyped, typed_texts, types_of
from millrace.spark.tables.steps.context import Context, PythonTask
from millrace.spark.tables.steps.parts import Part
from millrace.spark.tables.steps.spark_types import as_internal, outgoing, spark_schema


class Expansion(ABC):
    """Makes the rows that belong to input rows. Lives in one task."""

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
    """whether an input row without any produced row stays, with NULLs"""
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
    """Build the part in which each input row is followed by the columns of the rows that ``expansion`` makes of it, in
    the types of the node's schema. A row without any is left out, or stays with NULLs if ``left``."""
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


# LATERAL TABLE and UNNEST


@batch_form(n.Correlate)
def correlate(node: n.Correlate, inputs: list[Part], context: Context) -> Part:
    """Each row with the rows that a function makes of it.

    :raises NotImplementedError: the function is neither UNNEST nor one of the user's.
    """
    if node.udf is None and node.function != "UNNEST":
        raise NotImplementedError(f"table function {node.function} is not built in")
    if node.udf is None and not (node.left and node.condition is not None):
        return _unnest(node, inputs[0], context)
    kind = node.args[0].type if node.udf is None else None
    expansion: Expansion = (
        UserTableFunction(node.udf, node.args)
        if kind is None
        else Unnesting(node.args[0], bool(dict(node.options).get("ordinality")))
    )
    return expand(inputs[0], expansion, node, node.produced, node.left, context)


def _unnest(node: n.Correlate, part: Part, context: Context) -> Part:
    """Arrays element by element (rows as columns), maps as keys and values, multisets each value as often as it
    occurs."""
    (collection,) = node.args
    width = len(node.input.schema)
    ordinality = bool(dict(node.options).get("ordinality"))
    computed = compute(part, [collection], types_of(node.input.schema), context)
    text = _element_list(computed.texts[0], collection.type)
    explode = "posexplode_outer" if node.left else "posexplode"
    exploded = computed.part.select([*names(width), f"{explode}({text}) AS (place, element)"])
    produced = [f"element.f{index}" for index in range(len(node.produced) - ordinality)]
    parts = [*produced, *(["place + 1"] if ordinality else [])]
    known = [*types_of(node.input.schema), *([None] * len(parts))]
    part = exploded.select(typed_texts([*names(width), *parts], known, node.schema))
    if node.condition is None:
        return part
    return filtered(part, node.condition, types_of(node.schema), context)


def _element_list(text: str, kind: t.DataType) -> str:
    """An array of rows with fields f0, f1, ..."""
    if isinstance(kind, t.MapType):
        return f"transform(map_entries({text}), each -> named_struct('f0', each.key, 'f1', each.value))"
    if isinstance(kind, t.MultisetType):
        repeated = f"flatten(transform(map_entries({text}), each -> array_repeat(each.key, each.value)))"
        return f"transform({repeated}, each -> {_element('each', kind.element_type)})"
    assert isinstance(kind, t.ArrayType)
    return f"transform({text}, each -> {_element('each', kind.element_type)})"


def _element(text: str, kind: t.DataType) -> str:
    if not isinstance(kind, t.RowType):
        return f"named_struct('f0', {text})"
    fields = ", ".join(f"'f{index}', {text}.`{name.replace('`', '``')}`" for index, name in enumerate(kind.names))
    return f"named_struct({fields})"


@dataclass
class UserTableFunction(Expansion):
    """A table function of the user."""

    wrapper: Any
    args: tuple[Rex, ...]

    def wrappers(self) -> Iterator[Any]:
        yield self.wrapper
        yield from wrappers_in(self.args)

    def expand(self, evaluator: FunctionEvaluator, types: Sequence[t.DataType]) -> Made:
        return made_rows(evaluator.functions, self.wrapper, evaluator.arguments(self.args), types)


@dataclass
class Unnesting(Expansion):
    """UNNEST where a condition decides which elements a row keeps: Spark checks conditions only after it."""

    collection: Rex
    ordinality: bool

    def wrappers(self) -> Iterator[Any]:
        return wrappers_in(self.collection)

    def expand(self, evaluator: FunctionEvaluator, types: Sequence[t.DataType]) -> Made:
        values = to_python(evaluator.column(self.collection), self.collection.type)
        found = [_elements(value, self.collection.type) for value in values]
        if self.ordinality:
            found = [[(*row, place) for place, row in enumerate(rows, 1)] for rows in found]
        return in_columns(found, types)


def _elements(value: Any, kind: t.DataType) -> list[tuple[Any, ...]]:
    if value is None:
        return []
    if isinstance(kind, t.MapType):
        return list(value.items())
    if isinstance(kind, t.MultisetType):
        elements = [each for each, count in value.items() for _ in range(count)]
        return [_fields(each, kind.element_type) for each in elements]
    assert isinstance(kind, t.ArrayType)
    return [_fields(each, kind.element_type) for each in value]


def _fields(value: Any, kind: t.DataType) -> tuple[Any, ...]:
    if not isinstance(kind, t.RowType):
        return (value,)
    return (None,) * len(kind) if value is None else tuple(value[index] for index in range(len(kind)))


# Look-ups


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
