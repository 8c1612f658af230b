"""``debezium-json`` for tables: messages as Debezium writes them."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.tables.driving import decode, decoded, encode, schema

from millrace.relational import types as t
from millrace.util.exceptions import TableException

PRODUCTS = schema(id=t.BigIntType(), name=t.string(), description=t.string(), weight=t.DecimalType(10, 2))
OLD = {"id": 111, "name": "scooter", "description": "Big 2-wheel scooter", "weight": 5.18}
NEW = {**OLD, "weight": 5.15}
OLD_ROW = (111, "scooter", "Big 2-wheel scooter", Decimal("5.18"))
NEW_ROW = (111, "scooter", "Big 2-wheel scooter", Decimal("5.15"))
SOURCE = {
    "version": "1.9.7", "connector": "postgresql", "name": "shop", "ts_ms": 1589362330000, "snapshot": False,
    "db": "inventory", "sequence": None, "schema": "public", "table": "products", "txId": 771, "lsn": 37549408,
}  # fmt: skip


def event(op: str | None, before: Any = None, after: Any = None, **more: Any) -> str:
    return json.dumps(
        {
            "before": before,
            "after": after,
            "source": SOURCE,
            "op": op,
            "ts_ms": 1589362330904,
            "transaction": None,
            **more,
        }
    )


def test_the_update_of_the_documentation() -> None:
    assert decode("debezium-json", PRODUCTS, [event("u", OLD, NEW)]) == [("-U", OLD_ROW), ("+U", NEW_ROW)]


def test_every_operation_in_order_and_tombstones() -> None:
    messages = [event("r", None, OLD), event("c", None, NEW), event("u", OLD, NEW), event("d", NEW), None, b""]
    found = decoded("debezium-json", PRODUCTS, messages)
    assert (found.messages.tolist(), found.skipped) == ([0, 1, 2, 2, 3], 0)
    assert decode("debezium-json", PRODUCTS, messages) == [
        ("+I", OLD_ROW), ("+I", NEW_ROW), ("-U", OLD_ROW), ("+U", NEW_ROW), ("-D", NEW_ROW)
    ]  # fmt: skip


def test_schema_include() -> None:
    kafka_schema = {"type": "struct", "fields": [{"type": "int64", "optional": True}]}
    message = json.dumps({"schema": kafka_schema, "payload": json.loads(event("u", OLD, NEW))})
    options = {"schema-include": "true"}
    assert decode("debezium-json", PRODUCTS, [message], options) == [("-U", OLD_ROW), ("+U", NEW_ROW)]
    found = decode("debezium-json", PRODUCTS, [message], options, ["schema", "source.table"])
    assert [json.loads(row[4]) for _, row in found] == [kafka_schema] * 2
    assert [row[5] for _, row in found] == ["products"] * 2
    with pytest.raises(ValueError, match='message 0 is malformed: unknown "op" value None'):
        decode("debezium-json", PRODUCTS, [event("u", OLD, NEW)], options)


METADATA = {
    "ingestion-timestamp": dt.datetime(2020, 5, 13, 9, 32, 10, 904_000, tzinfo=dt.timezone.utc),
    "source.timestamp": dt.datetime(2020, 5, 13, 9, 32, 10, tzinfo=dt.timezone.utc),
    "source.database": "inventory",
    "source.schema": "public",
    "source.table": "products",
    "schema": None,
}
PROPERTIES = {
    name: None if value is None else "false" if value is False else str(value) for name, value in SOURCE.items()
}


@pytest.mark.parametrize("more", [{}, {"source.properties": PROPERTIES}], ids=["fields", "with the map"])
def test_metadata(more: dict[str, Any]) -> None:
    wanted = {**METADATA, **more}
    columns = schema(id=t.BigIntType())
    found = decode("debezium-json", columns, [event("u", OLD, NEW), event("d", OLD)], None, list(wanted))
    assert [kind for kind, _ in found] == ["-U", "+U", "-D"]
    assert {row for _, row in found if row[0] != 111} == set()
    assert [dict(zip(wanted, row[1:])) for _, row in found] == [wanted] * 3


def test_metadata_that_is_missing_is_null() -> None:
    messages = ['{"op":"c","after":{"id":1}}', '{"op":"c","after":{"id":2},"source":{"collection":"c"}}']
    found = decode("debezium-json", schema(id=t.BigIntType()), messages, None, ["source.table", "ingestion-timestamp"])
    assert found == [("+I", (1, None, None)), ("+I", (2, "c", None))]


BAD = [
    (event("u", None, NEW), 'the "before" field of a UPDATE message is null.*REPLICA IDENTITY FULL'),
    (event("d"), 'the "before" field of a DELETE message is null.*REPLICA IDENTITY FULL'),
    (event("c"), 'the "after" field of a INSERT message is null'),
    (event("x", OLD, NEW), "unknown \"op\" value 'x'"),
    (event(None, OLD, NEW), 'unknown "op" value None'),
    ("{}", 'unknown "op" value None'),
    ("oops", "is malformed"),
    (event("c", None, 5), "field 'after': a JSON object is needed, not 5"),
    (event("c", None, {**NEW, "id": "x"}), "field 'after': field 'id': not an integer"),
]


@pytest.mark.parametrize(("message", "text"), BAD)
def test_malformed_messages(message: str, text: str) -> None:
    messages = [event("c", None, NEW), message, event("d", OLD)]
    with pytest.raises(ValueError, match=f"table shop: message 1 .*{text}"):
        decode("debezium-json", PRODUCTS, messages)
    found = decoded("debezium-json", PRODUCTS, messages, {"ignore-parse-errors": "true"})
    good = [("+I", NEW_ROW), ("-D", OLD_ROW)]
    if "'id'" in text:  # a field becomes NULL
        good.insert(1, ("+I", (None, *NEW_ROW[1:])))
    assert found.skipped == 3 - len(good)
    assert decode("debezium-json", PRODUCTS, messages, {"ignore-parse-errors": "true"}) == good


def test_written_messages() -> None:
    rows = [OLD_ROW, OLD_ROW, NEW_ROW, (1, None, None, None)]
    kinds = ["+I", "-U", "+U", "-D"]
    old = '{"id":111,"name":"scooter","description":"Big 2-wheel scooter","weight":5.18}'
    new = old.replace("5.18", "5.15")
    assert encode("debezium-json", PRODUCTS, rows, None, kinds) == [
        f'{{"before":null,"after":{old},"op":"c"}}'.encode(),
        f'{{"before":{old},"after":null,"op":"d"}}'.encode(),
        f'{{"before":null,"after":{new},"op":"c"}}'.encode(),
        b'{"before":{"id":1,"name":null,"description":null,"weight":null},"after":null,"op":"d"}',
    ]
    assert encode("debezium-json", PRODUCTS, rows[3:], {"encode.ignore-null-fields": "true"}, kinds[3:]) == [
        b'{"before":{"id":1},"op":"d"}'
    ]
    with pytest.raises(TableException, match=r"'debezium-json.schema-include' is for reading"):
        encode("debezium-json", PRODUCTS, [], {"schema-include": "true"})


def test_types_without_form_are_refused_by_name() -> None:
    with pytest.raises(TableException, match="format 'debezium-json', column 'bad'"):
        decode("debezium-json", schema(bad=t.RawType()), [])


ROWS = st.tuples(st.none() | st.integers(-(2**31), 2**31 - 1), st.none() | st.text())


@given(st.lists(st.tuples(st.sampled_from(["+I", "-U", "+U", "-D"]), ROWS), max_size=10))
def test_written_messages_are_read_back(changes: list[tuple[str, Any]]) -> None:
    columns = schema(a=t.IntType(), b=t.string())
    messages = encode("debezium-json", columns, [row for _, row in changes], None, [kind for kind, _ in changes])
    written = {"+I": "+I", "+U": "+I", "-U": "-D", "-D": "-D"}
    assert decode("debezium-json", columns, messages) == [(written[kind], row) for kind, row in changes]


@given(st.lists(st.tuples(st.sampled_from("crud"), ROWS, ROWS, st.booleans()), max_size=10))
def test_any_events(events: list[tuple[str, Any, Any, bool]]) -> None:
    columns = schema(a=t.IntType(), b=t.string())
    messages, expected = [], []
    for op, old, new, odd in events:
        before, after = (
            {"a": str(row[0]) if odd and row[0] is not None else row[0], "b": row[1]} for row in (old, new)
        )
        messages.append(json.dumps({"before": before, "after": after, "op": op}))
        if op in "cr":
            expected.append(("+I", new))
        elif op == "u":
            expected += [("-U", old), ("+U", new)]
        else:
            expected.append(("-D", old))
    assert decode("debezium-json", columns, messages) == expected
