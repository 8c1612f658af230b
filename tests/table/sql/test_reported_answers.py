"""Statements that Millrace once answered otherwise than Flink, as they were reported, with the answer that is right;
where Millrace differs by decision, the answer is Millrace's, and docs/differences.md has a row."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from tests.connectors.tables.message_tables import MessageTables
from tests.table.programs.running import changes_in

from millrace.runtime.failure import JobFailedError
from millrace.table.sql.text import SqlError

UTC = dt.timezone.utc
ANSWERS: dict[str, tuple[Any, str]] = {
    """JSON_UNQUOTE('"["abc"]"')""": ('["abc"]', "STRING NOT NULL"),
    '''JSON_UNQUOTE('"""')''': ('"', "STRING NOT NULL"),
    "TO_TIMESTAMP_LTZ('1970-01-01 00:00:00.12345', 'yyyy-MM-dd HH:mm:ss.SSSSS')": (
        dt.datetime(1970, 1, 1, 0, 0, 0, 123_450, UTC), "TIMESTAMP_LTZ(5)"),
    "TO_TIMESTAMP_LTZ(CAST(100.01 AS FLOAT), 0)": (
        dt.datetime(1970, 1, 1, 0, 1, 40, 10_000, UTC), "TIMESTAMP_LTZ(3)"),
    "MOD(CAST(7 AS DECIMAL(19, 0)), 4)": (3, "INT NOT NULL"),
    "TIMESTAMPADD(HOUR, 1, DATE '2020-01-01')": (dt.datetime(2020, 1, 1, 1), "TIMESTAMP(6) NOT NULL"),
    "GREATEST(CAST(1.5 AS DECIMAL(5, 2)), CAST(2.5 AS DECIMAL(5, 2)))": (Decimal("2.50"), "DECIMAL(5, 2) NOT NULL"),
    "JSON_VALUE('{\"a\": 1}', '$.x' RETURNING INTEGER NULL ON EMPTY)": (None, "INT"),
    "JSON_VALUE('{\"x\": \"no\"}', '$.x' RETURNING BOOLEAN NULL ON ERROR)": (None, "BOOLEAN"),
    "ROW(1, 'b')[1]": (1, "INT NOT NULL"),
    "CAST(ROW(1, 'b') AS ROW<field INT, g STRING>)['field']": (1, "INT"),
    "TO_TIMESTAMP_LTZ(NULL)": (None, "TIMESTAMP_LTZ(3)"),
    "TO_TIMESTAMP_LTZ(NULL, 'yyyy')": (None, "TIMESTAMP_LTZ(3)"),
    "TO_TIMESTAMP_LTZ(NULL, 'yyyy', 'UTC')": (None, "TIMESTAMP_LTZ(3)"),
    "TO_TIMESTAMP_LTZ('2020-01-01 00:00:00', 'yyyy-MM-dd HH:mm:ss', s)": (None, "TIMESTAMP_LTZ(3)"),
    "HOUR(INTERVAL '1 05:06:07' DAY TO SECOND)": (5, "BIGINT NOT NULL"),
    "MINUTE(INTERVAL '1 05:06:07' DAY TO SECOND)": (6, "BIGINT NOT NULL"),
    "SECOND(INTERVAL '1 05:06:07' DAY TO SECOND)": (7, "BIGINT NOT NULL"),
    "EXTRACT(QUARTER FROM INTERVAL '1-8' YEAR TO MONTH)": (3, "BIGINT NOT NULL"),
    "TIMESTAMPDIFF(MONTH, TIME '10:00:00', DATE '2020-01-01')": (599, "INT NOT NULL"),
    "TIMESTAMPDIFF(MONTH, TIME '10:00:00', TIMESTAMP '2020-01-01 00:00:00')": (599, "INT NOT NULL"),
    # By decision: one text that is no time, number or BOOLEAN does not end a stream.
    "DATE '2020-01-01' = s": (None, "BOOLEAN"),
    "TIME '10:00:00' = s": (None, "BOOLEAN"),
    "TIMESTAMP '2020-01-01 00:00:00' = s": (None, "BOOLEAN"),
    "TO_TIMESTAMP_LTZ(0, 3) = s": (None, "BOOLEAN"),
    "n = s": (None, "BOOLEAN"),
    # By decision: they have a meaning.
    "ARRAY_MAX(ARRAY[TRUE, FALSE])": (True, "BOOLEAN"),
    "ELT(-1, 'a')": (None, "CHAR(1)"),
    "JSON('{}')": ("{}", "STRING"),
    "1 / 0e0": (float("inf"), "DOUBLE NOT NULL"),
    "CEIL(TIMESTAMP '2018-03-01 21:00:01' TO MONTH)": (dt.datetime(2018, 4, 1), "TIMESTAMP(0) NOT NULL"),
    "BTRIM('  abc  ')": ("abc", "STRING NOT NULL"),
}  # fmt: skip
ROWS = "(VALUES (CAST('a' AS STRING), 1, CAST(NULL AS BIGINT))) AS v(s, n, b)"
TABLES = {
    "SELECT k, s, GROUP_ID() FROM {} GROUP BY GROUPING SETS ((k, s), (k), ())": [
        (1, "a", 0), (1, "b", 0), (1, None, 0), (None, None, 0)],
    "SELECT k, GROUP_ID() FROM {} GROUP BY GROUPING SETS ((k), (k))": [(1, 0), (1, 1)],
    "SELECT COUNT(DISTINCT k, s) FROM {}": [(2,)],
    "SELECT COUNT(*) FROM {} GROUP BY MAP['k', k]": [(2,)],
}  # fmt: skip
PLANNED = {
    "TIMESTAMPDIFF(MONTH, TO_TIMESTAMP_LTZ(0, 3), DATE '2020-01-01')": "none is a DATE or TIME beside a TIMESTAMP_LTZ",
    "TYPEOF(1, 2)": r"TYPEOF does not take \(INT, INT\)",
    "OBJECT_OF(CAST(NULL AS STRING), 'a', 1)": "the name of the class is constant text",
    "'a!b' LIKE 'a!b' ESCAPE '!'": "stands before nothing to escape",
    "TO_TIMESTAMP_LTZ('2020-01-01 00:00:00', 'yyyy-MM-dd HH:mm:ss', 'Mars/X')": "there is no time zone 'Mars/X'",
    "CASE WHEN TRUE THEN 1 ELSE DATE '2020-01-01' END": "its results must have a common type",
    "DATE '0000-01-01'": "is no DATE",
    "n > 'abc'": r"'abc' cannot be read as INT(.|\n)*\^",
}


