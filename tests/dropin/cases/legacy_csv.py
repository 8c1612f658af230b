"""Tables of CSV files as they were declared up to Flink 1.10."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyflink.common import Row
from pyflink.table import EnvironmentSettings, TableEnvironment
from tests.dropin.checks import raises

COLUMNS = "a INT, b STRING, c STRING"


def _environment() -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    return t_env


def _declare(t_env: TableEnvironment, path: str, columns: str, **options: str) -> None:
    shown = "".join(f", 'format.{name.replace('_', '-')}' = '{value}'" for name, value in options.items())
    t_env.execute_sql(
        f"CREATE TABLE t ({columns}) WITH ('connector.type' = 'filesystem', 'connector.path' = "
        f"'{Path.cwd() / path}', 'format.type' = 'csv'{shown})"
    )


def _read(text: str, columns: str = COLUMNS, **options: str) -> list[Any]:
    Path("in.csv").write_text(text)
    t_env = _environment()
    _declare(t_env, "in.csv", columns, **options)
    with t_env.from_path("t").execute().collect() as found:
        return list(found)


def fields_too_many_are_left_out() -> None:
    """As is the first line, on demand; an empty text is a text."""
    assert _read("h\n1,,x,9\n2,b,y\n", ignore_first_line="true") == [Row(1, "", "x"), Row(2, "b", "y")]


def an_empty_number_is_null() -> None:
    assert _read("1,a,x\n,b,y\n") == [Row(1, "a", "x"), Row(None, "b", "y")]


def fields_too_few_are_an_error() -> None:
    with raises(Exception):  # its class and words differ
        _read("1,a\n")


def quotes_mean_something_where_they_are_declared() -> None:
    assert _read('1,"a,b",x\n2,"c",d"d\n', quote_character='"') == [Row(1, "a,b", "x"), Row(2, "c", 'd"d')]
    assert _read('1,"a",x\n') == [Row(1, '"a"', "x")]


def comments_are_left_out() -> None:
    assert _read("#1,a,x\n2,b,c\n", comment_prefix="#") == [Row(2, "b", "c")]


def what_does_not_fit_can_be_null() -> None:
    """A field that does not fit is NULL, a line that is too short left out."""
    assert _read("x,a,x\n2,b,c\n3,\n", ignore_parse_errors="true") == [Row(None, "a", "x"), Row(2, "b", "c")]


def values_of_all_kinds_are_read() -> None:
    found = _read(
        "1.5|true|2020-01-02|10:11:12|2020-01-02 03:04:05.6|2.50\n",
        "a DOUBLE, b BOOLEAN, c DATE, d TIME, e TIMESTAMP(3), f DECIMAL(10, 2)",
        field_delimiter="|",
    )
    day, clock, moment = dt.date(2020, 1, 2), dt.time(10, 11, 12), dt.datetime(2020, 1, 2, 3, 4, 5, 600000)
    assert found == [Row(1.5, True, day, clock, moment, Decimal("2.50"))]


def one_file_is_written() -> None:
    """At the path itself, once."""
    t_env = _environment()
    columns = "a INT, b STRING, c DOUBLE, d TIMESTAMP(3), e DATE, f TIME, g BOOLEAN, h DECIMAL(10, 2)"
    _declare(t_env, "out.csv", columns, field_delimiter="|")
    t_env.execute_sql(
        "INSERT INTO t VALUES (1, 'x y', 1.5e10, TIMESTAMP '2020-01-02 03:04:05.6', DATE '2020-01-02', "
        "TIME '10:11:12', true, 2.5), (CAST(NULL AS INT), '\"', CAST(NULL AS DOUBLE), CAST(NULL AS TIMESTAMP(3)), "
        "CAST(NULL AS DATE), CAST(NULL AS TIME), CAST(NULL AS BOOLEAN), CAST(NULL AS DECIMAL(10, 2)))"
    ).wait()
    wanted = '1|x y|1.5E10|2020-01-02 03:04:05.6|2020-01-02|10:11:12|true|2.50\n|"||||||\n'
    assert Path("out.csv").read_text() == wanted
    with raises(Exception):  # there is a file already; its class and words differ
        t_env.execute_sql("INSERT INTO t (a) VALUES (1)").wait()
    assert Path("out.csv").read_text() == wanted
