"""LATERAL TABLE and UNNEST."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from millrace.relational import nodes as n
from millrace.relational import types as t
from millrace.relational.rex import Rex
from millrace.relational.values import to_python
from millrace.runtime.functions.evaluator import FunctionEvaluator
from millrace.runtime.functions.finding import wrappers_in
from millrace.runtime.functions.tables import Made, made_rows
from millrace.spark.tables.nodes.expanding import Expansion, expand, in_columns
from millrace.spark.tables.nodes.forms import batch_form
from millrace.spark.tables.steps.computed import compute
from millrace.spark.tables.steps.context import Context
from millrace.spark.tables.steps.frames import filtered, names, typed_texts, types_of
from millrace.spark.tables.steps.parts import Part


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
