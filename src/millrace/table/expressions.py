"""Functions that begin an expression: columns, constants, and SQL functions that are no method of an argument."""

from __future__ import annotations

from typing import Any, TypeAlias

from millrace.relational.types import DataType
from millrace.table.catalogs.objects import split_path
from millrace.table.expression_methods.expression import Definitions, Expression
from millrace.table.expression_methods.expression_base import (
    JsonOnNull,
    TimePointUnit,
    _Handle,
    built_in,
    node_of,
    present,
)
from millrace.table.expression_methods.windows import CURRENT_RANGE, CURRENT_ROW, UNBOUNDED_RANGE, UNBOUNDED_ROW
from millrace.table.functions.udf import UserDefinedFunctionWrapper, wrapped
from millrace.table.sql import nodes
from millrace.table.values.program_errors import problem

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
    """A column; ``*`` for all.

    >>> next(orders.select(col("name")).execute().collect())
    <Row('Ann')>
    """
    return Expression(nodes.Star() if name == "*" else nodes.Column.named(name))


def lit(v: Any, data_type: DataType | None = None) -> Expression[Any]:
    """A constant. Its type is what the value says (12: INT, "abc": CHAR(3)), or the one given.

    >>> next(orders.select(lit(1.5, DataTypes.DOUBLE())).execute().collect())
    <Row(1.5)>
    """
    if data_type is not None:
        return Expression(nodes.Constant(v, data_type))
    if isinstance(v, _Handle):
        return v._new(v._node)
    return Expression(node_of(v))


def range_(start: str | int, end: str | int) -> Expression[Any]:
    """Columns from one to another, by name or by position from 1.

    >>> orders.select(with_columns(range_("name", "product"))).get_schema().get_field_names()
    ['name', 'product']
    """
    return Expression(nodes.Range(start, end))


def and_(predicate0: Condition, predicate1: Condition, *predicates: Condition) -> Expression[bool]:
    """Whether all conditions hold.

    >>> few = orders.filter(and_(col("amount") < 3, col("name") == "Ann"))
    >>> list(few.execute().collect())
    [<Row('Ann', 'ink', 1)>]
    """
    return _apply("AND", "and", predicate0, predicate1, *predicates)


def or_(predicate0: Condition, predicate1: Condition, *predicates: Condition) -> Expression[bool]:
    """Whether one of the conditions holds.

    >>> list(orders.filter(or_(col("amount") == 1, col("name") == "Bob")).select(col("amount")).execute().collect())
    [<Row(1)>, <Row(2)>]
    """
    return _apply("OR", "or", predicate0, predicate1, *predicates)


def not_(expression: Expression[bool]) -> Expression[bool]:
    """NULL stays NULL.

    >>> list(orders.filter(not_(col("name") == "Ann")).select(col("name")).execute().collect())
    [<Row('Bob')>]
    """
    return Expression(nodes.Not(node_of(expression)))


def current_database() -> Expression[Any]:
    """The database that names without one are looked for in.

    >>> next(orders.select(current_database()).execute().collect())
    <Row('default_database')>
    """
    return _apply("CURRENT_DATABASE", "currentDatabase")


def current_date() -> Expression[Any]:
    """In the zone of the session.

    >>> orders.select(current_date().alias("today")).get_schema().get_field_data_type(0)
    DateType(false)
    """
    return _apply("CURRENT_DATE", "currentDate")


def current_time() -> Expression[Any]:
    """The time of day in the session's zone, when the row is computed.

    >>> orders.select(current_time().alias("now")).get_schema().get_field_data_type(0)
    TimeType(0, false)
    """
    return _apply("CURRENT_TIME", "currentTime")


def current_timestamp() -> Expression[Any]:
    """A TIMESTAMP_LTZ.

    >>> orders.select(current_timestamp().alias("now")).get_schema().get_field_data_type(0)
    LocalZonedTimestampType(3, false)
    """
    return _apply("CURRENT_TIMESTAMP", "currentTimestamp")


def current_watermark(rowtimeAttribute: Any) -> Expression[Any]:
    """The watermark at this point of the plan, NULL before the first one.

    >>> late = clicks.filter(col("at") <= current_watermark(col("at")))
    """
    return _apply("CURRENT_WATERMARK", "CURRENT_WATERMARK", rowtimeAttribute)


