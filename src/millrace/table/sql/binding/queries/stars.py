"""The items of a SELECT list: * and t.* spelled out, names for all."""

from __future__ import annotations

from collections.abc import Iterator

from millrace.relational.rex import Rex
from millrace.relational.types import RowType
from millrace.table.sql import nodes
from millrace.table.sql.binding.block import Block
from millrace.table.sql.binding.dispatch import bind
from millrace.table.sql.binding.names import access, resolve
from millrace.table.sql.binding.problems import fail
from millrace.util.record import Record


class Item(Record):
    """A column of the result."""

    name: str
    tree: nodes.Node
    expression: Rex | None = None
    """bound already, over the columns of FROM: a column of a *"""


def select_items(tree: nodes.Select, block: Block) -> list[Item]:
    """The columns of a SELECT list in their order."""
    items: list[Item] = []
    for written in tree.expressions:
        items += _items(written, len(items), block)
    return items


def _items(written: nodes.Node, position: int, block: Block) -> Iterator[Item]:
    if isinstance(written, nodes.Star):
        columns = block.scope.star()
        if not columns:
            fail(written, "SELECT * needs a FROM")
        yield from (Item(name, written, column) for name, column in columns)
    elif isinstance(written, (nodes.Column, nodes.Dot)) and _ends_with_star(written):
        yield from _qualified(written, block)
    elif isinstance(written, nodes.Alias):
        yield Item(written.alias.name, written.this)
    else:
        yield Item(_name(written) or f"EXPR${position}", written)


def _ends_with_star(written: nodes.Column | nodes.Dot) -> bool:
    last = written.this if isinstance(written, nodes.Column) else written.expression
    return isinstance(last, nodes.Star)


def _qualified(written: nodes.Column | nodes.Dot, block: Block) -> Iterator[Item]:
    """``t.*``, or ``row.*`` for the fields of a row."""
    if isinstance(written, nodes.Dot):
        yield from _fields(written, bind(written.this, block))
        return
    names = tuple(part.name for part in nodes.column_parts(written))[:-1]
    for relation in block.scope.relations_named(names):
        for at, column in enumerate(relation.columns):
            yield Item(column.name, written, relation.ref(at))
        return
    yield from _fields(written, resolve(written, names, block))


def _fields(written: nodes.Node, row: Rex) -> Iterator[Item]:
    if not isinstance(row.type, RowType):
        fail(written, f".* needs a table or a ROW, and this is {row.type}")
    for name in row.type.names:
        yield Item(name, written, access(written, row, [name]))


def _name(written: nodes.Node) -> str:
    if isinstance(written, nodes.Column):
        return written.name
    if isinstance(written, nodes.Dot) and isinstance(written.expression, nodes.Identifier):
        return written.expression.name
    return ""
