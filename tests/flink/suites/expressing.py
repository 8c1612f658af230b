"""Trees of Flink's Table API as expressions of Python's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.flink.suites.reading import python_value, type_of

from millrace.table import expressions as e
from millrace.table.expression import (
    Expression,
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)

NO_WORD = "the Table API in Python has no such word, in PyFlink neither"
Tree = dict[str, Any]
UNITS = {
    unit.__name__: unit
    for unit in (
        JsonExistsOnError, JsonOnNull, JsonQueryOnEmptyOrError, JsonQueryWrapper, JsonType, JsonValueOnEmptyOrError,
        TimeIntervalUnit, TimePointUnit,
    )
}  # fmt: skip
METHODS = {
    "upper": "upper_case",
    "lower": "lower_case",
    "in": "in_",
    "ifThenElse": "then",
    "TRANSLATE3": "translate",
    "STARTSWITH": "starts_with",
    "ENDSWITH": "ends_with",
    "IFNULL": "if_null",
    "greaterThan": "__gt__",
    "lessThan": "__lt__",
    "greaterThanOrEqual": "__ge__",
    "lessThanOrEqual": "__le__",
    "equals": "__eq__",
    "notEquals": "__ne__",
    "plus": "__add__",
    "minus": "__sub__",
    "times": "__mul__",
    "divide": "__truediv__",
    "mod": "__mod__",
    "power": "__pow__",
    "minusPrefix": "__neg__",
    "collect": "collect",
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "and": e.and_,
    "or": e.or_,
    "not": e.not_,
    "row": e.row,
    "array": e.array,
    "map": e.map_,
    "MAP_FROM_ARRAYS": e.map_from_arrays,
    "temporalOverlaps": e.temporal_overlaps,
    "timestampDiff": e.timestamp_diff,
    "TO_TIMESTAMP_LTZ": e.to_timestamp_ltz,
    "toDate": e.to_date,
    "toTimestamp": e.to_timestamp,
    "convertTz": e.convert_tz,
    "fromUnixtime": e.from_unixtime,
    "unixTimestamp": e.unix_timestamp,
    "dateFormat": e.date_format,
    "currentDate": e.current_date,
    "currentTime": e.current_time,
    "currentTimestamp": e.current_timestamp,
    "localTime": e.local_time,
    "localTimestamp": e.local_timestamp,
    "pi": e.pi,
    "e": e.e,
    "rand": e.rand,
    "randInteger": e.rand_integer,
    "uuid": e.uuid,
    "atan2": e.atan2,
    "concat": e.concat,
    "concat_ws": e.concat_ws,
    "COALESCE": e.coalesce,
    "JSON_STRING": e.json_string,
    "JSON": e.json,
    "JSON_OBJECT": e.json_object,
    "JSON_ARRAY": e.json_array,
    "sourceWatermark": e.source_watermark,
}


class NotThere(Exception):
    """Something that Python's Table API has no word for; the text says why."""


def expression(tree: Tree) -> Expression[Any]:
    """A tree as an expression.

    :raises NotThere: there is no such expression in Python.
    """
    if "col" in tree:
        return e.col(tree["col"])
    if "lit" in tree:
        return literal(tree)
    if "sql" in tree:
        return e.call_sql(tree["sql"])
    if "lookup" in tree:
        return e.call(tree["lookup"], *map(argument, tree["args"]))
    if "call" not in tree:
        raise NotThere(f"{tree}")
    return call(tree["call"], tree["args"])


def literal(tree: Tree) -> Expression[Any]:
    kind = type_of(tree["type"])
    if kind is None:
        raise NotThere("values of Java's classes")
    if tree["lit"] is None:
        return e.null_of(kind)
    value = python_value(tree["lit"], kind)
    text = tree["type"]
    natural = {bool: "BOOLEAN NOT NULL", int: "INT NOT NULL", float: "DOUBLE NOT NULL"}.get(type(value))
    if text == natural or isinstance(value, str):
        return e.lit(value)
    return e.lit(value, kind)


