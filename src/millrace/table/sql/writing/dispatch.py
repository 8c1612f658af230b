"""Who writes which node. The other modules register here, so they need not know of each other."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch

from millrace.table.sql.grammar.keywords import RESERVED
from millrace.table.sql.nodes import Identifier, Node


@singledispatch
def written(node: Node) -> str:
    """The text of a node."""
    raise TypeError(f"{type(node).__name__} has no text")


def listed(nodes: Iterable[Node]) -> str:
    return ", ".join(map(written, nodes))


def after(words: str, node: Node | None) -> str:
    """A clause that begins with these words; an empty text if there is none."""
    return "" if node is None else f"{words}{written(node)}"


def spaced(*parts: str) -> str:
    """The parts that are there, with a blank between them."""
    return " ".join(filter(None, parts))


def text(value: str) -> str:
    """A text in single quotes."""
    return "'" + value.replace("'", "''") + "'"


def named(name: str, allowed: frozenset[str] = frozenset()) -> str:
    """A name, quoted where it has to be. ``allowed``: keywords that need no quotes."""
    plain = name.isascii() and name.isidentifier() and (name.upper() not in RESERVED or name.upper() in allowed)
    return name if plain else f"`{name.replace('`', '``')}`"


@written.register
def _identifier(node: Identifier) -> str:
    return f"`{node.this.replace('`', '``')}`" if node.quoted else named(node.this)
