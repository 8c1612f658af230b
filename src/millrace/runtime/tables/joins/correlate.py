"""Joins each row with the rows that a table function makes of it: LATERAL TABLE and UNNEST."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from millrace.relational.nodes import Schema
from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.runtime.functions.evaluator import FunctionEvaluator, made_rows
from millrace.runtime.tables.base import TableConfig, TableOperator
from millrace.runtime.tables.columns.matching import side_by_side, with_missing
from millrace.runtime.tables.joins.join_config import holds
from millrace.runtime.tables.joins.unnest import unnest


@dataclass(frozen=True, kw_only=True)
class Correlate(TableConfig):
    """The description of a ``Correlate`` node."""

    input: Schema
    function: str
    args: tuple[Rex, ...]
    produced: Schema
    left: bool = False
    condition: Rex | None = None
    """a condition over input and produced columns; with ``left`` rows for which it never holds remain, with NULLs"""
    udf: Any = None
    ordinality: bool = False
    """whether there is an index column: UNNEST ... WITH ORDINALITY"""

    def wrappers(self) -> Iterator[Any]:
        yield from super().wrappers()
        if self.udf is not None:
            yield self.udf

    def operator(self) -> CorrelateOperator:
        return CorrelateOperator(self)


class CorrelateOperator(TableOperator[Correlate]):
    def setup(self, context: Any, output: Any) -> None:
        super().setup(context, output)
        udf = self.config.udf
        if udf is None and self.config.function != "UNNEST":
            raise NotImplementedError(f"table function {self.config.function} is not built in: make one with udtf()")

    def receive(self, rows: Rows, input: int) -> None:
        config = self.config
        given = rows.columns[: len(config.input)]  # rows without columns have one to be counted by
        evaluator = self.evaluator(rows.columns, len(rows))
        if config.udf is not None:
            assert isinstance(evaluator, FunctionEvaluator)
            types = [column.type for column in config.produced]
            at, made = made_rows(self.functions, config.udf, evaluator.arguments(config.args), types)
        else:
            at, made = unnest(evaluator.column(config.args[0]), config.args[0].type, config.ordinality)
        to = np.arange(len(at))
        if config.condition is not None and len(at):
            matches = holds(self, config.condition, given, made, at, to)
            at, to = at[matches], to[matches]
        if config.left:
            at, to = with_missing(at, to, len(rows))
        kinds = None if rows.kinds is None else rows.kinds[at]
        self.emit_columns(side_by_side(given, made, at, to), len(at), kinds)
