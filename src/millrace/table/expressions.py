"""Where expressions begin: columns, constants, functions without a first argument."""

from __future__ import annotations

from typing import Any, TypeAlias

from millrace.relational.types import DataType
from millrace.table.catalogs.paths import split_path
from millrace.table.expression_methods.base import _Handle, built_in, node_of, present
from millrace.table.expression_methods.expression import Expression, JsonOnNull, TimePointUnit
from millrace.table.expression_methods.windows import CURRENT_RANGE, CURRENT_ROW, UNBOUNDED_RANGE, UNBOUNDED_ROW
from millrace.table.functions.udf import UserDefinedFunctionWrapper, wrapped
from millrace.table.sql import nodes
from millrace.table.values.problems import problem

__all__ = [
    "if_then_else", "lit", "col", "range_", "and_", "or_", "not_", "UNBOUNDED_ROW", "UNBOUNDED_RANGE", "CURRENT_ROW",
    "CURRENT_RANGE", "current_database", "current_date", "current_time", "current_timestamp", "current_watermark",
    "local_time", "local_timestamp", "temporal_overlaps", "date_format", "timestamp_diff", "array", "row", "map_",
    "row_interval", "pi", "e", "rand", "rand_integer", "atan2", "negative", "concat", "concat_ws", "uuid", "null_of",
    "log", "with_columns", "without_columns", "json", "json_string", "json_object", "json_object_agg", "json_array",
    "json_array_agg", "call", "call_sql", "source_watermark", "to_timestamp_ltz", "from_unixtime", "to_date",
    "to_timestamp", "convert_tz", "unix_timestamp", "descriptor",
    "map_from_arrays", "object_of", "coalesce", "with_all_columns", "lag", "lead",
]  # fmt: skip

Text: TypeAlias = "str | Expression[str]"
Condition: TypeAlias = "bool | Expression[bool]"
Value: TypeAlias = "Expression[Any]"


def _apply(function: str, shown: str, *args: Any) -> Value:
    return Expression(built_in(function, shown, *args))


def col(name: str) -> Expression[Any]:
    """A column; ``*`` for all."""
    return Expression(nodes.Star() if name == "*" else nodes.Column.named(name))


def lit(v: Any, data_type: DataType | None = None) -> Expression[Any]:
    """A constant. Its type is what the value says (12: INT, "abc": CHAR(3)), or the one given."""
    if data_type is not None:
        return Expression(nodes.Constant(v, data_type))
    if isinstance(v, _Handle):
        return v._new(v._node)
    return Expression(node_of(v))


def range_(start: str | int, end: str | int) -> Expression[Any]:
    """Columns from one to another, by name or by position from 1."""
    return Expression(nodes.Range(start, end))


def and_(predicate0: Condition, predicate1: Condition, *predicates: Condition) -> Expression[bool]:
    return _apply("AND", "and", predicate0, predicate1, *predicates)


def or_(predicate0: Condition, predicate1: Condition, *predicates: Condition) -> Expression[bool]:
    return _apply("OR", "or", predicate0, predicate1, *predicates)


def not_(expression: Expression[bool]) -> Expression[bool]:
    """NULL stays NULL."""
    return Expression(nodes.Not(node_of(expression)))


def current_database() -> Expression[Any]:
    return _apply("CURRENT_DATABASE", "currentDatabase")


def current_date() -> Expression[Any]:
    """In the zone of the session."""
    return _apply("CURRENT_DATE", "currentDate")


def current_time() -> Expression[Any]:
    return _apply("CURRENT_TIME", "currentTime")


def current_timestamp() -> Expression[Any]:
    """A TIMESTAMP_LTZ."""
    return _apply("CURRENT_TIMESTAMP", "currentTimestamp")


def current_watermark(rowtimeAttribute: Any) -> Expression[Any]:
    """The watermark at this point of the plan, NULL before the first one."""
    return _apply("CURRENT_WATERMARK", "CURRENT_WATERMARK", rowtimeAttribute)


