"""What all groups of expression methods build on: the node of the unbound tree, and the words that some functions take
(units of time, ways to treat errors in JSON).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

from millrace.common.types import Row
from millrace.relational.nodes import Rel
from millrace.table.sql import nodes
from millrace.table.values.program_errors import problem
from millrace.util.fallback import older_expressions

if TYPE_CHECKING:
    from millrace.table.expression_methods.expression import Expression


# Words that functions take


class TimeIntervalUnit(Enum):
    """Units of a time span, for ``extract``, ``floor`` and ``ceil``.

    >>> next(clicks.select(col("at").extract(TimeIntervalUnit.MINUTE)).execute().collect())
    <Row(20)>
    """

    YEAR = (0,)
    YEAR_TO_MONTH = (1,)
    QUARTER = (2,)
    MONTH = (3,)
    WEEK = (4,)
    DAY = (5,)
    DAY_TO_HOUR = (6,)
    DAY_TO_MINUTE = (7,)
    DAY_TO_SECOND = (8,)
    HOUR = (9,)
    SECOND = (10,)
    HOUR_TO_MINUTE = (11,)
    HOUR_TO_SECOND = (12,)
    MINUTE = (13,)
    MINUTE_TO_SECOND = 14


class TimePointUnit(Enum):
    """Units of a difference, for ``timestamp_diff``.

    >>> hours = timestamp_diff(TimePointUnit.HOUR, col("at"), lit("1970-01-02 00:00:00").to_timestamp)
    >>> next(clicks.select(hours).execute().collect())
    <Row(23)>
    """

    YEAR = (0,)
    MONTH = (1,)
    DAY = (2,)
    HOUR = (3,)
    MINUTE = (4,)
    SECOND = (5,)
    QUARTER = (6,)
    WEEK = (7,)
    MILLISECOND = (8,)
    MICROSECOND = 9


class JsonType(Enum):
    """Kinds of JSON, for ``is_json``.

    >>> next(orders.select(lit("[1]").is_json(JsonType.ARRAY)).execute().collect())
    <Row(True)>
    """

    VALUE = (0,)
    SCALAR = (1,)
    ARRAY = (2,)
    OBJECT = 3


class JsonExistsOnError(Enum):
    """What ``json_exists`` says of a wrong path.

    >>> next(orders.select(lit('{"a": 1}').json_exists("$.a", JsonExistsOnError.FALSE)).execute().collect())
    <Row(True)>
    """

    TRUE = (0,)
    FALSE = (1,)
    UNKNOWN = (2,)
    ERROR = 3


class JsonValueOnEmptyOrError(Enum):
    """What ``json_value`` gives where there is no value, or an error.

    >>> value = lit('{"a": 1}').json_value("lax $.b", DataTypes.INT(), JsonValueOnEmptyOrError.DEFAULT, 0)
    >>> next(orders.select(value).execute().collect())
    <Row(0)>
    """

    NULL = (0,)
    ERROR = (1,)
    DEFAULT = 2


class JsonQueryWrapper(Enum):
    """When ``json_query`` puts what it finds into an array.

    >>> inside = lit('{"a": 1}').json_query("$.a", JsonQueryWrapper.UNCONDITIONAL_ARRAY)
    >>> next(orders.select(inside).execute().collect())
    <Row('[1]')>
    """

    WITHOUT_ARRAY = (0,)
    CONDITIONAL_ARRAY = (1,)
    UNCONDITIONAL_ARRAY = 2


class JsonQueryOnEmptyOrError(Enum):
    """What ``json_query`` gives where there is nothing, or an error.

    >>> empty = JsonQueryOnEmptyOrError.EMPTY_ARRAY
    >>> inside = lit("{}").json_query("lax $.a", JsonQueryWrapper.WITHOUT_ARRAY, empty)
    >>> next(orders.select(inside).execute().collect())
    <Row('[]')>
    """

    NULL = (0,)
    EMPTY_ARRAY = (1,)
    EMPTY_OBJECT = (2,)
    ERROR = 3


class JsonOnNull(Enum):
    """Whether NULLs get into the JSON that ``json_object`` and its like make.

    >>> next(orders.select(json_array(JsonOnNull.ABSENT, 1, null_of(DataTypes.INT()))).execute().collect())
    <Row('[1]')>
    """

    NULL = (0,)
    ABSENT = 1


# The unbound tree


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
