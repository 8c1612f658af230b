"""What a gateway writes is read as the same values and types."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from millrace.cluster.gateway.routes import described, row_values
from millrace.cluster.sql_client import parsed, row_reader, type_of
from millrace.common.types import Row
from millrace.relational import types as t
from millrace.table.types import DataTypes

UTC = dt.timezone.utc
SPAN = t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.DAY_TO_SECOND, 3, 3)
MONTHS = t.YearMonthIntervalType(t.YearMonthIntervalType.YearMonthResolution.YEAR_TO_MONTH, 4)
ROW = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.BYTES())])
BIG = Decimal("-12345678901234567890123456789.012345678")

VALUES: list[tuple[Any, Any]] = [
    (DataTypes.BOOLEAN(), True),
    (DataTypes.BIGINT(), -(2**63)),
    (DataTypes.FLOAT(), 1.5),
    (DataTypes.DOUBLE(), 1e300),
    (DataTypes.DOUBLE(), float("inf")),
    (DataTypes.DECIMAL(38, 9), BIG),
    (DataTypes.DECIMAL(10, 2), Decimal("1.50")),
    (DataTypes.DECIMAL(10, 0), Decimal("7")),
    (DataTypes.STRING(), "grüß 'dich' \x00"),
    (DataTypes.CHAR(2), "ab"),
    (DataTypes.BYTES(), b"\x00\xff"),
    (DataTypes.DATE(), dt.date(1, 1, 1)),
    (DataTypes.TIME(3), dt.time(3, 4, 5, 678000)),
    (DataTypes.TIMESTAMP(6), dt.datetime(2020, 1, 2, 3, 4, 5, 123456)),
    (DataTypes.TIMESTAMP(3), dt.datetime(2020, 1, 2)),
    (DataTypes.TIMESTAMP_LTZ(3), dt.datetime(1969, 12, 31, 23, 59, 59, 500000, UTC)),
    (SPAN, dt.timedelta(days=-1, milliseconds=5)),
    (MONTHS, 14),
    (DataTypes.ARRAY(DataTypes.DECIMAL(3, 1)), [Decimal("1.0"), None]),
    (DataTypes.MAP(DataTypes.STRING(), DataTypes.DATE()), {"1": dt.date(2020, 1, 2)}),
    (DataTypes.MAP(DataTypes.INT(), DataTypes.STRING()), {1: "a", 2: None}),
    (DataTypes.MAP(DataTypes.BOOLEAN(), DataTypes.INT()), {True: 1}),
    (DataTypes.MAP(DataTypes.DECIMAL(38, 9), DataTypes.INT()), {BIG: 1}),
    (DataTypes.MAP(DataTypes.TIMESTAMP(3), DataTypes.INT()), {dt.datetime(2020, 1, 2, 3): 1}),
    (DataTypes.MAP(DataTypes.BYTES(), DataTypes.INT()), {b"\xff": 1}),
    (DataTypes.MULTISET(DataTypes.STRING()), {"a": 2}),
    (ROW, Row(a=1, b=b"x")),
    (DataTypes.STRING(), None),
]


@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_there_and_back(kind: Any, value: Any) -> None:
    described_again = type_of(parsed(msgspec.json.encode(described(kind))))
    assert described_again == kind
    (found,) = row_reader([described_again])(parsed(msgspec.json.encode(row_values([kind])([value]))))
    assert found == value
    assert type(found) is type(value)
    assert str(found) == str(value)


def test_what_only_flink_has() -> None:
    kind = type_of({"type": "TIMESTAMP_WITHOUT_TIME_ZONE", "nullable": True, "precision": 9, "kind": "REGULAR"})
    assert row_reader([kind])(["2020-01-02T03:04:05.1234567"]) == [dt.datetime(2020, 1, 2, 3, 4, 5, 123456)]
    assert row_reader([type_of({"type": "STRUCTURED_TYPE"})])([{"a": 1}]) == [{"a": 1}]