def local_time() -> Expression[Any]:
    return _apply("LOCALTIME", "localTime")


def local_timestamp() -> Expression[Any]:
    return _apply("LOCALTIMESTAMP", "localTimestamp")


def to_date(date_str: Text, format: Text | None = None) -> Expression[Any]:
    return _apply("TO_DATE", "toDate", date_str, *present(format))


def to_timestamp(timestamp_str: Text, format: Text | None = None) -> Expression[Any]:
    return _apply("TO_TIMESTAMP", "toTimestamp", timestamp_str, *present(format))


def to_timestamp_ltz(*args: Any) -> Expression[Any]:
    """Of a number with a precision, or of text with a format and zone."""
    return _apply("TO_TIMESTAMP_LTZ", "TO_TIMESTAMP_LTZ", *args)


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression[Any]:
    """Whether two spans of time meet; each is given by its beginning, and its end or length."""
    args = (left_time_point, left_temporal, right_time_point, right_temporal)
    return _apply("OVERLAPS", "temporalOverlaps", *args)


def date_format(timestamp: Any, format: Any) -> Expression[Any]:
    return _apply("DATE_FORMAT", "dateFormat", timestamp, format)


def timestamp_diff(time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any) -> Expression[Any]:
    """How many units lie between two points in time."""
    return _apply("TIMESTAMPDIFF", "timestampDiff", nodes.Var(time_point_unit.name), time_point1, time_point2)


def convert_tz(date_str: Text, tz_from: Text, tz_to: Text) -> Expression[Any]:
    return _apply("CONVERT_TZ", "convertTz", date_str, tz_from, tz_to)


def from_unixtime(unixtime: Any, format: Any = None) -> Expression[Any]:
    return _apply("FROM_UNIXTIME", "fromUnixtime", unixtime, *present(format))


def unix_timestamp(date_str: Text | None = None, format: Text | None = None) -> Expression[Any]:
    """Seconds since 1970."""
    return _apply("UNIX_TIMESTAMP", "unixTimestamp", *present(date_str, format))


def array(head: Any, *tail: Any) -> Expression[Any]:
    return _apply("ARRAY", "array", head, *tail)


def row(head: Any, *tail: Any) -> Expression[Any]:
    return _apply("ROW", "row", head, *tail)


def map_(key: Any, value: Any, *tail: Any) -> Expression[Any]:
    """Keys and values in turn."""
    return _apply("MAP", "map", key, value, *tail)


def map_from_arrays(key: Any, value: Any) -> Expression[Any]:
    return _apply("MAP_FROM_ARRAYS", "MAP_FROM_ARRAYS", key, value)


def descriptor(*column_names: str) -> Expression[Any]:
    """Names of columns, as an argument of a table function."""
    return Expression(nodes.Descriptor(tuple(map(nodes.Identifier, column_names))))


def object_of(class_name: str, *args: Any) -> Expression[Any]:
    """A row with these names and values in turn; the name of the class is not used."""
    return _apply("OBJECT_OF", "OBJECT_OF", class_name, *args)


def row_interval(rows: int) -> Expression[Any]:
    """A number of rows: the size of a window."""
    return Expression(nodes.RowCount(rows))


def pi() -> Expression[float]:
    return _apply("PI", "pi")


def e() -> Expression[float]:
    return _apply("E", "e")


def rand(seed: int | Expression[int] | None = None) -> Expression[float]:
    """Random numbers from 0 to 1."""
    return _apply("RAND", "rand", *present(seed))


def rand_integer(bound: int | Expression[int], seed: int | Expression[int] | None = None) -> Expression[Any]:
    """Random whole numbers from 0 to below ``bound``."""
    return _apply("RAND_INTEGER", "randInteger", *present(seed), bound)


def atan2(y: Any, x: Any) -> Expression[float]:
    return _apply("ATAN2", "atan2", y, x)


def negative(v: Any) -> Expression[Any]:
    return Expression(nodes.Neg(node_of(v)))


