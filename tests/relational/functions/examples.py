"""Examples of built-in functions, declared once and run in every way that a function can be run.

    EXAMPLES = [
        Example("UPPER", ["abc"], "ABC", DOCS),
        Example("ABS", [of(t.TinyIntType(), -3)], of(t.TinyIntType(), 3), JAVA),
        Example("COALESCE", [null(t.IntType()), 2], 2, DOCS, strict=False),
        Example("/", [1, 0], source=JAVA, raises="division by zero"),
    ]

    @pytest.mark.parametrize("example", EXAMPLES, ids=str)
    def test_example(example: Example) -> None:
        example.check()

``check`` computes the example on Arrow columns: as constants, as columns, as a column and constants, and in a batch
with rows whose arguments are NULL one by one. ``test_spark_text.py`` looks for ``EXAMPLES`` in the test modules of this
directory and computes those that have Spark text by Spark.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from millrace.relational import types as t
from millrace.relational.functions.evaluate import Evaluator
from millrace.relational.functions.registry import Surroundings, call, find_scalar
from millrace.relational.rex import Call, Literal, Ref, Rex
from millrace.relational.type_table import arrow_type
from millrace.relational.types import DataType
from millrace.relational.values import to_arrow, to_python

DOCS = "Flink's documentation of built-in functions"
JAVA = "the Java language, which Flink computes with"
STANDARD = "the SQL standard"
SOURCE = "Flink's implementation of the function"
FLINK = "a running Flink (tests/flink)"
PYTHON = "plain Python"


@dataclass(frozen=True)
class Typed:
    """A value with its SQL type, where the type is not the usual one of its Python class."""

    type: DataType
    value: Any


def of(data_type: DataType, value: Any) -> Typed:
    return Typed(data_type, value)


def null(data_type: DataType) -> Typed:
    return Typed(data_type, None)


def typed(value: Any) -> Typed:
    """A value with the type that is usual for its Python class."""
    if isinstance(value, Typed):
        return value
    for cls, data_type in _USUAL.items():
        if isinstance(value, cls):
            return Typed(data_type, value)
    if isinstance(value, Decimal):
        scale = max(0, -int(value.as_tuple().exponent))
        return Typed(t.DecimalType(max(len(value.as_tuple().digits), scale), scale), value)
    if isinstance(value, dt.datetime):
        return Typed(t.TimestampType(6) if value.tzinfo is None else t.LocalZonedTimestampType(6), value)
    if isinstance(value, dt.date):
        return Typed(t.DateType(), value)
    if isinstance(value, list) and value:
        return Typed(t.ArrayType(typed(value[0]).type), value)
    if isinstance(value, dict) and value:
        key, item = next(iter(value.items()))
        return Typed(t.MapType(typed(key).type, typed(item).type), value)
    raise TypeError(f"say the type of {value!r} with of(...)")


_USUAL: dict[type, DataType] = {
    bool: t.BooleanType(),
    int: t.IntType(),
    float: t.DoubleType(),
    str: t.string(),
    bytes: t.VarBinaryType(t.MAX_LENGTH),
    dt.time: t.TimeType(6),
    dt.timedelta: t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.DAY_TO_SECOND),
}


@dataclass(frozen=True)
class Example:
    """One call of a function and what it gives."""

    function: str
    args: Sequence[Any]
    """values, or ``of(type, value)``"""
    gives: Any = None
    """the value, or ``of(type, value)`` where the type matters too"""
    source: str = ""
    """where the expectation comes from"""
    options: dict[str, Any] = field(default_factory=dict)
    cast: DataType | None = None
    """the target of a CAST or TRY_CAST"""
    strict: bool = True
    """NULL in any argument gives NULL"""
    close: bool = False
    """a DOUBLE that may differ in the last digits"""
    constant: tuple[int, ...] = ()
    """arguments that have to be constants"""
    raises: str = ""
    """what the message of the error contains"""
    zone: str = "UTC"
    database: str = "default_database"

    def __str__(self) -> str:
        args = ", ".join(repr(typed(arg).value) for arg in self.args)
        return f"{self.function}({args})" + (f" as {self.cast}" if self.cast else "")

    # -- expressions --------------------------------------------------------------------------------------------------

    def values(self) -> list[Typed]:
        return [typed(arg) for arg in self.args]

    def call(self, columns: Sequence[int] = (), start: int = 0) -> Call:
        """The typed call; these arguments are columns of the input, from ``start`` on, the others are constants."""
        args: list[Rex] = []
        for index, value in enumerate(self.values()):
            if index in columns:
                args.append(Ref(value.type.nullable(), start + index))
            else:
                args.append(Literal(value.type.with_nullable(value.value is None), value.value))
        if self.cast is not None:
            from millrace.relational.functions.cast_values import explicit_cast

            return explicit_cast(args[0], self.cast, self.function == "TRY_CAST")
        return call(self.function, args, self.options)

    def spark_text(self, start: int) -> str | None:
        """The call over columns from ``start`` on as Spark SQL; None if Spark does not compute it."""
        columns = [index for index in range(len(self.args)) if index not in self.constant]
        return spark_text(self.call(columns, start))

    # -- running ------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Compute the example in all ways."""
        everything = [index for index in range(len(self.args)) if index not in self.constant]
        ways = [[], everything, everything[:1]] if everything else [[]]
        for columns in ways:
            self._check_way(columns)

    def _check_way(self, columns: list[int]) -> None:
        rows = [[value.value for value in self.values()]]
        for index in columns:
            without = list(rows[0])
            without[index] = None
            rows += [without, rows[0]]
        called = self.call(columns)
        if self.raises:
            with pytest.raises((ValueError, ArithmeticError)) as raised:
                self.run(called, rows)
            assert self.raises in str(raised.value), str(raised.value)
            return
        found = self.run(called, rows)
        for index, (row, value) in enumerate(zip(rows, found)):
            if index % 2 == 0:
                assert self.agrees(value), f"{self} with columns {columns}: {value!r}, expected {self.gives!r}"
            elif self.strict:
                assert value is None, f"{self} of {row} with columns {columns}: {value!r}, expected NULL"

    def run(self, called: Call, rows: list[list[Any]]) -> list[Any]:
        """What the call gives for rows of arguments; checks its type."""
        types = [value.type for value in self.values()]
        arrays = [to_arrow([row[index] for row in rows], each) for index, each in enumerate(types)]
        around = Surroundings(len(rows), self.zone, database=self.database)
        result = Evaluator(arrays, around).column(called)
        assert result.type == arrow_type(called.type), f"{self}: {result.type} for {called.type}"
        assert len(result) == len(rows)
        if isinstance(self.gives, Typed):
            assert called.type.is_same(self.gives.type), f"{self} is of type {called.type}, not {self.gives.type}"
        if not called.type.is_nullable and not self.raises:
            assert result.null_count == 0, f"{self} gives NULL for {called.type}"
        return to_python(result, called.type)

    def agrees(self, found: Any) -> bool:
        """Whether this is the expected value."""
        wanted = self.gives.value if isinstance(self.gives, Typed) else self.gives
        return same(found, wanted, self.close)


