"""Conditions as expressions (``col("price") > 10``) or SQL text: bound to the fields of a stream, run on columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from millrace.cep.conditions import UnboundCondition
from millrace.common.typeinfo import TypeInformation
from millrace.relational.fields import Field
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Surroundings
from millrace.relational.nodes import Schema
from millrace.relational.rex import Rex
from millrace.relational.types import RawType, RowField, RowType
from millrace.runtime.cep.conditions import (
    AndCondition,
    ColumnCondition,
    NotCondition,
    OrCondition,
)
from millrace.runtime.cep.description import MalformedPatternException, PatternDescription, Step
from millrace.runtime.tables.stream_rows import columns_of
from millrace.table.expression_methods.base import expression_of
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.dispatch import bind_condition
from millrace.table.sql.parser import parse_expression
from millrace.table.values.stream_types import data_type_of_info


class Fields:
    """The fields of events as columns, for all conditions of a pattern: made once for the events at hand.

    :param columns: the fields of an event.
    :param single: whether an event is the value of the only column.
    """

    def __init__(self, columns: Schema, single: bool) -> None:
        self.columns, self._single = columns, single
        self._events: Sequence[Any] | None = None
        self._arrays: list[pa.Array] = []

    def of(self, events: Sequence[Any]) -> list[pa.Array]:
        """:param events: must not change as long as they are asked about."""
        if events is not self._events:
            self._events, self._arrays = events, columns_of(events, self.columns, self._single)
        return self._arrays

    def __reduce__(self) -> tuple[type[Fields], tuple[Schema, bool]]:
        return Fields, (self.columns, self._single)


class ExpressionCondition(ColumnCondition):
    """An expression over the fields of the events."""

    def __init__(self, condition: Rex, fields: Fields) -> None:
        self._condition, self._fields = condition, fields

    def mask(self, events: Sequence[Any]) -> Sequence[bool]:
        if not events:
            return []
        arrays = self._fields.of(events)
        found: list[bool] = Evaluator(arrays, Surroundings(len(events))).mask(self._condition).tolist()
        return found


def bound(pattern: PatternDescription, type_info: TypeInformation) -> PatternDescription:
    """The pattern with its expressions over elements of a type.

    :raises MalformedPatternException: there are expressions, and the elements have no declared fields.
    """
    fields = _fields(type_info)
    return replace(pattern, steps=tuple(_step(step, fields) for step in pattern.steps))


def _fields(type_info: TypeInformation) -> Fields | None:
    """None: the elements have none that are declared."""
    data_type = data_type_of_info(type_info)
    if isinstance(data_type, RawType):
        return None
    named = data_type.fields if isinstance(data_type, RowType) else [RowField("f0", data_type)]
    return Fields(tuple(Field(each.name, each.data_type) for each in named), not isinstance(data_type, RowType))


def _step(step: Step, fields: Fields | None) -> Step:
    group = None if step.group is None else tuple(_step(inner, fields) for inner in step.group)
    condition, until = _condition(step.condition, fields), _condition(step.until, fields)
    return replace(step, condition=condition, until=until, group=group)


def _condition(condition: Any, fields: Fields | None) -> Any:
    if isinstance(condition, (AndCondition, OrCondition)):
        left, right = _condition(condition.left, fields), _condition(condition.right, fields)
        same = left is condition.left and right is condition.right
        return condition if same else type(condition)(left, right)
    if isinstance(condition, NotCondition):
        negated = _condition(condition.negated, fields)
        return condition if negated is condition.negated else NotCondition(negated)
    if not isinstance(condition, UnboundCondition):
        return condition
    given = condition.given
    tree = parse_expression(given) if isinstance(given, str) else expression_of(given)
    if fields is None:
        raise MalformedPatternException(
            f"{condition.where}: an expression needs a stream whose elements have declared fields; declare the type of "
            f"the stream before key_by() (output_type=Types.ROW_NAMED(...) or Types.TUPLE(...)), or give a function"
        )
    return ExpressionCondition(bind_condition(tree, Block.of(fields.columns, _Names())), fields)


class _Names:
    """A session without tables and functions of its own."""

    zone = "UTC"
    streaming = True
    matches_as_standard = False

    def table(self, path: tuple[str, ...], options: Mapping[str, str]) -> None:
        return None

    def sink(self, path: tuple[str, ...], options: Mapping[str, str]) -> None:
        return None

    def function(self, path: tuple[str, ...]) -> None:
        return None

    def table_names(self) -> Iterable[str]:
        return ()

    def function_names(self) -> Iterable[str]:
        return ()
