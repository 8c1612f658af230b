"""Conditions as expressions (``col("price") > 10``) or SQL text: bound to the fields of a stream, run on columns; and
expressions that were made in Python as SQL text. Loads the Table API, so it is imported when a condition needs it.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from millrace.cep.pattern_parts import UnboundCondition
from millrace.common.typeinfo import TypeInformation
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Surroundings, find_scalar
from millrace.relational.nodes import Schema
from millrace.relational.rex import Call, Field, Rex, refs, walk
from millrace.relational.types import RawType, RowField, RowType
from millrace.runtime.cep.description import (
    AndCondition,
    ColumnCondition,
    MalformedPatternException,
    NotCondition,
    OrCondition,
    PatternDescription,
    Step,
)
from millrace.runtime.tables.stream_rows import some_columns_of
from millrace.table.expression_methods.expression_base import expression_of
from millrace.table.sql import nodes
from millrace.table.sql.binding.scope import Block, bind_condition
from millrace.table.sql.grammar.parser import parse_expression
from millrace.table.sql.writing import written
from millrace.table.values.data_types import data_type_of_info
from millrace.util.exceptions import TableException


class Fields:
    """The fields of events as columns, shared by all conditions of a pattern: made once for each batch of events.

    :param columns: the fields of an event.
    :param single: whether an event is the value of the only column.
    :param used: the numbers of those that conditions look at.
    """

    def __init__(self, columns: Schema, single: bool, used: Iterable[int] = ()) -> None:
        self.columns, self._single, self._used = columns, single, set(used)
        self._events: Sequence[Any] | None = None
        self._arrays: list[Any] = []

    def use(self, numbers: Iterable[int]) -> None:
        """Mark these columns as used by a condition."""
        self._used.update(numbers)

    def of(self, events: Sequence[Any]) -> list[Any]:
        """The columns of events; None for columns that no condition uses.

        :param events: must not change as long as they are asked about.
        """
        if events is not self._events:
            self._events = events
            self._arrays = some_columns_of(events, self.columns, self._single, sorted(self._used))
        return self._arrays

    def __reduce__(self) -> tuple[type[Fields], tuple[Schema, bool, set[int]]]:
        return Fields, (self.columns, self._single, self._used)


class ExpressionCondition(ColumnCondition):
    """A condition that is an expression over the fields of the events."""

    def __init__(self, condition: Rex, fields: Fields, text: str) -> None:
        self._condition, self._fields = condition, fields
        self.text = text
        """the expression as the user wrote it, for messages"""
        fields.use(refs(condition))

    def mask(self, events: Sequence[Any]) -> Sequence[bool]:
        if not events:
            return []
        arrays = self._fields.of(events)
        found: Sequence[bool] = Evaluator(arrays, Surroundings(len(events))).mask(self._condition)
        return found


def bound(pattern: PatternDescription, type_info: TypeInformation) -> PatternDescription:
    """The pattern with its expressions over elements of a type.

    :raises MalformedPatternException: there are expressions, and the elements have no declared fields.
    """
    fields = _fields(type_info)
    return replace(pattern, steps=tuple(_step(step, fields) for step in pattern.steps))


def _fields(type_info: TypeInformation) -> Fields | None:
    """The fields of an element type; None if it declares none."""
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
    rex = bind_condition(tree, Block.of(fields.columns, _Names()))
    changing = [name for name in map(_changing, walk(rex)) if name is not None]
    if changing:
        raise MalformedPatternException(
            f"{condition.where}: {', '.join(changing)} may be another value when the same event is looked at again "
            f"(after a restart): a condition must depend on its event alone. The clock is "
            f"ctx.current_processing_time() of a function of the event and the context"
        )
    return ExpressionCondition(rex, fields, str(given))


def _changing(part: Rex) -> str | None:
    """The name of a function in the expression that is not deterministic."""
    function = find_scalar(part.function) if isinstance(part, Call) else None
    return None if function is None or (function.deterministic and not function.dynamic) else function.name


class _Names:
    """A session without tables and functions."""

    zone = "UTC"
    streaming = True
    matches_as_standard = False

    def table(self, path: tuple[str, ...], options: Mapping[str, str]) -> None:
        return None

    def file(self, path: str, format: str | None) -> NoReturn:
        raise TableException("a condition reads no files")

    def sink(self, path: tuple[str, ...], options: Mapping[str, str]) -> None:
        return None

    def function(self, path: tuple[str, ...]) -> None:
        return None

    def table_names(self) -> Iterable[str]:
        return ()

    def function_names(self) -> Iterable[str]:
        return ()


_OPERATORS = ("AND", "OR", "LIKE", "ARRAY", "MAP", "ITEM")
"""operators that are words; all other words are functions"""
_BRACKETED = (nodes.BuiltIn, nodes.Not, nodes.Neg, nodes.Between, nodes.In)


def sql_of(expression: Any) -> str:
    """The expression as equivalent SQL text.

    :raises ValueError: it has something that SQL has no text for.
    """
    tree = _in_brackets(expression_of(expression))
    try:
        found = written(tree)
        same = parse_expression(found) == tree
    except Exception as error:
        raise ValueError(f"{expression} can't be written as SQL: {error}") from error
    if not same:
        raise ValueError(f"{expression} can't be written as SQL: {found} would mean something else")
    return found


def _in_brackets(node: nodes.Node) -> nodes.Node:
    """The expression with constants as literals, and brackets around each operator, which a tree made in Python
    lacks."""
    if isinstance(node, nodes.Constant):
        return _literal(node)
    inside = node.rebuilt(_in_brackets)
    if isinstance(inside, nodes.BuiltIn):
        if inside.this.isidentifier() and inside.this not in _OPERATORS:
            return nodes.Call(inside.this, inside.expressions)
        return nodes.BuiltIn(inside.this, inside.rebuilt(_bracket).expressions)
    if isinstance(inside, _BRACKETED):
        return inside.rebuilt(_bracket)
    return inside


def _bracket(part: nodes.Node) -> nodes.Node:
    return nodes.Paren(part) if isinstance(part, _BRACKETED) else part


def _literal(constant: nodes.Constant) -> nodes.Node:
    value = constant.value
    match value:
        case None:
            return nodes.Null()
        case bool():
            return nodes.Boolean(value)
        case str():
            return nodes.Literal.string(value)
        case int() | decimal.Decimal():
            return _number(str(value))
        case float():
            return _number(f"{value!r}E0" if "e" not in repr(value) else repr(value))
        case datetime.datetime() if value.tzinfo is None:
            return parse_expression(f"TIMESTAMP '{value.isoformat(' ')}'")
        case datetime.date():
            return parse_expression(f"DATE '{value.isoformat()}'")
    raise ValueError(f"the constant {value!r} has no text in SQL")


def _number(text: str) -> nodes.Node:
    return nodes.Neg(nodes.Literal.number(text[1:])) if text.startswith("-") else nodes.Literal.number(text)