def found(sql: str) -> tuple[list[tuple[Any, ...]], list[str]]:
    """(rows, types of the columns)"""
    tables = MessageTables()
    tables.environment.get_config().set_local_timezone("UTC")
    plan = tables.environment.sql_query(sql)._plan
    changes = changes_in(tables._run([plan], 1).collected, plan.schema, tuple)
    rows = [tuple(row) for kind, row in changes if kind in (0, 2)]
    return rows, [str(column.type) for column in plan.schema]


def test_expressions() -> None:
    (row,), types = found(f"SELECT {', '.join(ANSWERS)} FROM {ROWS}")
    assert dict(zip(ANSWERS, zip(row, types))) == ANSWERS


@pytest.mark.parametrize("sql", TABLES)
def test_tables(sql: str) -> None:
    rows, _ = found(sql.format("(VALUES (1, 'a'), (1, 'b')) AS v(k, s)"))
    assert sorted(rows, key=repr) == sorted(TABLES[sql], key=repr)


@pytest.mark.parametrize("expression", PLANNED)
def test_what_is_refused_before_anything_runs(expression: str) -> None:
    with pytest.raises(SqlError, match=PLANNED[expression]):
        MessageTables().environment.sql_query(f"SELECT {expression} FROM {ROWS}")


def test_an_interval_that_is_too_large_for_its_type_is_an_error() -> None:
    with pytest.raises(JobFailedError, match="43200000 milliseconds are no TINYINT"):
        found("SELECT CAST(INTERVAL '12' HOUR AS TINYINT)")
