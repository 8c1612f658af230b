"""Text that is compared with other values: what cannot be read as one of them equals nothing and ends no job."""

from __future__ import annotations

import datetime as dt
from typing import Any

from tests.table.programs.program import Program, Source

READINGS = Source(
    "readings",
    "id INT, raw STRING, d DATE, n INT, b BOOLEAN, ts TIMESTAMP(3)",
    (
        (1, "2020-01-01", dt.date(2020, 1, 1), 5, True, dt.datetime(2020, 1, 1)),
        (2, "a", dt.date(2020, 1, 1), 5, True, dt.datetime(2020, 1, 1)),
        (3, "5", dt.date(2020, 1, 1), 5, False, dt.datetime(2020, 1, 1)),
        (4, "true", dt.date(2020, 1, 1), 1, True, dt.datetime(2020, 1, 1)),
        (5, None, dt.date(2020, 1, 1), 1, True, dt.datetime(2020, 1, 1)),
        (6, "2019-12-31 23:00:00", None, None, None, dt.datetime(2020, 1, 1)),
    ),
)


def _readings(name: str, sql: str, *rows: tuple[Any, ...]) -> Program:
    return Program(f"read_from_text_{name}", sql, (READINGS,), rows=rows)


PROGRAMS = [
    _readings(
        "in_select",
        "SELECT id, raw = d, n <> raw, raw = b, ts > raw, n BETWEEN raw AND 9, raw IN (1, n) FROM readings",
        (1, True, None, None, False, None, None),
        (2, None, None, None, None, None, None),
        (3, False, False, None, None, True, True),  # a year alone is a date, too
        (4, None, None, True, None, None, None),
        (5, None, None, None, None, None, None),
        (6, None, None, None, True, None, None),
    ),
    _readings("in_where", "SELECT id FROM readings WHERE d = raw OR n = raw", (1,), (3,)),
    _readings("in_where_not", "SELECT id FROM readings WHERE NOT d = raw", (3,)),
    _readings(
        "is_distinct",
        "SELECT id FROM readings WHERE n IS DISTINCT FROM raw",
        (1,),
        (2,),
        (4,),
        (5,),
    ),
    _readings(
        "in_case",
        "SELECT id, CASE raw WHEN n THEN 'n' WHEN b THEN 'b' END FROM readings WHERE id > 2",
        (3, "n"),
        (4, "b"),
        (5, None),
        (6, None),
    ),
    _readings(
        "nullif",
        "SELECT id, NULLIF(n, raw) FROM readings WHERE id < 4",
        (1, 5),
        (2, 5),
        (3, None),
    ),
    _readings(
        "in_a_join",
        "SELECT a.id, b.id FROM readings AS a JOIN readings AS b ON a.raw = b.n",
        (3, 1),
        (3, 2),
        (3, 3),
    ),
]
