"""What every node of a tree has: its place in the text, its parts, and the way to a changed copy."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from millrace.util.record import Record

if TYPE_CHECKING:
    from millrace.table.sql.text.errors import Position

N = TypeVar("N", bound="Node")


class Node(Record):
    """A part of a query or an expression. Two are equal if they say the same, wherever they stand."""

    position: Position | None = field(default=None, compare=False, repr=False, kw_only=True)

    def children(self) -> Iterator[Node]:
        """The nodes directly below it, in the order of its fields."""
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, tuple):
                yield from (item for item in value if isinstance(item, Node))

    def walk(self) -> Iterator[Node]:
        """It and all below it, level by level."""
        waiting: deque[Node] = deque([self])
        while waiting:
            found = waiting.popleft()
            yield found
            waiting.extend(found.children())

    def find_all(self, kind: type[N]) -> Iterator[N]:
        return (each for each in self.walk() if isinstance(each, kind))

    def rebuilt(self: N, change: Callable[[Node], Node]) -> N:
        """It with another node in the place of each one directly below it; itself if all stay."""
        changed: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            new = _changed(value, change)
            if new is not value:
                changed[each.name] = new
        return replace(self, **changed) if changed else self

    def rewritten(self, change: Callable[[Node], Node | None]) -> Node:
        """It with what ``change`` gives in the place of a part; where it gives nothing, it sees what is below."""
        changed = change(self)
        return self.rebuilt(lambda part: part.rewritten(change)) if changed is None else changed


class Word(Node):
    """A node that begins with a text, which is its name."""

    this: str

    @property
    def name(self) -> str:
        return self.this


def _changed(value: Any, change: Callable[[Node], Node]) -> Any:
    if isinstance(value, Node):
        return change(value)
    if not isinstance(value, tuple):
        return value
    new = tuple(change(item) if isinstance(item, Node) else item for item in value)
    return value if all(one is other for one, other in zip(value, new)) else new
