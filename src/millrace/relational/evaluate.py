"""Expressions computed on Arrow columns: streaming plans, and what Spark lacks in batch ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.arrow import arrow_type
from millrace.relational.functions.registry import Column, Surroundings, find_scalar
from millrace.relational.rex import Call, FieldAccess, Literal, Ref, Rex, UdfCall
from millrace.relational.values import to_arrow_scalar


class Evaluator:
    """Expressions over the columns of one batch. Equal parts are computed once."""

    def __init__(self, columns: Sequence[pa.Array], surroundings: Surroundings) -> None:
        self._columns = columns
        self._surroundings = surroundings
        self._known: dict[Rex, Column] = {}

    def column(self, expression: Rex) -> pa.Array:
        """The values of an expression, one a row."""
        found = self.value(expression)
        if isinstance(found, pa.Scalar):
            return repeat(found, self._surroundings.length)
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found

    def mask(self, condition: Rex) -> Any:
        """Where the condition is TRUE, as numpy Booleans."""
        return self.column(condition).fill_null(False).to_numpy(zero_copy_only=False)

    def value(self, expression: Rex) -> Column:
        """The values of an expression, or one scalar that stands for equal ones."""
        if isinstance(expression, Ref):
            return self._columns[expression.index]
        if isinstance(expression, Literal):
            return to_arrow_scalar(expression.value, expression.type)
        known = self._known.get(expression)
        if known is None:
            known = self._compute(expression)
            if _repeatable(expression):
                self._known[expression] = known
        return known

    def _compute(self, expression: Rex) -> Column:
        if isinstance(expression, Call):
            function = find_scalar(expression.function)
            if function is None:
                raise NotImplementedError(f"function {expression.function} is not built in")
            args = [self.value(arg) for arg in expression.args]
            return function.compute(expression, args, self._surroundings)
        if isinstance(expression, FieldAccess):
            row = self.value(expression.row)
            position = expression.row.type.field_names().index(expression.name)  # type: ignore[attr-defined]
            return pc.struct_field(row, position)
        if isinstance(expression, UdfCall):
            raise NotImplementedError("a user's function is called by its own operator, not inside an expression")
        raise NotImplementedError(f"{type(expression).__name__} cannot be computed on columns")


def _repeatable(expression: Rex) -> bool:
    if isinstance(expression, Call):
        function = find_scalar(expression.function)
        if function is not None and not function.deterministic:
            return False
    return all(_repeatable(child) for child in expression.children)


def repeat(scalar: pa.Scalar, length: int) -> pa.Array:
    """A column of equal values."""
    return pa.nulls(length, scalar.type) if not scalar.is_valid else pa.repeat(scalar, length)


def empty_columns(types: Sequence[Any]) -> list[pa.Array]:
    """Columns of these data types without rows."""
    return [pa.array([], arrow_type(each)) for each in types]
