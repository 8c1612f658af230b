"""Expressions print as Flink prints them. The texts are facts of PyFlink's own tests and function catalogue."""

from __future__ import annotations

import pytest
from tests.corpus import corpus

from millrace.table import DataTypes
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
from millrace.table.expressions import (
    CURRENT_RANGE,
    UNBOUNDED_ROW,
    and_,
    array,
    atan2,
    call,
    col,
    concat_ws,
    convert_tz,
    current_date,
    date_format,
    from_unixtime,
    if_then_else,
    json_array_agg,
    lit,
    local_timestamp,
    log,
    map_,
    negative,
    not_,
    null_of,
    or_,
    rand_integer,
    range_,
    row,
    row_interval,
    temporal_overlaps,
    timestamp_diff,
    to_date,
    to_timestamp_ltz,
    unix_timestamp,
    with_columns,
    without_columns,
)

a, b, c = col("a"), col("b"), col("c")

TEXTS = [
    (a == b, "equals(a, b)"),
    (a != b, "notEquals(a, b)"),
    (a < b, "lessThan(a, b)"),
    (a <= b, "lessThanOrEqual(a, b)"),
    (a > b, "greaterThan(a, b)"),
    (a >= b, "greaterThanOrEqual(a, b)"),
    (a & b, "and(a, b)"),
    (True & b, "and(b, true)"),
    (a | b, "or(a, b)"),
    (~a, "isNotTrue(a)"),
    (not_(a), "not(a)"),
    (a + b, "plus(a, b)"),
    (2 + b, "plus(2, b)"),
    (b.to_date - 2, "minus(cast(b, DATE), 2)"),
    (2 - b, "minus(2, b)"),
    (a * b, "times(a, b)"),
    (a / b, "divide(a, b)"),
    (1 / b, "divide(1, b)"),
    (a % b, "mod(a, b)"),
    (2 % b, "mod(2, b)"),
    (a**b, "power(a, b)"),
    (-a, "minusPrefix(a)"),
    (negative(a), "minusPrefix(a)"),
    (abs(a), "abs(a)"),
    (a.log(), "log(a)"),
    (a.log(2), "log(2, a)"),
    (log(a), "log(a)"),
    (a.round(b), "round(a, b)"),
    (a.between(b, c), "between(a, b, c)"),
    (a.not_between(b, c), "notBetween(a, b, c)"),
    (a.then(b, c), "ifThenElse(a, b, c)"),
    (if_then_else(a, b, c), "ifThenElse(a, b, c)"),
    (a.is_null, "isNull(a)"),
    (a.is_not_false, "isNotFalse(a)"),
    (a.sum.distinct, "distinct(sum(a))"),
    (a.sum0, "sum0(a)"),
    (a.first_value, "first_value(a)"),
    (a.list_agg(","), "listAgg(a, ',')"),
    (a.stddev_pop, "stddevPop(a)"),
    (a.array_agg, "ARRAY_AGG(a)"),
    (a.percentile(array(0.1, 0.5), b), "PERCENTILE(a, array(0.1, 0.5), b)"),
    (json_array_agg(JsonOnNull.ABSENT, a), "JSON_ARRAYAGG_ABSENT_ON_NULL(a)"),
    (a.alias("a", "b", "c"), "as(a, 'a', 'b', 'c')"),
    (a.cast(DataTypes.INT()), "cast(a, INT)"),
    (a.try_cast(DataTypes.INT()), "TRY_CAST(a, INT)"),
    (a.asc, "asc(a)"),
    (a.desc, "desc(a)"),
    (a.in_(b, 1, "x"), "in(a, b, 1, 'x')"),
    (a.start, "start(a)"),
    (a.end, "end(a)"),
    (a.rowtime, "rowtime(a)"),
    (a.unhex, "UNHEX(a)"),
    (a.truncate(3), "truncate(a, 3)"),
    (a.as_argument("n"), "ASSIGNMENT('n', a)"),
    (a.substring(b, 3), "substring(a, b, 3)"),
    (a.trim_leading(), "trim(true, false, ' ', a)"),
    (a.trim_trailing(), "trim(false, true, ' ', a)"),
    (a.trim("x"), "trim(true, true, 'x', a)"),
    (a.like("Jo_n%", "\\"), "LIKE(a, 'Jo_n%', '\\')"),
    (a.similar("A+"), "similar(a, 'A+')"),
    (lit("it's"), "'it''s'"),
    (a.lpad(4, b), "lpad(a, 4, b)"),
    (a.overlay(b, 6, 2), "overlay(a, b, 6, 2)"),
    (a.locate(b, 2), "locate(a, b, 2)"),
    (a.parse_url(b, "query"), "parseUrl(a, b, 'query')"),
    (a.over("w"), "over(a, 'w')"),
    (a.split_index(",", 3), "splitIndex(a, ',', 3)"),
    (a.str_to_map(";", ":"), "strToMap(a, ';', ':')"),
    (lit(3).elt(a, b), "ELT(3, a, b)"),
    (lit("%d").printf(a), "PRINTF('%d', a)"),
    (a.regexp_extract_all(b, 3), "REGEXP_EXTRACT_ALL(a, b, 3)"),
    (a.translate("x", "y"), "TRANSLATE3(a, 'x', 'y')"),
    (a.to_time, "cast(a, TIME(0))"),
    (a.to_timestamp, "cast(a, TIMESTAMP(3))"),
    (a.extract(TimeIntervalUnit.YEAR), "extract(YEAR, a)"),
    (a.floor(TimeIntervalUnit.YEAR), "floor(a, YEAR)"),
    (a.ceil(), "ceil(a)"),
    (a.get("col"), "get(a, 'col')"),
    (a.name_of_field, "get(a, 'name_of_field')"),
    (a.flatten, "flatten(a)"),
    (a[0], "at(a, 0)"),
    (lit(10).years, "120"),
    (lit(10).quarter, "30"),
    (lit(10).weeks, "6048000000"),
    (lit(10).days, "864000000"),
    (lit(10).millis, "10"),
    (a.sha2(224), "sha2(a, 224)"),
    (lit("42").is_json(), "IS_JSON('42')"),
    (lit("42").is_json(JsonType.SCALAR), "IS_JSON('42', SCALAR)"),
    (lit("{}").json_exists("$.x", JsonExistsOnError.FALSE), "JSON_EXISTS('{}', '$.x', FALSE)"),
    (lit("{}").json_value("$.x"), "JSON_VALUE('{}', '$.x', STRING, NULL, null, NULL, null)"),
    (
        lit("{}").json_value(
            "$.x", DataTypes.INT(), JsonValueOnEmptyOrError.DEFAULT, 42, JsonValueOnEmptyOrError.ERROR, None
        ),
        "JSON_VALUE('{}', '$.x', INT, DEFAULT, 42, ERROR, null)",
    ),
    (
        lit("{}").json_query(
            "$.x", JsonQueryWrapper.WITHOUT_ARRAY, JsonQueryOnEmptyOrError.NULL, JsonQueryOnEmptyOrError.EMPTY_ARRAY
        ),
        "JSON_QUERY('{}', '$.x', STRING, WITHOUT_ARRAY, NULL, EMPTY_ARRAY)",
    ),
    (lit(10, DataTypes.INT(False)), "10"),
    (range_(1, 2), "rangeTo(1, 2)"),
    (and_(a, b, c), "and(a, b, c)"),
    (or_(a, b, c), "or(a, b, c)"),
    (UNBOUNDED_ROW, "UNBOUNDED_ROW"),
    (CURRENT_RANGE, "CURRENT_RANGE"),
    (current_date(), "currentDate()"),
    (local_timestamp(), "localTimestamp()"),
    (to_date("2018-03-18", "yyyy-MM-dd"), "toDate('2018-03-18', 'yyyy-MM-dd')"),
    (to_timestamp_ltz(123, 0), "TO_TIMESTAMP_LTZ(123, 0)"),
    (
        temporal_overlaps(lit("2:55:00").to_time, lit(1).hours, lit("3:30:00").to_time, lit(2).hours),
        "temporalOverlaps(cast('2:55:00', TIME(0)), 3600000, cast('3:30:00', TIME(0)), 7200000)",
    ),
    (date_format(col("time"), "%Y"), "dateFormat(time, '%Y')"),
    (timestamp_diff(TimePointUnit.DAY, a, b), "timestampDiff(DAY, a, b)"),
    (convert_tz("x", "UTC", "Asia/Shanghai"), "convertTz('x', 'UTC', 'Asia/Shanghai')"),
    (from_unixtime(1, "yy"), "fromUnixtime(1, 'yy')"),
    (unix_timestamp(), "unixTimestamp()"),
    (array(1, 2, 3), "array(1, 2, 3)"),
    (row("key1", 1), "row('key1', 1)"),
    (map_("key1", 1, "key2", 2), "map('key1', 1, 'key2', 2)"),
    (row_interval(4), "4"),
    (rand_integer(4), "randInteger(4)"),
    (atan2(1, 2), "atan2(1, 2)"),
    (concat_ws(", ", b, c), "concat_ws(', ', b, c)"),
    (null_of(DataTypes.BIGINT()), "null"),
    (with_columns(a, b), "withColumns(a, b)"),
    (without_columns(a), "withoutColumns(a)"),
    (call("a.b.c", a), "a.b.c(a)"),
]


@corpus(("expression", "text"), TEXTS, 120)
def test_text(expression: Expression[object], text: str) -> None:
    assert str(expression) == text


def test_expressions_are_neither_true_nor_iterable() -> None:
    with pytest.raises(TypeError, match="combine expressions with &"):
        bool(a == b)
    with pytest.raises(TypeError):
        iter(a)


def test_spans_are_made_of_constants() -> None:
    with pytest.raises(Exception, match=r"lit\(5\)\.days, not of a"):
        _ = a.days