def concat(first: Text, *others: Text) -> Expression[str]:
    """NULL if one of them is."""
    return _apply("CONCAT", "concat", first, *others)


def concat_ws(separator: Text, first: Text, *others: Text) -> Expression[str]:
    """With a separator between, NULLs left out."""
    return _apply("CONCAT_WS", "concat_ws", separator, first, *others)


def uuid() -> Expression[str]:
    return _apply("UUID", "uuid")


def null_of(data_type: DataType) -> Expression[Any]:
    """NULL of a type."""
    return Expression(nodes.Constant(None, data_type))


def log(v: Any, base: Any = None) -> Expression[float]:
    return lit(v).log(base)


def source_watermark() -> Expression[Any]:
    """The watermark that the source itself gives, for ``Schema.Builder.watermark``."""
    return _apply("SOURCE_WATERMARK", "SOURCE_WATERMARK")


def if_then_else(condition: Condition, if_true: Any, if_false: Any) -> Expression[Any]:
    return lit(condition).then(if_true, if_false)


def coalesce(*args: Any) -> Expression[Any]:
    """The first value that is not NULL."""
    return _apply("COALESCE", "COALESCE", *args)


def with_all_columns() -> Expression[Any]:
    return col("*")


def with_columns(head: Any, *tails: Any) -> Expression[Any]:
    """Columns by name, position from 1, or ``range_``."""
    return Expression(nodes.Columns(tuple(map(node_of, (head, *tails)))))


def without_columns(head: Any, *tails: Any) -> Expression[Any]:
    """All columns but these."""
    return Expression(nodes.Columns(tuple(map(node_of, (head, *tails))), True))


def json(value: Any) -> Expression[Any]:
    """Text that is JSON already, inside ``json_object`` or ``json_array``."""
    return _apply("JSON", "JSON", value)


def json_string(value: Any) -> Expression[Any]:
    """A value as JSON."""
    return _apply("JSON_STRING", "JSON_STRING", value)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: Any) -> Expression[Any]:
    """A JSON object of keys and values in turn."""
    if len(args) % 2:
        raise problem("json_object takes keys and values in turn")
    parts = list(map(node_of, args))
    entries = tuple(map(nodes.JsonEntry, parts[::2], parts[1::2]))
    return Expression(nodes.JsonObject(entries, on_null.name))


def json_object_agg(on_null: JsonOnNull, key_expr: Text, value_expr: Any) -> Expression[Any]:
    """An aggregate: a JSON object of one key and value a row."""
    return Expression(nodes.JsonObjectAgg(nodes.JsonEntry(node_of(key_expr), node_of(value_expr)), on_null.name))


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: Any) -> Expression[Any]:
    return Expression(nodes.JsonArray(tuple(map(node_of, args)), on_null.name))


def json_array_agg(on_null: JsonOnNull, item_expr: Any) -> Expression[Any]:
    """An aggregate: a JSON array of one value a row."""
    return Expression(nodes.JsonArrayAgg(node_of(item_expr), on_null.name))


def lag(expr: Any, offset: Any = 1, default: Any = None) -> Expression[Any]:
    """The value some rows before in an over window."""
    return _apply("LAG", "lag", *present(expr, offset, default))


def lead(expr: Any, offset: Any = 1, default: Any = None) -> Expression[Any]:
    """The value some rows later in an over window."""
    return _apply("LEAD", "lead", *present(expr, offset, default))


def call(f: str | UserDefinedFunctionWrapper, *args: Any) -> Expression[Any]:
    """A function by name (a system function, or one of a catalog), or one made by ``udf`` and its like."""
    if not isinstance(f, str):
        return wrapped(f)(*args)
    *path, name = split_path(f)
    return Expression(nodes.Dot.between(*map(nodes.Identifier, path), nodes.Call(name, tuple(map(node_of, args)))))


def call_sql(sql_expression: str) -> Expression[Any]:
    """An expression written in SQL."""
    return Expression(nodes.SqlText(sql_expression))
