"""The items of a SELECT list: * and t.* spelled out, names for all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from millrace.relational.rex import Rex
from millrace.relational.types import RowType
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.dispatch import bind
from millrace.table.sql.binding.names import access, resolve
from millrace.table.sql.binding.problems import fail


@dataclass(frozen=True)
class Item:
    """A column of the result."""

    name: str
    tree: exp.Expr
    expression: Rex | None = None
    """bound already, over the columns of FROM: a column of a *"""


def select_items(tree: exp.Select, block: Block) -> list[Item]:
    """The columns of a SELECT list in their order."""
    items: list[Item] = []
    for written in tree.expressions:
        items += _items(written, len(items), block)
    return items


def _items(written: exp.Expr, position: int, block: Block) -> Iterator[Item]:
    if isinstance(written, exp.Star):
        columns = block.scope.star()
        if not columns:
            fail(written, "SELECT * needs a FROM")
        yield from (Item(name, written, column) for name, column in columns)
    elif isinstance(written, (exp.Column, exp.Dot)) and _ends_with_star(written):
        yield from _qualified(written, block)
    elif isinstance(written, exp.Alias):
        yield Item(written.alias, written.this)
    else:
        yield Item(_name(written) or f"EXPR${position}", written)


def _ends_with_star(written: exp.Column | exp.Dot) -> bool:
    last = written.this if isinstance(written, exp.Column) else written.expression
    return isinstance(last, exp.Star)


def _qualified(written: exp.Column | exp.Dot, block: Block) -> Iterator[Item]:
    """``t.*``, or ``row.*`` for the fields of a row."""
    if isinstance(written, exp.Dot):
        yield from _fields(written, bind(written.this, block))
        return
    names = tuple(part.name for part in nodes.column_parts(written))[:-1]
    for relation in block.scope.relations_named(names):
        for at, column in enumerate(relation.columns):
            yield Item(column.name, written, relation.ref(at))
        return
    yield from _fields(written, resolve(written, names, block))


def _fields(written: exp.Expr, row: Rex) -> Iterator[Item]:
    if not isinstance(row.type, RowType):
        fail(written, f".* needs a table or a ROW, and this is {row.type}")
    for name in row.type.names:
        yield Item(name, written, access(written, row, [name]))


def _name(written: exp.Expr) -> str:
    if isinstance(written, exp.Column):
        return written.name
    if isinstance(written, exp.Dot) and isinstance(written.expression, exp.Identifier):
        return written.expression.name
    return ""
