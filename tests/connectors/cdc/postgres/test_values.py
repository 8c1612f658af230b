"""PostgreSQL's texts, places and messages, without a server."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.connectors.cdc.changes import UNCHANGED
from millrace.connectors.cdc.postgres.postgres_catalog import PostgresSettings
from millrace.connectors.cdc.postgres.replication_slot import LogPosition, Mark, SnapshotSeen, lsn_number, lsn_text
from millrace.connectors.cdc.postgres.snapshot_chunks import array_elements, typed_column
from millrace.connectors.jdbc.dialect import Target
from millrace.relational import types as t

CASES: list[tuple[Any, list[Any], list[Any]]] = [
    (t.BooleanType(), ["t", "f", None], [True, False, None]),
    (t.BigIntType(), ["-9223372036854775808", None], [-9223372036854775808, None]),
    (t.DoubleType(), ["Infinity", "-Infinity", "1e-300"], [float("inf"), float("-inf"), 1e-300]),
    (t.DecimalType(5, 2), ["1.5", "1.005", "-1.005", None], [Decimal("1.50"), Decimal("1.01"), Decimal("-1.01"), None]),
    (t.CharType(3), ["a", "abc"], ["a  ", "abc"]),
    (t.VarBinaryType(9), ["\\x00ff", None], [b"\x00\xff", None]),
    (t.DateType(), ["1969-12-31"], [dt.date(1969, 12, 31)]),
    (t.DateType(), ["infinity", None, "-infinity"], [dt.date.max, None, dt.date.min]),
    (
        t.TimestampType(6),
        ["-infinity", "infinity", "2024-01-02 03:04:05"],
        [dt.datetime.min, dt.datetime.max, dt.datetime(2024, 1, 2, 3, 4, 5)],
    ),
    (t.LocalZonedTimestampType(6), ["infinity"], [dt.datetime.max.replace(tzinfo=dt.timezone.utc)]),
    (t.TimeType(6), ["23:59:59.12", "01:02:03"], [dt.time(23, 59, 59, 120_000), dt.time(1, 2, 3)]),
    (t.TimestampType(6), ["2024-01-02 03:04:05.6"], [dt.datetime(2024, 1, 2, 3, 4, 5, 600_000)]),
    (t.ArrayType(t.IntType()), ["{1,NULL}", None, "{}", "[2:3]={4,5}"], [[1, None], None, [], [4, 5]]),
    (t.ArrayType(t.ArrayType(t.string())), ['{{a,"b,\\""},{NULL,""}}'], [[["a", 'b,"'], [None, ""]]]),
]


@pytest.mark.parametrize(("kind", "texts", "wanted"), CASES, ids=lambda value: str(value)[:20])
def test_texts(kind: Any, texts: list[Any], wanted: list[Any]) -> None:
    assert typed_column(texts, kind, "t.c").to_pylist() == wanted


def test_what_is_no_value_is_named() -> None:
    with pytest.raises(ValueError, match=r"t\.c has '300', which is no TINYINT"):
        typed_column(["1", "300"], t.TinyIntType(), "t.c")
    with pytest.raises(ValueError, match=r"t\.c has 'NaN', which is no DECIMAL"):
        typed_column(["NaN"], t.DecimalType(5, 2), "t.c")
    with pytest.raises(ValueError, match=r"t\.c: the log does not have the value.*REPLICA IDENTITY FULL"):
        typed_column(["1", UNCHANGED], t.IntType(), "t.c")


@given(st.lists(st.one_of(st.none(), st.text(st.characters(exclude_characters="\0", codec="utf-8")))))
def test_arrays_of_any_texts(elements: list[str | None]) -> None:
    def written(text: str | None) -> str:
        return "NULL" if text is None else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    assert array_elements("{" + ",".join(map(written, elements)) + "}") == elements


@given(st.integers(0, 2**64 - 1))
def test_places_in_the_log(number: int) -> None:
    assert lsn_number(lsn_text(number)) == number


def test_a_snapshot_sees_what_had_ended_when_it_was_taken() -> None:
    # The log has numbers of 32 bits; this snapshot is shortly behind their end.
    wrap = 1 << 32
    seen = SnapshotSeen.of(f"{wrap - 5}:{wrap + 3}:{wrap - 5},{wrap + 1}", 1000)
    for xid, wanted in (
        (wrap - 6, True),
        (wrap - 5, False),
        (wrap - 4, True),
        (0, True),
        (1, False),
        (2, True),
        (3, False),
    ):
        assert seen.contains(Mark(xid % wrap, 500)) is wanted
    assert not seen.contains(Mark(wrap - 4, 1000)), "committed behind the snapshot"
    assert [seen.passed(LogPosition(lsn)) for lsn in (999, 1000)] == [False, True]


def test_tables_by_patterns() -> None:
    target = Target((("h", 1),), "db")
    settings = PostgresSettings(target, ("app|sales",), ("app\\.orders_\\d+", "sales\\..*"), "s")
    names = [("app", "orders_1"), ("app", "orders_x"), ("sales", "x"), ("sales2", "x"), ("app", "xorders_1")]
    assert [settings.wants(*name) for name in names] == [True, False, True, False, False]
    with pytest.raises(ValueError, match="slot's name"):
        PostgresSettings(target, (), (), "Bad-Name")
    with pytest.raises(ValueError, match="no regular expression"):
        PostgresSettings(target, ("(",), (), "s")
