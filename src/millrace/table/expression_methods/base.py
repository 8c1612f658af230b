"""What all groups of methods build on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from millrace.common.types import Row
from millrace.table.queries import unbound as u
from millrace.table.queries.problems import problem

if TYPE_CHECKING:
    from millrace.table.expression import Expression


class _Handle:
    """A handle on one node of an unbound expression."""

    _node: u.Node

    def _new(self, node: u.Node) -> Expression[Any]:
        from millrace.table.expression import Expression

        return Expression(node)

    def _apply(self, function: str, shown: str, *args: Any, **options: Any) -> Expression[Any]:
        """A call of a built-in scalar function; what is None of the options is left out."""
        return self._new(u.Apply(function, (self._node, *map(node_of, args)), given(options), shown))

    def _aggregate(self, function: str, shown: str, *args: Any, **options: Any) -> Expression[Any]:
        return self._new(u.Aggregation(function, (self._node, *map(node_of, args)), given(options), shown))


class Unary(property):
    """A property that calls a function on the expression."""

    def __init__(self, function: str, shown: str = "", aggregate: bool = False, doc: str = "") -> None:
        kind = u.Aggregation if aggregate else u.Apply
        super().__init__(
            lambda handle: handle._new(kind(function, (handle._node,), shown=shown or function)),
            doc=doc or f"{function} of this expression.",
        )

    if TYPE_CHECKING:

        def __get__(  # type: ignore[override]
            self, instance: Any, owner: type | None = None
        ) -> Expression[Any]: ...


def given(options: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, value) for name, value in options.items() if value is not None)


def present(*args: Any) -> list[Any]:
    """The arguments before the first one that is None: what optional parameters were given."""
    found = []
    for arg in args:
        if arg is None:
            break
        found.append(arg)
    return found


def expression_of(given: Any) -> u.Node:
    """The node of what stands where a column is expected.

    :raises TableException: text, which would be a constant.
    """
    if isinstance(given, str):
        raise problem(
            f"{given!r} is text, not an expression: a column is col('name'), SQL call_sql('...'), a constant lit('...')"
        )
    return node_of(given)


def node_of(value: Any) -> u.Node:
    """The node of an expression, or of a Python value."""
    if isinstance(value, _Handle):
        return value._node
    if isinstance(value, u.Node):
        return value
    if isinstance(value, Row):
        return u.Apply("ROW", tuple(map(node_of, value)), shown="row")
    if isinstance(value, (list, tuple)):
        return u.Apply("ARRAY", tuple(map(node_of, value)), shown="array")
    if isinstance(value, Mapping):
        return u.Apply("MAP", tuple(node_of(part) for pair in value.items() for part in pair), shown="map")
    return u.Literal(value)
