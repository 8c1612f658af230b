"""Bytes as HBase's class ``Bytes`` makes them: written down from what Java gives."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.connectors.hbase.hbase_layout import decoder, encoder, problem
from millrace.relational import types as t

JAVA: list[tuple[t.DataType, Any, str]] = [
    (t.string(), "aä€", "61c3a4e282ac"),
    (t.BooleanType(), True, "ff"),
    (t.BooleanType(), False, "00"),
    (t.VarBinaryType(9), b"\x00\xff", "00ff"),
    (t.TinyIntType(), -2, "fe"),
    (t.SmallIntType(), 258, "0102"),
    (t.IntType(), -1, "ffffffff"),
    (t.BigIntType(), 1 << 40, "0000010000000000"),
    (t.FloatType(), 1.5, "3fc00000"),
    (t.DoubleType(), -2.5, "c004000000000000"),
    (t.DecimalType(10, 2), Decimal("1.50"), "000000020096"),
    (t.DecimalType(10, 2), Decimal("-1.28"), "0000000280"),
    (t.DecimalType(10, 2), Decimal("-1.29"), "00000002ff7f"),
    (t.DecimalType(10, 0), Decimal("0"), "0000000000"),
    (t.DateType(), dt.date(1969, 12, 31), "ffffffff"),
    (t.TimeType(3), dt.time(0, 0, 1, 5000), "000003ed"),
    (t.TimestampType(3), dt.datetime(1969, 12, 31, 23, 59, 59, 999000), "ffffffffffffffff"),
    (t.LocalZonedTimestampType(3), dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.timezone.utc), "00000000000003e8"),
    (
        t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.SECOND),
        dt.timedelta(seconds=-1),
        "fffffffffffffc18",
    ),
]


@pytest.mark.parametrize(("kind", "value", "wanted"), JAVA, ids=str)
def test_bytes_of_java(kind: t.DataType, value: Any, wanted: str) -> None:
    assert encoder(kind)(value).hex() == wanted
    assert decoder(kind)(bytes.fromhex(wanted)) == value


@given(st.decimals(allow_nan=False, allow_infinity=False, places=9))
def test_decimals_come_back(value: Decimal) -> None:
    kind = t.DecimalType(38, 9)
    data = encoder(kind)(value)
    assert decoder(kind)(data) == value
    unscaled = int.from_bytes(data[4:], "big", signed=True)
    # BigInteger has no byte more than it needs.
    assert len(data) == 5 or not -(1 << 8 * (len(data) - 5) - 1) <= unscaled < 1 << 8 * (len(data) - 5) - 1


def test_bytes_that_are_none() -> None:
    for kind, data in ((t.IntType(), b"\x01"), (t.string(), b"\xff\xfe"), (t.DecimalType(9, 2), b"\x00")):
        with pytest.raises(ValueError, match=r"is no"):
            decoder(kind)(data)


def test_types_that_hbase_does_not_have() -> None:
    assert problem(t.ArrayType(t.IntType())) == "HBase has no values of type ARRAY<INT>"
    assert "keeps milliseconds" in str(problem(t.TimestampType(6)))
    assert problem(t.TimestampType(3)) is None
