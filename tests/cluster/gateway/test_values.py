"""Values and types as the gateway writes them: compared with what Flink's own gateway has answered."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from millrace.cluster.gateway.routes import described, row_values
from millrace.common.types import Row
from millrace.relational import types as t
from millrace.table.types import DataTypes

UTC = dt.timezone.utc


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        (DataTypes.INT(), 1, 1),
        (DataTypes.DOUBLE(), float("nan"), "NaN"),
        (DataTypes.DOUBLE(), float("-inf"), "-Infinity"),
        (DataTypes.DECIMAL(10, 2), Decimal("1.50"), 1.5),
        (DataTypes.BYTES(), b"\x0a", "Cg=="),
        (DataTypes.DATE(), dt.date(2020, 1, 2), "2020-01-02"),
        (DataTypes.TIME(), dt.time(3, 4, 5), "03:04:05"),
        (DataTypes.TIMESTAMP(3), dt.datetime(2020, 1, 2, 3, 4, 5, 678000), "2020-01-02T03:04:05.678"),
        (DataTypes.TIMESTAMP(6), dt.datetime(2020, 1, 2, 3, 4, 5, 123456), "2020-01-02T03:04:05.123456"),
        (DataTypes.TIMESTAMP_LTZ(3), dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), "1970-01-01T00:00:01Z"),
        (t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.DAY), dt.timedelta(days=1), 86400000),
        (DataTypes.ARRAY(DataTypes.BYTES()), [b"\x0a", None], ["Cg==", None]),
        (DataTypes.MAP(DataTypes.INT(), DataTypes.DATE()), {1: dt.date(2020, 1, 2)}, {"1": "2020-01-02"}),
        (DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]), Row(1), {"a": 1}),
        (DataTypes.STRING(), None, None),
    ],
)
def test_values(kind: Any, value: Any, written: Any) -> None:
    encoded = msgspec.json.encode(row_values([kind])([value]))
    assert msgspec.json.decode(encoded) == [written]


def test_decimals_keep_their_digits() -> None:
    text = "-12345678901234567890123456789.012345678"
    encoded = msgspec.json.encode(row_values([DataTypes.DECIMAL(38, 9)])([Decimal(text)]))
    assert encoded.decode() == f"[{text}]"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (DataTypes.INT(False), {"type": "INTEGER", "nullable": False}),
        (DataTypes.STRING(), {"type": "VARCHAR", "nullable": True, "length": 2147483647}),
        (DataTypes.DECIMAL(10, 2), {"type": "DECIMAL", "nullable": True, "precision": 10, "scale": 2}),
        (
            DataTypes.ARRAY(DataTypes.INT()),
            {"type": "ARRAY", "nullable": True, "elementType": {"type": "INTEGER", "nullable": True}},
        ),
        (
            DataTypes.ROW([DataTypes.FIELD("a", DataTypes.DATE())]),
            {
                "type": "ROW",
                "nullable": True,
                "fields": [{"name": "a", "fieldType": {"type": "DATE", "nullable": True}}],
            },
        ),
    ],
)
def test_types(kind: Any, text: Any) -> None:
    assert described(kind) == text
