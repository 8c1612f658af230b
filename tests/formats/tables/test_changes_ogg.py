"""``ogg-json`` for tables: messages as Oracle GoldenGate writes them."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest
from tests.formats.tables.driving import decode, decoded, encode, schema

from millrace.relational import types as t

PRODUCTS = schema(id=t.BigIntType(), name=t.string(), description=t.string(), weight=t.DecimalType(10, 2))
OLD = {"id": 111, "name": "scooter", "description": "Big 2-wheel scooter", "weight": 5.18}
NEW = {**OLD, "weight": 5.15}
OLD_ROW = (111, "scooter", "Big 2-wheel scooter", Decimal("5.18"))
NEW_ROW = (111, "scooter", "Big 2-wheel scooter", Decimal("5.15"))


def event(kind: str | None, before: Any = None, after: Any = None, **more: Any) -> str:
    message = {
        "before": before, "after": after, "op_type": kind, "op_ts": "2020-05-13 15:40:06.000000",
        "current_ts": "2020-05-13T15:40:07.123456", "primary_keys": ["id"], "pos": "00000000000000000000143",
        "table": "OGG.PRODUCTS",
    }  # fmt: skip
    return json.dumps({name: value for name, value in {**message, **more}.items() if value is not None})


def test_every_type_of_message() -> None:
    messages = [event("I", None, OLD), None, event("U", OLD, NEW), event("D", NEW), b""]
    found = decoded("ogg-json", PRODUCTS, messages)
    assert (found.messages.tolist(), found.skipped) == ([0, 2, 2, 3], 0)
    assert decode("ogg-json", PRODUCTS, messages) == [
        ("+I", OLD_ROW), ("-U", OLD_ROW), ("+U", NEW_ROW), ("-D", NEW_ROW)
    ]  # fmt: skip


def test_metadata() -> None:
    wanted = {
        "table": "OGG.PRODUCTS",
        "primary-keys": ["id"],
        "ingestion-timestamp": dt.datetime(2020, 5, 13, 15, 40, 7, 123_456, tzinfo=dt.timezone.utc),
        "event-timestamp": dt.datetime(2020, 5, 13, 15, 40, 6, tzinfo=dt.timezone.utc),
    }
    found = decode("ogg-json", schema(id=t.IntType()), [event("D", OLD)], None, list(wanted))
    assert found == [("-D", (111, *wanted.values()))]
    bare = decode("ogg-json", schema(id=t.IntType()), ['{"op_type":"D","before":{"id":1}}'], None, list(wanted))
    assert bare == [("-D", (1, None, None, None, None))]


@pytest.mark.parametrize("lenient", [False, True])
def test_metadata_that_is_no_time(lenient: bool) -> None:
    messages = [event("D", OLD, op_ts="yesterday"), event("D", OLD)]
    if lenient:
        options = {"ignore-parse-errors": "true"}
        moment = dt.datetime(2020, 5, 13, 15, 40, 6, tzinfo=dt.timezone.utc)
        found = decode("ogg-json", schema(id=t.IntType()), messages, options, ["event-timestamp"])
        assert found == [("-D", (111, None)), ("-D", (111, moment))]
    else:
        with pytest.raises(ValueError, match="message 0 is malformed: field 'op_ts': not a timestamp: 'yesterday'"):
            decode("ogg-json", schema(id=t.IntType()), messages, None, ["event-timestamp"])


BAD = [
    (event("U", None, NEW), 'the "before" field of a UPDATE message is null.*REPLICA IDENTITY FULL'),
    (event("D"), 'the "before" field of a DELETE message is null'),
    (event("I"), 'the "after" field of a INSERT message is null'),
    (event("T"), "unknown \"op_type\" value 'T'"),
    ("5", "is malformed"),
]


@pytest.mark.parametrize(("message", "text"), BAD)
def test_malformed_messages(message: str, text: str) -> None:
    messages = [event("I", None, OLD), message, event("D", OLD)]
    with pytest.raises(ValueError, match=f"table shop: message 1 .*{text}"):
        decode("ogg-json", PRODUCTS, messages)
    assert decoded("ogg-json", PRODUCTS, messages, {"ignore-parse-errors": "true"}).skipped == 1
    found = decode("ogg-json", PRODUCTS, messages, {"ignore-parse-errors": "true"})
    assert found == [("+I", OLD_ROW), ("-D", OLD_ROW)]


def test_written_messages() -> None:
    row = '{"id":111,"name":"scooter","description":"Big 2-wheel scooter","weight":5.15}'
    created = f'{{"before":null,"after":{row},"op_type":"I"}}'.encode()
    deleted = f'{{"before":{row},"after":null,"op_type":"D"}}'.encode()
    messages = encode("ogg-json", PRODUCTS, [NEW_ROW] * 4, None, ["+I", "-U", "+U", "-D"])
    assert messages == [created, deleted, created, deleted]
    assert decode("ogg-json", PRODUCTS, messages) == [("+I", NEW_ROW), ("-D", NEW_ROW)] * 2
