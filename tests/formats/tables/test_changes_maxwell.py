"""``maxwell-json`` for tables: messages as Maxwell writes them."""

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

PRODUCTS = schema(id=t.BigIntType(), name=t.string(), description=t.string(), weight=t.DecimalType(10, 2))
SCOOTER = {"id": 111, "name": "scooter", "description": "Big 2-wheel scooter", "weight": 5.15}
NEW_ROW = (111, "scooter", "Big 2-wheel scooter", Decimal("5.15"))
OLD_ROW = (111, "scooter", "Big 2-wheel scooter", Decimal("5.18"))


def event(kind: str | None, data: Any, **more: Any) -> str:
    message = {
        "database": "test", "table": "e", "type": kind, "ts": 1477053217, "xid": 23396, "commit": True,
        "position": "master.000006:800911", "primary_key": [1, "2016-10-21 05:33:37.523000"],
        "primary_key_columns": ["id", "c"], "data": data,
    }  # fmt: skip
    return json.dumps({**message, **more})


UPDATE = event("update", SCOOTER, old={"weight": 5.18})


def test_every_type_of_message() -> None:
    messages = [
        event("insert", SCOOTER),
        None,
        UPDATE,
        event("delete", SCOOTER),
        event("bootstrap-insert", SCOOTER),
        b"",
    ]
    found = decoded("maxwell-json", PRODUCTS, messages)
    assert (found.messages.tolist(), found.skipped) == ([0, 2, 2, 3, 4], 0)
    assert decode("maxwell-json", PRODUCTS, messages) == [
        ("+I", NEW_ROW), ("-U", OLD_ROW), ("+U", NEW_ROW), ("-D", NEW_ROW), ("+I", NEW_ROW)
    ]  # fmt: skip


def test_a_null_in_old_was_null_and_what_is_missing_has_not_changed() -> None:
    columns = schema(id=t.IntType(), a=t.string(), b=t.string())
    data = {"id": 1, "a": "x", "b": None}
    messages = [
        event("update", data, old={"a": None}),
        event("update", data, old={"b": "y"}),
        event("update", {"id": 2, "a": "n", "b": "m"}, old={"b": "o"}),
    ]
    assert decode("maxwell-json", columns, messages) == [
        ("-U", (1, None, None)), ("+U", (1, "x", None)),
        ("-U", (1, "x", "y")), ("+U", (1, "x", None)),
        ("-U", (2, "n", "o")), ("+U", (2, "n", "m")),
    ]  # fmt: skip


def test_metadata() -> None:
    wanted = {
        "database": "test",
        "table": "e",
        "primary-key-columns": ["id", "c"],
        "ingestion-timestamp": dt.datetime(2016, 10, 21, 12, 33, 37, tzinfo=dt.timezone.utc),
    }
    found = decode("maxwell-json", schema(id=t.IntType()), [UPDATE], None, list(wanted))
    assert found == [("-U", (111, *wanted.values())), ("+U", (111, *wanted.values()))]


BAD = [
    (event("update", SCOOTER), 'the "old" field of a UPDATE message is null'),
    (event("insert", None), 'the "data" field of a INSERT message is null'),
    (event("delete", None), "field of a DELETE message is null"),
    (event("table-alter", None), "unknown \"type\" value 'table-alter'"),
    ("[]x", "is malformed"),
]


@pytest.mark.parametrize(("message", "text"), BAD)
def test_malformed_messages(message: str, text: str) -> None:
    messages = [UPDATE, message, event("delete", SCOOTER)]
    with pytest.raises(ValueError, match=f"table shop: message 1 .*{text}"):
        decode("maxwell-json", PRODUCTS, messages)
    assert decoded("maxwell-json", PRODUCTS, messages, {"ignore-parse-errors": "true"}).skipped == 1
    assert decode("maxwell-json", PRODUCTS, messages, {"ignore-parse-errors": "true"}) == [
        ("-U", OLD_ROW), ("+U", NEW_ROW), ("-D", NEW_ROW)
    ]  # fmt: skip


def test_written_messages() -> None:
    row = '{"id":111,"name":"scooter","description":"Big 2-wheel scooter","weight":5.15}'
    messages = [f'{{"data":{row},"type":"{kind}"}}'.encode() for kind in ("insert", "delete", "insert", "delete")]
    assert encode("maxwell-json", PRODUCTS, [NEW_ROW] * 4, None, ["+I", "-U", "+U", "-D"]) == messages
    assert [kind for kind, _ in decode("maxwell-json", PRODUCTS, messages)] == ["+I", "-D", "+I", "-D"]


FIELDS = st.fixed_dictionaries({}, optional={"a": st.none() | st.integers(0, 9), "b": st.none() | st.text(max_size=3)})


@given(st.lists(st.tuples(st.sampled_from(["insert", "update", "delete"]), FIELDS, FIELDS)))
def test_any_events(events: list[tuple[str, dict[str, Any], dict[str, Any]]]) -> None:
    messages, expected = [], []
    for kind, new, old in events:
        messages.append(event(kind, new, old=old))
        after = (new.get("a"), new.get("b"))
        before = tuple(old[name] if name in old else new.get(name) for name in "ab")
        expected += {"insert": [("+I", after)], "update": [("-U", before), ("+U", after)], "delete": [("-D", after)]}[
            kind
        ]
    assert decode("maxwell-json", schema(a=t.IntType(), b=t.string()), messages) == expected