def local_time() -> Expression[Any]:
    """The time of day in the session's zone, as ``current_time()`` gives it.

    >>> orders.select(local_time().alias("now")).get_schema().get_field_data_type(0)
    TimeType(0, false)
    """
    return _apply("LOCALTIME", "localTime")


def local_timestamp() -> Expression[Any]:
    """Date and time in the session's zone, when the row is computed.

    >>> orders.select(local_timestamp().alias("now")).get_schema().get_field_data_type(0)
    TimestampType(3, false)
    """
    return _apply("LOCALTIMESTAMP", "localTimestamp")


def to_date(date_str: Text, format: Text | None = None) -> Expression[Any]:
    """A date of text, by a pattern.

    >>> next(orders.select(to_date("05.03.2026", "dd.MM.yyyy")).execute().collect())
    <Row(datetime.date(2026, 3, 5))>
    """
    return _apply("TO_DATE", "toDate", date_str, *present(format))


def to_timestamp(timestamp_str: Text, format: Text | None = None) -> Expression[Any]:
    """A time without zone of text, by a pattern.

    >>> next(orders.select(to_timestamp("2026-03-05 10:30:00")).execute().collect())
    <Row(datetime.datetime(2026, 3, 5, 10, 30))>
    """
    return _apply("TO_TIMESTAMP", "toTimestamp", timestamp_str, *present(format))


def to_timestamp_ltz(*args: Any) -> Expression[Any]:
    """Of a number with a precision, or of text with a format and zone.

    >>> next(orders.select(date_format(to_timestamp_ltz(60, 0), "HH:mm")).execute().collect())
    <Row('00:01')>
    """
    return _apply("TO_TIMESTAMP_LTZ", "TO_TIMESTAMP_LTZ", *args)


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression[Any]:
    """Whether two spans of time meet; each is given by its beginning, and its end or length.

    >>> day = lit("2026-03-05").to_date
    >>> next(orders.select(temporal_overlaps(day, lit(2).days, day, lit(1).days)).execute().collect())
    <Row(True)>
    """
    args = (left_time_point, left_temporal, right_time_point, right_temporal)
    return _apply("OVERLAPS", "temporalOverlaps", *args)


def date_format(timestamp: Any, format: Any) -> Expression[Any]:
    """A time as text, by a pattern of Java's.

    >>> next(clicks.select(date_format(col("at"), "HH:mm")).execute().collect())
    <Row('00:20')>
    """
    return _apply("DATE_FORMAT", "dateFormat", timestamp, format)


def timestamp_diff(time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any) -> Expression[Any]:
    """How many units lie between two points in time.

    >>> minutes = timestamp_diff(TimePointUnit.MINUTE, col("at"), lit("1970-01-01 01:00:00").to_timestamp)
    >>> next(clicks.select(minutes).execute().collect())
    <Row(40)>
    """
    return _apply("TIMESTAMPDIFF", "timestampDiff", nodes.Var(time_point_unit.name), time_point1, time_point2)


def convert_tz(date_str: Text, tz_from: Text, tz_to: Text) -> Expression[Any]:
    """A text's time in another zone.

    >>> next(orders.select(convert_tz("2026-03-05 10:30:00", "UTC", "Asia/Shanghai")).execute().collect())
    <Row('2026-03-05 18:30:00')>
    """
    return _apply("CONVERT_TZ", "convertTz", date_str, tz_from, tz_to)


def from_unixtime(unixtime: Any, format: Any = None) -> Expression[Any]:
    """Seconds since 1970 as text, in the session's zone.

    >>> next(orders.select(from_unixtime(60)).execute().collect())
    <Row('1970-01-01 00:01:00')>
    """
    return _apply("FROM_UNIXTIME", "fromUnixtime", unixtime, *present(format))


def unix_timestamp(date_str: Text | None = None, format: Text | None = None) -> Expression[Any]:
    """Seconds since 1970.

    >>> next(orders.select(unix_timestamp("1970-01-01 00:01:00")).execute().collect())
    <Row(60)>
    """
    return _apply("UNIX_TIMESTAMP", "unixTimestamp", *present(date_str, format))


