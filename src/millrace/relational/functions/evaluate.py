"""Computes expressions on Arrow columns: all of them in streaming plans, those that Spark lacks in batch plans."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.relational.functions.registry import Column, Scalar, Surroundings, find_scalar
from millrace.relational.functions.text_values import CastError
from millrace.relational.rex import Call, FieldAccess, Literal, Ref, Rex, UdfCall, refs
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow_scalar

_ROW_TEXT = 300
"""characters of a row in an error"""


class Evaluator:
    """Computes expressions over the columns of one batch. Equal parts are computed once: their key is the function
    and the identity of the argument columns, which costs less than comparing expressions."""

    def __init__(self, columns: Sequence[pa.Array], surroundings: Surroundings) -> None:
        self._columns = columns
        self._surroundings = surroundings
        self._known: dict[tuple[Any, ...], tuple[Sequence[Column], Column]] = {}
        """key of a part -> its argument columns and its value; holding the arguments keeps their ids from being
        reused"""

    def column(self, expression: Rex) -> pa.Array:
        """The values of an expression, one a row."""
        found = self.value(expression)
        if isinstance(found, pa.Scalar):
            return repeat(found, self._surroundings.length)
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found

    def mask(self, condition: Rex) -> Any:
        """Whether the condition is TRUE in each row, as numpy Booleans."""
        return self.column(condition).fill_null(False).to_numpy(zero_copy_only=False)

    def value(self, expression: Rex) -> Column:
        """The values of an expression, or one scalar that stands for equal ones."""
        if isinstance(expression, Ref):
            return self._columns[expression.index]
        if isinstance(expression, Literal):
            return _constant(expression)
        if isinstance(expression, Call):
            return self._call(expression)
        if isinstance(expression, FieldAccess):
            return self._field(expression)
        if isinstance(expression, UdfCall):
            raise NotImplementedError("a function of the user cannot be called here")
        raise NotImplementedError(f"{type(expression).__name__} cannot be computed on columns")

    @property
    def length(self) -> int:
        """Rows of the batch."""
        return self._surroundings.length

    def some_rows(self, rows: Any, expression: Rex) -> pa.Array:
        """The values of an expression in these rows only (numpy indices), in their order. For none nothing is computed,
        not even constants: they may fail."""
        if not len(rows):
            return pa.array([], arrow_type(expression.type))
        taken: list[Any] = [None] * len(self._columns)
        for index in refs(expression):
            taken[index] = self._columns[index].take(pa.array(rows))
        return self.over(taken, replace(self._surroundings, length=len(rows))).column(expression)

    def over(self, columns: Sequence[pa.Array], surroundings: Surroundings) -> Evaluator:
        """An evaluator like this one over other columns."""
        return Evaluator(columns, surroundings)

    def _call(self, expression: Call) -> Column:
        function = find_scalar(expression.function)
        if function is None:
            raise NotImplementedError(f"function {expression.function} is not built in")
        if function.by_need is None:
            return self._computed(function, expression)
        try:
            return self._computed(function, expression)
        except (ValueError, ArithmeticError):
            # An argument that fails may be one that need not be computed for the rows where it does.
            return function.by_need(expression, self)

    def _computed(self, function: Scalar, expression: Call) -> Column:
        args = [self.value(arg) for arg in expression.args]
        key = (expression.function, expression.type, expression.options, *map(id, args))
        known = self._known.get(key)
        if known is not None:
            return known[1]
        try:
            result = function.compute(expression, args, self._surroundings)
        except CastError as error:
            raise self._with_row(error) from None
        if function.deterministic:
            self._known[key] = args, result
        return result

    def _with_row(self, error: CastError) -> CastError:
        """The error with the row whose value it is about: what there is of it here."""
        if error.row is None:
            return error
        row = ", ".join(repr(column[error.row].as_py()) for column in self._columns if column is not None)
        return CastError(f"{error} (in the row {textwrap.shorten(row, _ROW_TEXT)})")

    def _field(self, expression: FieldAccess) -> Column:
        row = self.value(expression.row)
        position = expression.row.type.field_names().index(expression.name)  # type: ignore[attr-defined]
        # struct_field alone would show the fields of a row that is NULL.
        return pc.if_else(pc.is_valid(row), pc.struct_field(row, position), pa.scalar(None, row.type[position].type))


def _constant(literal: Literal) -> pa.Scalar:
    """The Arrow scalar of a constant; equal constants of one type share the same object."""
    value = literal.value
    try:
        # 0.0 and -0.0 are equal, as are 1 and TRUE.
        return _known_constant(
            literal.type, type(value).__qualname__, str(value) if isinstance(value, float) else "", value
        )
    except TypeError:  # an array, a row, ...
        return to_arrow_scalar(value, literal.type)


@lru_cache(maxsize=5_000)
def _known_constant(data_type: DataType, kind: str, text: str, value: Any) -> pa.Scalar:
    return to_arrow_scalar(value, data_type)


def repeat(scalar: pa.Scalar, length: int) -> pa.Array:
    """A column of equal values."""
    return pa.nulls(length, scalar.type) if not scalar.is_valid else pa.repeat(scalar, length)


def scatter(pieces: Sequence[pa.Array], rows: Sequence[Any], length: int, wanted: pa.DataType) -> pa.Array:
    """One column of values computed for different rows; the rows are all of the batch, each once."""
    if not length:
        return pa.array([], wanted)
    order = np.empty(length, np.int64)
    order[np.concatenate(rows)] = np.arange(length)
    return pa.concat_arrays(list(pieces)).take(pa.array(order))