def argument(tree: Tree) -> Any:
    """What is handed to a method: a word, a type or an expression."""
    if "symbol" in tree:
        return symbol(tree["symbol"])
    if "type" in tree and "lit" not in tree:
        kind = type_of(tree["type"])
        if kind is None:
            raise NotThere("types of Java's classes")
        return kind
    return expression(tree)


def symbol(text: str) -> Any:
    group, name = text.split(".")
    try:
        return UNITS[group][name]
    except KeyError:
        raise NotThere(NO_WORD) from None


def bare(tree: Tree) -> Any:
    """A constant as a Python value, where no expression can be."""
    return tree["lit"] if "lit" in tree else argument(tree)


def call(name: str, args: list[Tree]) -> Expression[Any]:
    if name.startswith("java:"):
        raise NotThere("functions in Java")
    special = SPECIAL.get(name)
    if special is not None:
        return special(args)
    if name in FUNCTIONS:
        found: Expression[Any] = FUNCTIONS[name](*map(argument, args))
        return found
    receiver, *rest = map(argument, args)
    word = METHODS.get(name) or re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
    if not hasattr(Expression, word):
        raise NotThere(NO_WORD)
    method = getattr(receiver, word)
    result: Expression[Any] = method if isinstance(method, Expression) else method(*rest)
    return result


def _extract(args: list[Tree]) -> Expression[Any]:
    return expression(args[1]).extract(argument(args[0]))


def _json_value(args: list[Tree]) -> Expression[Any]:
    text, path, kind, on_empty, empty, on_error, error = args
    return expression(text).json_value(
        bare(path), argument(kind), argument(on_empty), bare(empty), argument(on_error), bare(error)
    )


def _json_query(args: list[Tree]) -> Expression[Any]:
    text, path, *rest = args
    words = [argument(each) for each in rest if "symbol" in each]
    if any("symbol" not in each and each.get("type", "").split("(")[0] not in ("VARCHAR", "") for each in rest):
        raise NotThere(NO_WORD)
    return expression(text).json_query(bare(path), *words)


def _trim(args: list[Tree]) -> Expression[Any]:
    leading, trailing, character, text = args
    what = expression(text)
    if leading["lit"] and trailing["lit"]:
        return what.trim(argument(character))
    return what.trim_leading(argument(character)) if leading["lit"] else what.trim_trailing(argument(character))


def _object_of(args: list[Tree]) -> Expression[Any]:
    return e.object_of(bare(args[0]), *(part for each in args[1:] for part in [argument(each)]))


def _rest(method: str) -> Callable[[list[Tree]], Expression[Any]]:
    """A method that is handed constants as they are."""
    return lambda args: getattr(expression(args[0]), method)(*map(bare, args[1:]))


SPECIAL: dict[str, Callable[[list[Tree]], Expression[Any]]] = {
    "extract": _extract,
    "JSON_VALUE": _json_value,
    "JSON_QUERY": _json_query,
    "JSON_EXISTS": _rest("json_exists"),
    "IS_JSON": _rest("is_json"),
    "trim": _trim,
    "get": _rest("get"),
    "OBJECT_OF": _object_of,
    "ASSIGNMENT": lambda args: expression(args[1]).as_argument(bare(args[0])),
    "JSON_OBJECTAGG_NULL_ON_NULL": lambda args: e.json_object_agg(JsonOnNull.NULL, *map(argument, args)),
    "JSON_OBJECTAGG_ABSENT_ON_NULL": lambda args: e.json_object_agg(JsonOnNull.ABSENT, *map(argument, args)),
    "JSON_ARRAYAGG_NULL_ON_NULL": lambda args: e.json_array_agg(JsonOnNull.NULL, *map(argument, args)),
    "JSON_ARRAYAGG_ABSENT_ON_NULL": lambda args: e.json_array_agg(JsonOnNull.ABSENT, *map(argument, args)),
    "log": lambda args: e.log(*map(argument, args)) if len(args) == 1 else e.log(argument(args[1]), argument(args[0])),
}