def array(head: Any, *tail: Any) -> Expression[Any]:
    """An array of values of one type.

    >>> next(orders.select(array(1, 2)).execute().collect())
    <Row([1, 2])>
    """
    return _apply("ARRAY", "array", head, *tail)


def row(head: Any, *tail: Any) -> Expression[Any]:
    """A row of values.

    >>> next(orders.select(row("a", 1)).execute().collect())
    <Row(<Row('a', 1)>)>
    """
    return _apply("ROW", "row", head, *tail)


def map_(key: Any, value: Any, *tail: Any) -> Expression[Any]:
    """Keys and values in turn.

    >>> next(orders.select(map_("a", 1, "b", 2)).execute().collect())
    <Row({'a': 1, 'b': 2})>
    """
    return _apply("MAP", "map", key, value, *tail)


def map_from_arrays(key: Any, value: Any) -> Expression[Any]:
    """A map of keys and values in arrays.

    >>> next(orders.select(map_from_arrays(array("a", "b"), array(1, 2))).execute().collect())
    <Row({'a': 1, 'b': 2})>
    """
    return _apply("MAP_FROM_ARRAYS", "MAP_FROM_ARRAYS", key, value)


def descriptor(*column_names: str) -> Expression[Any]:
    """Names of columns, as an argument of a table function.

    >>> str(descriptor("at"))
    'DESCRIPTOR(at)'
    """
    return Expression(nodes.Descriptor(tuple(map(nodes.Identifier, column_names))))


def object_of(class_name: str, *args: Any) -> Expression[Any]:
    """A row with these names and values in turn; the name of the class is not used.

    >>> next(orders.select(object_of("Point", "x", 1)).execute().collect())
    <Row(<Row(1)>)>
    """
    return _apply("OBJECT_OF", "OBJECT_OF", class_name, *args)


def row_interval(rows: int) -> Expression[Any]:
    """A number of rows: the size of a window.

    >>> window = Over.order_by(col("at")).preceding(row_interval(1)).alias("w")
    >>> list(clicks.over_window(window).select(col("n").sum.over(col("w"))).execute().collect())
    [<Row(1)>, <Row(3)>, <Row(5)>, <Row(7)>]
    """
    return Expression(nodes.RowCount(rows))


def pi() -> Expression[float]:
    """The circle's number.

    >>> next(orders.select(pi().round(2)).execute().collect())
    <Row(3.14)>
    """
    return _apply("PI", "pi")


def e() -> Expression[float]:
    """Euler's number.

    >>> next(orders.select(e().round(2)).execute().collect())
    <Row(2.72)>
    """
    return _apply("E", "e")


def rand(seed: int | Expression[int] | None = None) -> Expression[float]:
    """Random numbers from 0 to 1.

    >>> next(orders.select(rand(1) < 1).execute().collect())
    <Row(True)>
    """
    return _apply("RAND", "rand", *present(seed))


def rand_integer(bound: int | Expression[int], seed: int | Expression[int] | None = None) -> Expression[Any]:
    """Random whole numbers from 0 to below ``bound``.

    >>> next(orders.select(rand_integer(10, 1) < 10).execute().collect())
    <Row(True)>
    """
    return _apply("RAND_INTEGER", "randInteger", *present(seed), bound)


def atan2(y: Any, x: Any) -> Expression[float]:
    """The angle of the point (second argument, first argument), in radians.

    >>> next(orders.select(atan2(0.0, 1.0)).execute().collect())
    <Row(0.0)>
    """
    return _apply("ATAN2", "atan2", y, x)


def negative(v: Any) -> Expression[Any]:
    """The number with the other sign.

    >>> next(orders.select(negative(col("amount"))).execute().collect())
    <Row(-1)>
    """
    return Expression(nodes.Neg(node_of(v)))


def concat(first: Text, *others: Text) -> Expression[str]:
    """NULL if one of them is.

    >>> next(orders.select(concat(col("name"), "!")).execute().collect())
    <Row('Ann!')>
    """
    return _apply("CONCAT", "concat", first, *others)


