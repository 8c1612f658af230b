"""WHERE and SELECT in one pass over each batch."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.relational.rex import Rex
from millrace.relational.rows import Rows
from millrace.runtime.tables.base import TableConfig, TableOperator


@dataclass(frozen=True, kw_only=True)
class Calc(TableConfig):
    """A filter and a projection. Rows keep their kinds, because both sides of an update are filtered and computed
    alike."""

    passes_rows = True

    condition: Rex | None = None
    """filter; None: all rows pass"""
    expressions: tuple[Rex, ...] | None = None
    """output columns; None: the columns of the input"""

    def operator(self) -> CalcOperator:
        return CalcOperator(self)


class CalcOperator(TableOperator[Calc]):
    def receive(self, rows: Rows, input: int) -> None:
        condition, expressions = self.config.condition, self.config.expressions
        if condition is not None:
            mask = self.evaluator(rows.columns, len(rows)).mask(condition)
            if not mask.all():
                rows = rows.where(mask)
        if expressions is not None and len(rows):
            evaluator = self.evaluator(rows.columns, len(rows))
            rows = rows.with_columns([evaluator.column(each) for each in expressions])
        self.emit_rows(rows)
