"""Names, and what consists of them."""

from __future__ import annotations

from dataclasses import field

from millrace.table.sql.nodes.base import Node, Word


class Identifier(Word):
    """A name. ``quoted`` is how it was written, and means nothing."""

    quoted: bool = field(default=False, compare=False)


class Star(Node):
    """``*``."""

    @property
    def name(self) -> str:
        return "*"


class Var(Word):
    """A word that is no name: UNKNOWN, DEFAULT, a unit of time."""


class Column(Node):
    """Up to four names with dots between them; the last may be a star. They may be fields of rows."""

    this: Identifier | Star
    table: Identifier | None = None
    db: Identifier | None = None
    catalog: Identifier | None = None

    @property
    def name(self) -> str:
        return self.this.name

    @staticmethod
    def named(name: str) -> Column:
        """The column with this name, whatever characters are in it."""
        return Column(Identifier(name))


class Dot(Node):
    """A field of what is not a name, or a name before a call: ``f(x).a``, ``db.f(x)``. The Table API also has fields by
    their number, a ``Literal`` from 0, and the star for all of them."""

    this: Node
    expression: Node

    @staticmethod
    def between(*parts: Node) -> Node:
        """The parts with dots between them; one alone has none."""
        front, *rest = parts
        for part in rest:
            front = Dot(front, part)
        return front
