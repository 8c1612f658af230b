"""``ResolvedExpression``: an expression whose type is known."""

from __future__ import annotations

from typing import Any

from millrace.relational.types import DataType
from millrace.table.expression_methods.expression import Expression
from millrace.table.sql import nodes
from millrace.table.sql.writing.programs import shown

__all__ = ["ResolvedExpression"]


class ResolvedExpression(Expression[Any]):
    """An expression that was checked against the columns it reads, e.g. a computed column of a schema."""

    def __init__(self, node: nodes.Node, data_type: DataType, sql: str | None = None) -> None:
        super().__init__(node)
        self._data_type = data_type
        self._sql = sql

    def __repr__(self) -> str:
        return self.as_summary_string()

    def as_summary_string(self) -> str:
        """The expression for logs."""
        return self._sql if self._sql is not None else shown(self._node)

    def as_serializable_string(self) -> str:
        """The expression in SQL.

        :raises TableException: it was not written in SQL.
        """
        from millrace.util.exceptions import TableException

        if isinstance(self._node, nodes.Column):
            return f"`{self._node.name}`"
        if self._sql is None:
            raise TableException(f"{self} was made in Python and has no SQL text: write the expression in SQL")
        return self._sql

    def get_output_data_type(self) -> DataType:
        return self._data_type

    def get_resolved_children(self) -> list[ResolvedExpression]:
        """The columns that it reads; their types are not kept, so those of nested calls are not given."""
        return []
