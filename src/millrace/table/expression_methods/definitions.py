"""Names of Flink's function definitions that SQL has not: ``call("equals", a, b)`` is ``a == b``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from inspect import signature
from typing import Any

from millrace.relational.types import DataType
from millrace.table.expression_methods.base import node_of
from millrace.table.expression_methods.expression import Expression
from millrace.table.sql import nodes

_METHODS = {
    "equals": "__eq__",
    "notequals": "__ne__",
    "greaterthan": "__gt__",
    "greaterthanorequal": "__ge__",
    "lessthan": "__lt__",
    "lessthanorequal": "__le__",
    "plus": "__add__",
    "minus": "__sub__",
    "times": "__mul__",
    "divide": "__truediv__",
    "minusprefix": "__neg__",
    "isnull": "is_null",
    "isnotnull": "is_not_null",
    "istrue": "is_true",
    "isfalse": "is_false",
    "isnottrue": "is_not_true",
    "isnotfalse": "is_not_false",
    "notbetween": "not_between",
    "charlength": "char_length",
    "lowercase": "lower_case",
    "uppercase": "upper_case",
    "similar": "similar",
    "regexpextract": "regexp_extract",
    "regexpreplace": "regexp_replace",
    "frombase64": "from_base64",
    "tobase64": "to_base64",
    "parseurl": "parse_url",
    "splitindex": "split_index",
    "strtomap": "str_to_map",
    "floor": "floor",
    "ceil": "ceil",
}
"""of which the first argument is that which the method is called on"""
_AS_WRITTEN = {
    "stddevpop": "stddev_pop",
    "stddevsamp": "stddev_samp",
    "varpop": "var_pop",
    "varsamp": "var_samp",
    "distinct": "distinct",
    "flatten": "flatten",
    "get": "get",
    "start": "start",
    "end": "end",
    "rowtime": "rowtime",
    "asc": "asc",
    "desc": "desc",
    "as": "alias",
    "cast": "cast",
    "try_cast": "try_cast",
}
"""the same, whose arguments are no expressions, or which is none by itself"""


class Definitions:
    """Finds what a name of a definition stands for.

    :param functions: those of ``table.expressions`` by their definition's name in lower case.
    """

    def __init__(self, functions: dict[str, Callable[..., Expression[Any]]]) -> None:
        self._functions = functions

    def call(self, name: str, args: Sequence[Any]) -> Expression[Any] | None:
        """The expression; None: the name is that of a function in SQL, or none at all."""
        known = name.lower()
        if known in _AS_WRITTEN and args:
            return _method(_AS_WRITTEN[known], args)
        if known == "trim" and len(args) == len(signature(trimmed).parameters):
            return trimmed(*args)
        make = self._functions.get(known) or (partial(_on_first, _METHODS[known]) if known in _METHODS else None)
        if make is None:
            return None
        if _is_aggregate(known) or any(isinstance(each, (Enum, DataType)) for each in args):
            return make(*args)
        return Expression(nodes.DefinedCall(name, tuple(map(node_of, args)), partial(_node, make)))


def _is_aggregate(name: str) -> bool:
    return name.startswith(("json_objectagg", "json_arrayagg"))


def _on_first(method: str, *args: Any) -> Expression[Any]:
    return _method(method, args)


def _method(name: str, args: Sequence[Any]) -> Expression[Any]:
    found = getattr(Expression(node_of(args[0])), name)
    if isinstance(found, Expression):
        return found
    return found(*(_bare(each) if name == "get" else each for each in args[1:]))  # type: ignore[no-any-return]


def _bare(value: Any) -> Any:
    """A constant by itself."""
    if isinstance(value, Expression) and isinstance(value._node, nodes.Constant):
        return value._node.value
    return value


def trimmed(leading: Any, trailing: Any, characters: Any, text: Any) -> Expression[Any]:
    """``call("trim", True, False, " ", text)``."""
    both = _bare(leading) and _bare(trailing)
    word = "trim" if both else "trim_leading" if _bare(leading) else "trim_trailing"
    return _method(word, (text, characters))


def _node(make: Callable[..., Expression[Any]], args: Sequence[nodes.Node]) -> nodes.Node:
    return make(*map(Expression, args))._node