def concat_ws(separator: Text, first: Text, *others: Text) -> Expression[str]:
    """With a separator between, NULLs left out.

    >>> next(orders.select(concat_ws("-", col("name"), col("product"))).execute().collect())
    <Row('Ann-ink')>
    """
    return _apply("CONCAT_WS", "concat_ws", separator, first, *others)


def uuid() -> Expression[str]:
    """A random UUID, as text.

    >>> next(orders.select(uuid().char_length).execute().collect())
    <Row(36)>
    """
    return _apply("UUID", "uuid")


def null_of(data_type: DataType) -> Expression[Any]:
    """NULL of a type.

    >>> next(orders.select(null_of(DataTypes.INT())).execute().collect())
    <Row(None)>
    """
    return Expression(nodes.Constant(None, data_type))


def log(v: Any, base: Any = None) -> Expression[float]:
    """The logarithm: natural, or to a base.

    >>> next(orders.select(log(lit(8), 2)).execute().collect())
    <Row(3.0)>
    """
    return lit(v).log(base)


def source_watermark() -> Expression[Any]:
    """The watermark that the source itself gives, for ``Schema.Builder.watermark``.

    >>> schema = Schema.new_builder().column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
    >>> schema = schema.watermark("rowtime", source_watermark()).build()
    """
    return _apply("SOURCE_WATERMARK", "SOURCE_WATERMARK")


def if_then_else(condition: Condition, if_true: Any, if_false: Any) -> Expression[Any]:
    """The second argument where the condition holds, else the third.

    >>> list(orders.select(if_then_else(col("amount") > 1, "many", "one")).execute().collect())
    [<Row('one')>, <Row('many')>, <Row('many')>]
    """
    return lit(condition).then(if_true, if_false)


def coalesce(*args: Any) -> Expression[Any]:
    """The first value that is not NULL.

    >>> next(orders.select(coalesce(null_of(DataTypes.INT()), 2)).execute().collect())
    <Row(2)>
    """
    return _apply("COALESCE", "COALESCE", *args)


def with_all_columns() -> Expression[Any]:
    """All columns, as ``*`` in SQL.

    >>> orders.select(with_all_columns()).get_schema().get_field_names()
    ['name', 'product', 'amount']
    """
    return col("*")


def with_columns(head: Any, *tails: Any) -> Expression[Any]:
    """Columns by name, position from 1, or ``range_``.

    >>> orders.select(with_columns(range_(1, 2))).get_schema().get_field_names()
    ['name', 'product']
    """
    return Expression(nodes.Columns(tuple(map(node_of, (head, *tails)))))


def without_columns(head: Any, *tails: Any) -> Expression[Any]:
    """All columns but these.

    >>> orders.select(without_columns(col("amount"))).get_schema().get_field_names()
    ['name', 'product']
    """
    return Expression(nodes.Columns(tuple(map(node_of, (head, *tails))), True))


def json(value: Any) -> Expression[Any]:
    """Text that is JSON already, inside ``json_object`` or ``json_array``.

    >>> next(orders.select(json_object(JsonOnNull.NULL, "k", json("[1]"))).execute().collect())
    <Row('{"k":[1]}')>
    """
    return _apply("JSON", "JSON", value)


def json_string(value: Any) -> Expression[Any]:
    """A value as JSON.

    >>> next(orders.select(json_string(array(1, 2))).execute().collect())
    <Row('[1,2]')>
    """
    return _apply("JSON_STRING", "JSON_STRING", value)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: Any) -> Expression[Any]:
    """A JSON object of keys and values in turn.

    >>> next(orders.select(json_object(JsonOnNull.NULL, "name", col("name"))).execute().collect())
    <Row('{"name":"Ann"}')>
    """
    if len(args) % 2:
        raise problem("json_object takes keys and values in turn")
    parts = list(map(node_of, args))
    entries = tuple(map(nodes.JsonEntry, parts[::2], parts[1::2]))
    return Expression(nodes.JsonObject(entries, on_null.name))


