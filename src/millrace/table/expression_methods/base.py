"""What all groups of methods build on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from millrace.common.types import Row
from millrace.relational.nodes import Rel
from millrace.table.sql import nodes
from millrace.table.values.problems import problem
from millrace.util.fallback import older_expressions

if TYPE_CHECKING:
    from millrace.table.expression_methods.expression import Expression


class _Handle:
    """A handle on one node of an unbound expression."""

    _node: nodes.Node

    def _new(self, node: nodes.Node) -> Expression[Any]:
        from millrace.table.expression_methods.expression import Expression

        return Expression(node)

    def _apply(self, function: str, shown: str, *args: Any) -> Expression[Any]:
        """A call of a built-in function, of which this is the first argument."""
        return self._new(built_in(function, shown, self._node, *args))


class _Rows:
    """A handle on a query, whose rows expressions can look into."""

    _plan: Rel


class Unary(property):
    """A property that calls a function on the expression."""

    def __init__(self, function: str, shown: str = "", doc: str = "") -> None:
        super().__init__(
            lambda handle: handle._apply(function, shown or function), doc=doc or f"{function} of this expression."
        )

    if TYPE_CHECKING:

        def __get__(  # type: ignore[override]
            self, instance: Any, owner: type | None = None
        ) -> Expression[Any]: ...


def built_in(function: str, shown: str, *args: Any) -> nodes.BuiltIn:
    """A call of a built-in function by its name in the registry; ``shown``: its name in Flink's texts."""
    return nodes.BuiltIn(function, tuple(map(node_of, args)), shown)


def present(*args: Any) -> list[Any]:
    """The arguments before the first one that is None: what optional parameters were given."""
    found = []
    for arg in args:
        if arg is None:
            break
        found.append(arg)
    return found


def expression_of(given: Any) -> nodes.Node:
    """The node of what stands where a column is expected.

    :raises TableException: text, which would be a constant.
    """
    found = expressions_of((given,))
    if len(found) != 1:
        raise problem(f"{given!r} is {len(found)} expressions, where one is expected")
    return found[0]


def expressions_of(given: Iterable[Any]) -> list[nodes.Node]:
    """The nodes of what stands where columns are expected.

    :raises TableException: text, which would be a constant.
    """
    return [node for each in given for node in ([node_of(each)] if not isinstance(each, str) else _of_text(each))]


def _of_text(text: str) -> list[nodes.Node]:
    found = older_expressions(text)
    if found is None:
        raise problem(
            f"{text!r} is text, not an expression: a column is col('name'), SQL call_sql('...'), a constant lit('...')"
        )
    return [node_of(each) for each in found]


def node_of(value: Any) -> nodes.Node:
    """The node of an expression, or of a Python value."""
    if isinstance(value, _Handle):
        return value._node
    if isinstance(value, nodes.Node):
        return value
    if isinstance(value, Row):
        return built_in("ROW", "row", *value)
    if isinstance(value, (list, tuple)):
        return built_in("ARRAY", "array", *value)
    if isinstance(value, Mapping):
        return built_in("MAP", "map", *(part for pair in value.items() for part in pair))
    return nodes.Constant(value)
