"""Conditions as expressions (``col("price") > 10``) or SQL text: bound to the fields of a stream, run on columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

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


class ExpressionCondition(ColumnCondition):
    """An expression over the fields of the events."""

    def __init__(self, condition: Rex, columns: Schema, single: bool) -> None:
        self._condition, self._columns, self._single = condition, columns, single

    def mask(self, events: Sequence[Any]) -> Sequence[bool]:
        if not events:
            return []
        arrays = columns_of(events, self._columns, self._single)
        found: list[bool] = Evaluator(arrays, Surroundings(len(events))).mask(self._condition).tolist()
        return found


def bound(pattern: PatternDescription, type_info: TypeInformation) -> PatternDescription:
    """The pattern with its expressions over elements of a type.

    :raises MalformedPatternException: there are expressions, and the elements have no declared fields.
    """
    return replace(pattern, steps=tuple(_step(step, type_info) for step in pattern.steps))


def _step(step: Step, type_info: TypeInformation) -> Step:
    group = None if step.group is None else tuple(_step(inner, type_info) for inner in step.group)
    return replace(
        step, condition=_condition(step.condition, type_info), until=_condition(step.until, type_info), group=group
    )


def _condition(condition: Any, type_info: TypeInformation) -> Any:
    if isinstance(condition, (AndCondition, OrCondition)):
        left, right = _condition(condition.left, type_info), _condition(condition.right, type_info)
        same = left is condition.left and right is condition.right
        return condition if same else type(condition)(left, right)
    if isinstance(condition, NotCondition):
        negated = _condition(condition.negated, type_info)
        return condition if negated is condition.negated else NotCondition(negated)
    if not isinstance(condition, UnboundCondition):
        return condition
    given = condition.given
    tree = parse_expression(given) if isinstance(given, str) else expression_of(given)
    data_type = data_type_of_info(type_info)
    if isinstance(data_type, RawType):
        raise MalformedPatternException(
            f"{condition.where}: an expression needs a stream whose elements have declared fields; declare the type of "
            f"the stream before key_by() (output_type=Types.ROW_NAMED(...) or Types.TUPLE(...)), or give a function"
        )
    single = not isinstance(data_type, RowType)
    named = [RowField("f0", data_type)] if not isinstance(data_type, RowType) else data_type.fields
    columns = tuple(Field(field.name, field.data_type) for field in named)
    return ExpressionCondition(bind_condition(tree, Block.of(columns, _Names())), columns, single)


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
