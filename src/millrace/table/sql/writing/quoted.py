"""Expressions as tables keep them: with each column in backticks."""

from __future__ import annotations

from dataclasses import replace

from millrace.table.sql.nodes import Column, Identifier, Node
from millrace.table.sql.writing.dispatch import written


def with_quoted_columns(tree: Node) -> str:
    """The text of an expression, which means the same whatever words become keywords."""
    return written(tree.rewritten(_quoted))


def _quoted(node: Node) -> Node | None:
    return node.rebuilt(_quoted_part) if isinstance(node, Column) else None


def _quoted_part(part: Node) -> Node:
    return replace(part, quoted=True) if isinstance(part, Identifier) else part