def json_object_agg(on_null: JsonOnNull, key_expr: Text, value_expr: Any) -> Expression[Any]:
    """An aggregate: a JSON object of one key and value a row.

    >>> totals = json_object_agg(JsonOnNull.NULL, col("product"), col("amount"))
    >>> list(orders.filter(col("name") == "Ann").select(totals).execute().collect())
    [<Row('{"ink":1,"pen":3}')>]
    """
    return Expression(nodes.JsonObjectAgg(nodes.JsonEntry(node_of(key_expr), node_of(value_expr)), on_null.name))


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: Any) -> Expression[Any]:
    """A JSON array of values, as text.

    >>> next(orders.select(json_array(JsonOnNull.NULL, 1, "a")).execute().collect())
    <Row('[1,"a"]')>
    """
    return Expression(nodes.JsonArray(tuple(map(node_of, args)), on_null.name))


def json_array_agg(on_null: JsonOnNull, item_expr: Any) -> Expression[Any]:
    """An aggregate: a JSON array of one value a row.

    >>> list(orders.select(json_array_agg(JsonOnNull.NULL, col("amount"))).execute().collect())
    [<Row('[1,2,3]')>]
    """
    return Expression(nodes.JsonArrayAgg(node_of(item_expr), on_null.name))


def lag(expr: Any, offset: Any = 1, default: Any = None) -> Expression[Any]:
    """The value some rows before in an over window.

    >>> window = Over.order_by(col("at")).preceding(UNBOUNDED_RANGE).alias("w")
    >>> list(clicks.over_window(window).select(lag(col("n"), 1, 0).over(col("w"))).execute().collect())
    [<Row(0)>, <Row(1)>, <Row(2)>, <Row(3)>]
    """
    return _apply("LAG", "lag", *present(expr, offset, default))


def lead(expr: Any, offset: Any = 1, default: Any = None) -> Expression[Any]:
    """The value some rows later in an over window.

    >>> window = Over.order_by(col("at")).preceding(UNBOUNDED_RANGE).alias("w")
    >>> following = clicks.over_window(window).select(lead(col("n"), 1, 0).over(col("w")))
    """
    return _apply("LEAD", "lead", *present(expr, offset, default))


def call(f: str | UserDefinedFunctionWrapper, *args: Any) -> Expression[Any]:
    """A function by name (a system function, a definition of the Table API as ``equals``, or one of a catalog), or one
    made by ``udf`` and its like.

        >>> next(orders.select(call("UPPER", col("name"))).execute().collect())
        <Row('ANN')>
    """
    if not isinstance(f, str):
        return wrapped(f)(*args)
    *path, name = split_path(f)
    defined = None if path else _DEFINITIONS.call(name, args)
    if defined is not None:
        return defined
    return Expression(nodes.Dot.between(*map(nodes.Identifier, path), nodes.Call(name, tuple(map(node_of, args)))))


def call_sql(sql_expression: str) -> Expression[Any]:
    """An expression written in SQL.

    >>> next(orders.select(call_sql("amount * 2 + 1")).execute().collect())
    <Row(3)>
    """
    return Expression(nodes.SqlText(sql_expression))


_DEFINITIONS = Definitions(
    {
        "ifthenelse": if_then_else,
        "randinteger": rand_integer,
        "currentdatabase": current_database,
        "currentdate": current_date,
        "currenttime": current_time,
        "currenttimestamp": current_timestamp,
        "localtime": local_time,
        "localtimestamp": local_timestamp,
        "temporaloverlaps": temporal_overlaps,
        "timestampdiff": timestamp_diff,
        "dateformat": date_format,
        "converttz": convert_tz,
        "fromunixtime": from_unixtime,
        "unixtimestamp": unix_timestamp,
        "todate": to_date,
        "totimestamp": to_timestamp,
        "rangeto": range_,
        "row": row,
        "not": not_,
        "extract": lambda unit, time: Expression(node_of(time)).extract(unit),
        "json_object": json_object,
        "json_array": json_array,
        "json_objectagg_null_on_null": lambda key, value: json_object_agg(JsonOnNull.NULL, key, value),
        "json_objectagg_absent_on_null": lambda key, value: json_object_agg(JsonOnNull.ABSENT, key, value),
        "json_arrayagg_null_on_null": lambda item: json_array_agg(JsonOnNull.NULL, item),
        "json_arrayagg_absent_on_null": lambda item: json_array_agg(JsonOnNull.ABSENT, item),
        "currentrowtimestamp": lambda: Expression(nodes.Call("CURRENT_ROW_TIMESTAMP")),
    }
)