def same(found: Any, wanted: Any, close: bool = False) -> bool:
    """Equal and of one kind: NaN is NaN, 0.0 is not -0.0, TRUE is not 1."""
    if isinstance(wanted, float) and isinstance(found, float):
        if math.isnan(wanted) or math.isnan(found):
            return math.isnan(wanted) and math.isnan(found)
        if close:
            return math.isclose(found, wanted, rel_tol=1e-12, abs_tol=1e-15)
        return found == wanted and math.copysign(1, found) == math.copysign(1, wanted)
    if isinstance(wanted, list) and isinstance(found, list):
        return len(found) == len(wanted) and all(same(a, b, close) for a, b in zip(found, wanted))
    if isinstance(wanted, bool) or isinstance(found, bool):
        return found is wanted
    return bool(found == wanted)


def spark_text(expression: Rex) -> str | None:
    """An expression over columns c0, c1, ... as Spark SQL; None if a part has no Spark text."""
    if isinstance(expression, Ref):
        return f"c{expression.index}"
    if isinstance(expression, Literal):
        return _spark_literal(expression.value)
    if isinstance(expression, Call):
        args = [spark_text(arg) for arg in expression.args]
        function = find_scalar(expression.function)
        if function is None or function.spark is None or None in args:
            return None
        return function.spark(expression, [arg for arg in args if arg is not None])
    return None


def _spark_literal(value: Any) -> str | None:
    if value is None or isinstance(value, (bool, int)):
        return "NULL" if value is None else str(value).upper()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    return None


def columns_of(example: Example) -> list[pa.Array]:
    """The arguments as columns of two rows: the values, and NULL."""
    return [to_arrow([value.value, None], value.type) for value in example.values()]
