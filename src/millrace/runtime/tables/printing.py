"""The print connector: rows as lines, which travel to the driver and are shown there."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.relational.nodes import Schema
from millrace.relational.rows import Rows
from millrace.runtime.operators.collect import PrintOperator
from millrace.runtime.tables.base import TableConfig, TableOperator
from millrace.runtime.tables.row_text import row_texts


@dataclass(frozen=True, kw_only=True)
class PrintRows(TableConfig):
    """Lines are ``identifier:subtask> +I[...]``: the identifier (``print-identifier``) if there is one, the subtask,
    counted from 1, if there are several."""

    input: Schema
    identifier: str | None = None

    def operator(self) -> PrintRowsOperator:
        return PrintRowsOperator(self)


class PrintRowsOperator(TableOperator[PrintRows], PrintOperator):
    def __init__(self, config: PrintRows) -> None:
        TableOperator.__init__(self, config)
        PrintOperator.__init__(self, config.identifier, None)

    def receive(self, rows: Rows, input: int) -> None:
        prefix = self._prefix
        types = [column.type for column in self.config.input]
        self._lines.extend([prefix + text for text in row_texts(rows, types)])
