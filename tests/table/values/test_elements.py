"""Tables of Python values."""

from __future__ import annotations

import datetime as dt
from collections import namedtuple
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from millrace.common.types import Row, RowKind
from millrace.table import DataTypes as D
from millrace.table import TableEnvironment
from millrace.table.values.arrow_tables import remaining

Point = namedtuple("Point", "x y")

INFERRED: list[tuple[list[Any], Any, str]] = [
    ([(1, "a")], None, "ROW<`_1` BIGINT, `_2` STRING>"),
    ([(1, "a")], ["id", "name"], "ROW<`id` BIGINT, `name` STRING>"),
    ([(1, "a")], ["id"], "ROW<`id` BIGINT, `_2` STRING>"),
    ([Row(b=1, a=True)], None, "ROW<`b` BIGINT, `a` BOOLEAN>"),
    ([{"b": 1, "a": 2.5}], None, "ROW<`a` DOUBLE, `b` BIGINT>"),
    ([Point(1, None), Point(2, 2.5)], None, "ROW<`x` BIGINT, `y` DOUBLE>"),
    ([(1,), (2.5,)], ["n"], "ROW<`n` DOUBLE>"),
    ([(Decimal("1.5"), dt.date(2020, 1, 1), dt.time(1))], None, "ROW<`_1` DECIMAL(38, 18), `_2` DATE, `_3` TIME(0)>"),
    ([(dt.datetime(2020, 1, 1), b"x")], None, "ROW<`_1` TIMESTAMP_LTZ(6), `_2` BYTES>"),
    ([([1, None], {"a": 1})], None, "ROW<`_1` ARRAY<BIGINT>, `_2` MAP<STRING NOT NULL, BIGINT>>"),
    ([(Row(x=1),)], ["r"], "ROW<`r` ROW<`x` BIGINT>>"),
    ([1, 2], D.INT(), "ROW<`f0` INT>"),
]


@pytest.mark.parametrize(("elements", "schema", "kind"), INFERRED, ids=[each[2] for each in INFERRED])
def test_types(t_env: TableEnvironment, elements: list[Any], schema: Any, kind: str) -> None:
    table = t_env.from_elements(elements, schema)
    assert str(table.get_schema().to_row_data_type()) == f"{kind} NOT NULL"


def test_values_are_in_the_order_of_the_schema(t_env: TableEnvironment) -> None:
    kind = D.ROW([D.FIELD("a", D.INT()), D.FIELD("b", D.STRING())])
    elements = [(1, "x"), [2, "y"], Row(b="z", a=3), {"b": "w", "a": 4}]
    assert t_env.from_elements(elements, kind)._plan.rows == ((1, "x"), (2, "y"), (3, "z"), (4, "w"))


WRONG = [
    ([], None, "give a schema with types"),
    ([(1,), ("a",)], ["n"], "values of column 'n' are BIGINT and STRING"),
    ([(None,)], ["n"], "all values of column 'n' are None"),
    ([(1, 2)], D.ROW([D.FIELD("a", D.INT())]), "an element has 2 values, and the schema 1 columns"),
    ([("a",)], D.ROW([D.FIELD("a", D.INT())]), "column 'a' is INT"),
    ([(None,)], D.ROW([D.FIELD("a", D.INT(False))]), "row 0 has None"),
]


@pytest.mark.parametrize(("elements", "schema", "message"), WRONG, ids=[each[2] for each in WRONG])
def test_what_does_not_fit(t_env: TableEnvironment, elements: list[Any], schema: Any, message: str) -> None:
    with pytest.raises(Exception, match=message):
        t_env.from_elements(elements, schema)


def test_from_pandas(t_env: TableEnvironment) -> None:
    frame = pd.DataFrame({"a": [1, 2, 3], "t": pd.to_datetime(["2020-01-01"] * 3)})
    table = t_env.from_pandas(frame, splits_num=2)
    assert str(table.get_schema().to_row_data_type()) == "ROW<`a` BIGINT, `t` TIMESTAMP(9)> NOT NULL"
    parts = table._plan.source._parts
    assert [len(part) for part in parts] == [2, 1]
    named = t_env.from_pandas(frame, ["x", "y"])
    assert named.get_schema().get_field_names() == ["x", "y"]
    typed = t_env.from_pandas(frame, D.ROW([D.FIELD("x", D.INT()), D.FIELD("y", D.TIMESTAMP_LTZ(3))]))
    t_env.get_config().set_local_timezone("Asia/Shanghai")
    assert [str(column.type) for column in typed._plan.source._parts[0].columns] == ["int32", "timestamp[us, tz=UTC]"]
    with pytest.raises(Exception, match="the frame has 2 columns, and the schema 1"):
        t_env.from_pandas(frame, ["x"])


def test_what_a_changelog_leaves() -> None:
    kinds = RowKind
    log = [
        Row.of_kind(kinds.INSERT, 1), Row.of_kind(kinds.INSERT, 2), Row.of_kind(kinds.UPDATE_BEFORE, 1),
        Row.of_kind(kinds.UPDATE_AFTER, 3), Row.of_kind(kinds.DELETE, 2),
    ]  # fmt: skip
    assert [list(row) for row in remaining(log)] == [[3]]
