"""The variables of a pattern in the expressions of ``Table.match_recognize``."""

from __future__ import annotations

from typing import Any

from millrace.table.expression_methods.base import node_of
from millrace.table.expression_methods.expression import Expression
from millrace.table.sql import nodes


class MatchVariable:
    """A variable of a pattern, or a subset: its columns are expressions.

    ``A = MatchVariable("A")``: ``A.price`` is the price of its last row so far, ``A.first("price")`` that of its first
    one; aggregates are those of all expressions: ``A.price.sum``.

        >>> variable = MatchVariable("A")
        >>> condition = variable.amount > variable.prev("amount")
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"MatchVariable({self._name!r})"

    def __getattr__(self, column: str) -> Expression[Any]:
        if column.startswith("_"):
            raise AttributeError(column)
        return self[column]

    def __getitem__(self, column: str) -> Expression[Any]:
        """A column whose name is no name of Python's, or that of a method."""
        return Expression(nodes.Column(nodes.Identifier(column), nodes.Identifier(self._name)))

    def first(self, column: str, offset: int = 0) -> Expression[Any]:
        """FIRST: of the first row, or so many rows of the variable after it."""
        return self._call("FIRST", column, offset)

    def last(self, column: str, offset: int = 0) -> Expression[Any]:
        """LAST: of the last row, or so many rows of the variable before it."""
        return self._call("LAST", column, offset)

    def prev(self, column: str, rows: int = 1) -> Expression[Any]:
        """PREV: of the row so many rows of the partition before the last one of the variable."""
        return self._call("PREV", column, rows)

    def next(self, column: str, rows: int = 1) -> Expression[Any]:
        """NEXT: of the row so many rows of the partition after the last one of the variable."""
        return self._call("NEXT", column, rows)

    def _call(self, function: str, column: str, number: int) -> Expression[Any]:
        return Expression(nodes.Call(function, (node_of(self[column]), nodes.Constant(number))))
