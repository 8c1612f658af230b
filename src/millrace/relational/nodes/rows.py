"""One row after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from millrace.relational.fields import ROWTIME, Schema
from millrace.relational.nodes.base import SameSchema, Single, nullable
from millrace.relational.rex import Rex
from millrace.relational.rex_text import rex_text


class Project(Single):
    """Compute columns. ``times`` says which of them are time attributes (None: as the references say)."""

    expressions: tuple[Rex, ...]
    columns: Schema

    def details(self) -> list[str]:
        source = self.input.schema
        parts = []
        for expression, column in zip(self.expressions, self.columns):
            text = rex_text(expression, source)
            parts.append(text if text == column.name else f"{text} AS {column.name}")
        return parts


class Filter(SameSchema):
    """Rows for which the condition is TRUE."""

    condition: Rex

    def details(self) -> list[str]:
        return [rex_text(self.condition, self.schema)]


class Watermark(Single):
    """WATERMARK FOR column AS expression: the column becomes the event time attribute."""

    column: int
    expression: Rex
    leaves_out: bool = False
    """whether rows without a time are left out; else they are an error in streaming mode"""
    max_jump: int | None = None
    """ms that event time may jump ahead; None: as far as a row says"""

    @property
    def schema(self) -> Schema:
        columns = self.input.schema
        return tuple(
            replace(each, time=ROWTIME) if index == self.column else each for index, each in enumerate(columns)
        )

    def details(self) -> list[str]:
        return [f"{self.input.schema[self.column].name} AS {rex_text(self.expression, self.input.schema)}"]


class Correlate(Single):
    """LATERAL TABLE(f(...)) and CROSS JOIN UNNEST(...): each row with the rows that a table function makes of it.

    ``function`` is UNNEST (WITH ORDINALITY: option), another built-in name, or UDTF with ``udf``. The result has the
    columns of the input and then those of the function.
    """

    function: str
    args: tuple[Rex, ...]
    produced: Schema
    left: bool = False
    """LEFT JOIN ... ON TRUE: a row without any result stays, with NULLs"""
    condition: Rex | None = None
    """over input and produced columns"""
    udf: Any = None
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def schema(self) -> Schema:
        return self.input.schema + nullable(self.produced, self.left)

    def details(self) -> list[str]:
        args = ", ".join(rex_text(arg, self.input.schema) for arg in self.args)
        parts = ["LEFT" if self.left else "INNER", f"{self.function}({args})"]
        parts.append("produces=[" + ", ".join(column.name for column in self.produced) + "]")
        parts += [f"{name}={value}" for name, value in self.options]
        if self.condition is not None:
            parts.append(rex_text(self.condition, self.input.schema + self.produced))
        return parts


class Expand(Single):
    """Each row gives one row a projection: how streaming plans compute GROUPING SETS."""

    projections: tuple[tuple[Rex, ...], ...]
    columns: Schema

    def details(self) -> list[str]:
        source = self.input.schema
        return ["(" + ", ".join(rex_text(part, source) for part in each) + ")" for each in self.projections]


class Hinted(SameSchema):
    """A query hint on a query block: (name, arguments), e.g. STATE_TTL or a join hint."""

    hints: tuple[tuple[str, tuple[Any, ...]], ...]

    def details(self) -> list[str]:
        return [f"{name}({', '.join(map(str, args))})" for name, args in self.hints]
